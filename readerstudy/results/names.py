"""Names of readers and models where room is short: beside the rows of a figure and of the heatmap. Pure."""

from __future__ import annotations

LONGEST_NAME = 22


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut in the middle: versions of one model often differ in their last signs only."""
    if len(name) <= longest:
        return name
    kept_in_front = longest * 6 // 11
    return f"{name[:kept_in_front]}…{name[kept_in_front + 1 - longest :]}"
