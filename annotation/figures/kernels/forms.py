"""In which sizes and files a figure comes. Without matplotlib, which is slow to load."""

from __future__ import annotations

from enum import StrEnum


class Width(StrEnum):
    """Columns of a journal: 85 mm and 178 mm."""

    ONE = "one"
    TWO = "two"


class FigureForm(StrEnum):
    SVG = "svg"
    PDF = "pdf"
    PNG = "png"


COLUMNS = {Width.ONE: "one-column", Width.TWO: "two-columns"}


def download_header(subject: str, figure: str, width: Width, form: FigureForm) -> str:
    """Content-Disposition of a file that a link saves under a name that says what it is; as an image it shows."""
    return f'attachment; filename="{subject}-{figure}-{COLUMNS[width]}.{form}"'


FIGURE_TYPES = {FigureForm.SVG: "image/svg+xml", FigureForm.PDF: "application/pdf", FigureForm.PNG: "image/png"}
