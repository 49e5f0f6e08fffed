"""How readers and models look in every figure of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.figures.kernels.style import BLUE, ORANGE
from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.results.kernels.stored import POST_HOC_MARK, post_hoc_models

READER_COLOUR, MODEL_COLOUR = BLUE, ORANGE
READER_MARK, MODEL_MARK = "o", "D"


def marks_of(result: StoredAnalysis, names: Sequence[str]) -> list[str]:
    """The sign behind each name: a mark behind that of a model which nobody can have planned."""
    late = {one["name"] for one in post_hoc_models(result)}
    return [f" {POST_HOC_MARK}" if name in late else "" for name in names]


def is_reader(kind: str) -> bool:
    return kind == "reader"


def mark_of(kind: str) -> dict[str, Any]:
    """Marker and colour of a rater: readers filled circles, models open diamonds."""
    if is_reader(kind):
        return {"marker": READER_MARK, "color": READER_COLOUR, "markerfacecolor": READER_COLOUR}
    return {"marker": MODEL_MARK, "color": MODEL_COLOUR, "markerfacecolor": "white"}
