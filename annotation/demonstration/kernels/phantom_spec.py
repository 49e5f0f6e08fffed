"""What a simulated chest shows: the one description from which pixels, questions and reports are derived.

Lengths are millimetres of the patient. Sides are the patient's sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Side = Literal["right", "left"]
Projection = Literal["PA", "LL"]
Lobe = Literal["right upper lobe", "right middle lobe", "right lower lobe", "left upper lobe", "left lower lobe"]


class Effusion(NamedTuple):
    """Free pleural fluid of a standing patient; ``depth`` is its height above the dome's rim."""

    side: Side
    depth: float


class Nodule(NamedTuple):
    """A solid round opacity; ``radius`` 6 to 20."""

    lobe: Lobe
    radius: float


class Pneumothorax(NamedTuple):
    """Air around a collapsed lung; ``gap`` is the width of the air at the apex."""

    side: Side
    gap: float


@dataclass(frozen=True)
class ChestSpec:
    """One simulated patient.

    ``cardiothoracic_ratio`` is the widest heart over the widest inner thorax of the frontal view, and is exact.
    ``tube_above_carina`` is the distance from the tip of an endotracheal tube to the carina (None: no tube).
    ``mirrored`` is situs inversus: every organ on the other side. Everything else varies with ``seed``.
    """

    seed: int
    sex: Literal["F", "M"] = "M"
    age: int = 55
    cardiothoracic_ratio: float = 0.45
    hyperinflated: bool = False
    raised_dome: Side | None = None
    effusions: tuple[Effusion, ...] = ()
    nodules: tuple[Nodule, ...] = ()
    pneumothorax: Pneumothorax | None = None
    consolidation: Lobe | None = None
    tube_above_carina: float | None = None
    venous_catheter: bool = False
    pacemaker: bool = False
    sternal_wires: bool = False
    mirrored: bool = False
