"""What a threshold on the probability of a class finds and misses in a labelled set. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from annotation.questionbank.kernels.question_checks import BIAS, IDENTIFIER_FREE
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

Scored = Sequence[tuple[float, bool]]  # probability of the class, and whether the text is of it
SHOWN = tuple(step / 10 for step in range(1, 10))  # thresholds of the table
STEPS = 100  # of the curve
WIDTH, HEIGHT = 600, 200  # of the drawing
_WORDS = {
    IDENTIFIER_FREE: frozenset(("phi", "pii", "identifier", "identifiers", "identifying", "personal")),
    BIAS: frozenset(("bias", "biased", "stereotype", "stereotyped")),
}
_NO = frozenset(("no", "non", "not", "un", "free", "without"))


def part_of_class(label: str) -> str:
    """The part of compliance that the name of a class says, such as PHI; empty where it says none, as NOT_PHI."""
    words = set(re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", label).lower()))
    return next((part for part, known in _WORDS.items() if words & known and not words & _NO), "")


class AtThreshold(Struct, frozen=True):
    """``precision``: of the texts at or above the threshold, how many are of the class; ``recall``: of the class, how
    many reach it.
    """

    threshold: float
    precision: Estimate
    recall: Estimate

    def as_json(self) -> dict[str, Any]:
        return {
            name: {"count": one.count or 0, **one.as_json()}
            for name, one in (("precision", self.precision), ("recall", self.recall))
        }


def at_threshold(scored: Scored, threshold: float) -> AtThreshold:
    above = [is_of_it for p, is_of_it in scored if p >= threshold]
    n_of_it = sum(is_of_it for _p, is_of_it in scored)
    return AtThreshold(threshold, share(sum(above), len(above)), share(sum(above), n_of_it))


class ClassCurve(Struct, frozen=True):
    """``lines``: of precision and of recall over thresholds from 0 to 1, as points of a drawing."""

    n: int
    n_of_class: int
    rows: list[AtThreshold]
    lines: tuple[str, str]


def curve_of(scored: Scored) -> ClassCurve:
    drawn = [at_threshold(scored, step / STEPS) for step in range(STEPS + 1)]
    lines = _points(drawn, "precision"), _points(drawn, "recall")
    n_of_it = sum(is_of_it for _p, is_of_it in scored)
    return ClassCurve(len(scored), n_of_it, [at_threshold(scored, one) for one in SHOWN], lines)


def _points(drawn: Sequence[AtThreshold], name: str) -> str:
    found = ((one.threshold, getattr(one, name).value) for one in drawn)
    return " ".join(f"{WIDTH * x:.0f},{HEIGHT * (1 - y):.1f}" for x, y in found if y is not None)
