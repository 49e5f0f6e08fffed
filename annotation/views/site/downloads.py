"""What a person saves: tables, and figures as they are drawn for the page and for a paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

from django.http import FileResponse, HttpResponse

from annotation.exports.tables import CONTENT_TYPES, Format, scratch_file
from annotation.figures.kernels.forms import FIGURE_TYPES, FigureForm, Width, download_header


def table_response(name: str, form: Format, write: Callable[[IO[bytes]], object]) -> FileResponse:
    """A table that is written whole before anything is sent, to be kept under this name."""
    file = scratch_file()
    write(file)
    named = f"{name}.{form.value}"
    return FileResponse(file, as_attachment=True, filename=named, content_type=CONTENT_TYPES[form])


def drawn_response(file: bytes, subject: str, figure: str, width: Width, form: FigureForm) -> HttpResponse:
    """A figure for the page, under a name that says what it is where it is saved."""
    response = HttpResponse(file, content_type=FIGURE_TYPES[form])
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"  # an SVG has its own styles
    response["Content-Disposition"] = download_header(subject, figure, width, form)
    return response
