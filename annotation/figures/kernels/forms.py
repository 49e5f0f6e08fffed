"""In which sizes and files a figure comes, and its words and numbers. Loads no matplotlib. Pure."""

from __future__ import annotations

from enum import StrEnum
from textwrap import fill


class Width(StrEnum):
    """Columns of a journal: 85 mm and 178 mm."""

    ONE = "one"
    TWO = "two"


class FigureForm(StrEnum):
    SVG = "svg"
    PDF = "pdf"
    PNG = "png"


BLUE, ORANGE = "#0b3c6f", "#d9822b"  # dark blue and orange: apart in grey and for all colour vision
COLUMNS = {Width.ONE: "one-column", Width.TWO: "two-columns"}


def download_header(subject: str, figure: str, width: Width, form: FigureForm) -> str:
    """Content-Disposition of a file that a link saves under a name that says what it is; as an image it shows."""
    return f'attachment; filename="{subject}-{figure}-{COLUMNS[width]}.{form}"'


FIGURE_TYPES = {FigureForm.SVG: "image/svg+xml", FigureForm.PDF: "application/pdf", FigureForm.PNG: "image/png"}


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
    heading = f"{title} (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n}){behind}"
    lines = fill(heading, signs, initial_indent=letter, break_on_hyphens=False)[len(letter) :]
    return lines.replace("\N{NO-BREAK SPACE}", " ")


def printed_percent(value: float, n: int, *, signed: bool = False) -> str:
    """A share in percent, or a difference in points: one decimal below n = 1,000, two from there on."""
    text = f"{100 * value:{'+' if signed else ''}.{1 if n < 1000 else 2}f}"
    return text.lstrip("+-") if not float(text) else text.replace("-", "\N{MINUS SIGN}")
