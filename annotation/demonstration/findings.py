"""What can be reported of a simulated chest: findings and their signs, the diagnosis, the report.

All that is said of chests, here and in questions, stands in ``wording.json``, whose braces hold what a chest decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.demonstration.kernels.phantom_spec import ChestSpec

WORDING: dict[str, Any] = json.loads(Path(__file__).with_name("wording.json").read_text("utf-8"))
LARGE_HEART = 0.52
"""Between 0.48 and this no chest of the demonstration is: the answer must be plain."""
SHOWS: dict[str, Callable[[ChestSpec], bool]] = {
    "Right pneumothorax": lambda spec: spec.pneumothorax is not None and spec.pneumothorax.side == "right",
    "Left pneumothorax": lambda spec: spec.pneumothorax is not None and spec.pneumothorax.side == "left",
    "Right pleural effusion": lambda spec: any(effusion.side == "right" for effusion in spec.effusions),
    "Left pleural effusion": lambda spec: any(effusion.side == "left" for effusion in spec.effusions),
    "Consolidation": lambda spec: spec.consolidation is not None,
    "Pulmonary nodule": lambda spec: bool(spec.nodules),
    "Heart apex on the right": lambda spec: spec.mirrored,
    "Hyperinflated lungs": lambda spec: spec.hyperinflated,
    "Raised right hemidiaphragm": lambda spec: spec.raised_dome == "right",
    "Raised left hemidiaphragm": lambda spec: spec.raised_dome == "left",
    "Cardiac pacemaker": lambda spec: spec.pacemaker,
    "Endotracheal tube": lambda spec: spec.tube_above_carina is not None,
    "Central venous catheter": lambda spec: spec.venous_catheter,
    "Sternal wires": lambda spec: spec.sternal_wires,
    "Enlarged heart": lambda spec: spec.cardiothoracic_ratio > LARGE_HEART,
}


@dataclass(frozen=True)
class ChestFinding:
    """One thing that a chest shows or does not.

    ``sign`` says where and by what it is seen; ``diagnosis`` is what it means, empty for a device, and ``group`` its
    category and subcategory; ``rivals`` are the names of findings that must not be offered with it as wrong options,
    because they are disputable there.
    """

    name: str
    sign: str
    category: str
    diagnosis: str = ""
    group: Sequence[str] = ("", "")
    rivals: Sequence[str] = ()

    def is_shown_by(self, spec: ChestSpec) -> bool:
        return SHOWS[self.name](spec)


FINDINGS = tuple(ChestFinding(**one) for one in WORDING["findings"])
"""In the order in which a report would name them first."""
STRUCTURES: dict[str, str] = WORDING["structures"]
"""Seen on every chest of the demonstration: their names and what they belong to."""


def present(spec: ChestSpec) -> list[ChestFinding]:
    return [finding for finding in FINDINGS if finding.is_shown_by(spec)]


def absent_beside(spec: ChestSpec) -> list[ChestFinding]:
    """Findings that this chest plainly does not show."""
    shown = present(spec)
    disputed = {name for finding in shown for name in finding.rivals}
    return [finding for finding in FINDINGS if finding not in shown and finding.name not in disputed]


def leading(spec: ChestSpec) -> ChestFinding | None:
    """The finding that a report would begin with; None for a normal chest."""
    return next(iter(present(spec)), None)


def diagnosis(spec: ChestSpec) -> tuple[str, Sequence[str], str]:
    """What explains the picture best, its category and subcategory, and the sign that says so."""
    shown = present(spec)
    if spec.cardiothoracic_ratio > LARGE_HEART and spec.effusions:
        of_several = "failure"
    elif len(spec.nodules) > 1:
        of_several = "metastases"
    else:
        for finding in shown:
            if finding.diagnosis:
                return finding.diagnosis, finding.group, finding.sign
        of_several = "none"
    found = WORDING["diagnoses"][of_several]
    return found["name"], found["group"], found["sign"]


def report(spec: ChestSpec) -> tuple[str, str]:
    """Findings and impression, as a short report would give them."""
    said = WORDING["report"]
    lines = [f"{finding.sign}." for finding in present(spec)]
    if spec.consolidation:
        lines.append(said["consolidation"].format(lobe=spec.consolidation))
    lines += [said["nodule"].format(size=round(one.radius * 2), lobe=one.lobe) for one in spec.nodules]
    if spec.tube_above_carina is not None:
        lines.append(said["tube"].format(centimetres=spec.tube_above_carina / 10))
    lines.append(said["ratio"].format(ratio=spec.cardiothoracic_ratio))
    lines += [] if spec.effusions else [said["no effusion"]]
    lines += [] if spec.pneumothorax else [said["no pneumothorax"]]
    return " ".join(lines), f"{diagnosis(spec)[0]}."
