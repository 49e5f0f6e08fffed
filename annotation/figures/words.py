"""Names where room is short, beside the rows of a figure or of a heatmap, and numbers as journals print them. Pure."""

from __future__ import annotations

LONGEST_NAME = 22


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut in the middle: versions of one model often differ in their last signs only."""
    if len(name) <= longest:
        return name
    kept_in_front = longest * 6 // 11
    return f"{name[:kept_in_front]}…{name[kept_in_front + 1 - longest :]}"


def printed_percent(value: float, n: int, *, signed: bool = False) -> str:
    """A share in percent, or a difference in points: one decimal below n = 1,000, two from there on."""
    text = f"{100 * value:{'+' if signed else ''}.{1 if n < 1000 else 2}f}"
    return text.lstrip("+-") if not float(text) else text.replace("-", "\N{MINUS SIGN}")
