"""Names of readers and models where room is short: beside the rows of a figure and of the heatmap. Pure."""

from __future__ import annotations

LONGEST_NAME, KEPT_IN_FRONT = 22, 12


def short(name: str) -> str:
    """Cut in the middle: versions of one model often differ in their last signs only."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:KEPT_IN_FRONT]}…{name[KEPT_IN_FRONT + 1 - LONGEST_NAME :]}"
