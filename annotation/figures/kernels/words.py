"""Names where room is short, beside the rows of a figure or of a heatmap, and numbers as journals print them. Pure."""

from __future__ import annotations

from textwrap import fill

LONGEST_NAME = 22


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut in the middle: versions of one model often differ in their last signs only."""
    if len(name) <= longest:
        return name
    kept_in_front = longest * 6 // 11
    return f"{name[:kept_in_front]}…{name[kept_in_front + 1 - longest :]}"


def title_with_n(title: str, n: int, signs: int, behind: str = "") -> str:
    """Of a panel, in lines of so many signs, the letter of the panel in the first; "(n = 12)" is never parted."""
    letter = " " * 3
    said = f"{title} (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n}){behind}"
    lines = fill(said, signs, initial_indent=letter, break_on_hyphens=False)[len(letter) :]
    return lines.replace("\N{NO-BREAK SPACE}", " ")


def printed_percent(value: float, n: int, *, signed: bool = False) -> str:
    """A share in percent, or a difference in points: one decimal below n = 1,000, two from there on."""
    text = f"{100 * value:{'+' if signed else ''}.{1 if n < 1000 else 2}f}"
    return text.lstrip("+-") if not float(text) else text.replace("-", "\N{MINUS SIGN}")
