"""What a person saves: tables, and figures as they are drawn for the page and for a paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse

from annotation.tables.kernels.forms import FIGURE_TYPES, FigureForm, Width, download_header
from annotation.tables.writing import (
    CONTENT_TYPES,
    Column,
    Format,
    Kind,
    PackagedTable,
    scratch_file,
    write_digested,
    write_package,
)


def table_response(name: str, form: Format, write: Callable[[IO[bytes]], object]) -> FileResponse:
    """A table that is written whole before anything is sent, to be kept under this name."""
    file = scratch_file()
    write(file)
    named = f"{name}.{form.value}"
    return FileResponse(file, as_attachment=True, filename=named, content_type=CONTENT_TYPES[form])


def texts_response(name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> FileResponse:
    """The same with texts alone, as CSV: what was refused of a file."""
    asked = [Column(one, Kind.TEXT) for one in columns]
    cells = ([str(row.get(one, "")) for one in columns] for row in rows)
    return table_response(name, Format.CSV, lambda file: write_digested(file, asked, cells, Format.CSV))


def package_response(name: str, resources: Sequence[PackagedTable]) -> FileResponse:
    """All these tables in all formats, with codebook and data package."""
    file = scratch_file()
    write_package(file, name, resources)
    return FileResponse(file, as_attachment=True, filename=f"{name}.zip", content_type="application/zip")


def drawn_response(file: bytes, subject: str, figure: str, width: Width, form: FigureForm) -> HttpResponse:
    """A figure for the page, under a name that says what it is where it is saved."""
    response = HttpResponse(file, content_type=FIGURE_TYPES[form])
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"  # an SVG has its own styles
    response["Content-Disposition"] = download_header(subject, figure, width, form)
    return response


# --- a large file, which goes on where it broke off -----------------------------------------------
RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
AT_ONCE = 1 << 18


def resumable_response(
    request: HttpRequest, path: Path, *, etag: str, name: str, content_type: str
) -> HttpResponse | StreamingHttpResponse:
    """The file, or the one range that is asked for (RFC 9110, 14); whole where the client began with another file, or
    asks for several ranges. 416 for one outside of it.
    """
    size, quoted = path.stat().st_size, f'"{etag}"'
    asked = RANGE.fullmatch(request.headers.get("Range", "").replace(" ", ""))
    if request.headers.get("If-Range", quoted) != quoted or request.method != "GET":
        asked = None
    first, last = _ends(asked, size) if asked and asked[0] != "bytes=-" else (0, size - 1)
    response: HttpResponse | StreamingHttpResponse
    if first > last:
        response = HttpResponse(status=416)
        response["Content-Range"] = f"bytes */{size}"
    else:
        whole = (first, last) == (0, size - 1)
        response = StreamingHttpResponse(
            _part(path, first, last), content_type=content_type, status=200 if whole else 206
        )
        response["Content-Length"] = str(last - first + 1)
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        if not whole:
            response["Content-Range"] = f"bytes {first}-{last}/{size}"
    response["ETag"], response["Accept-Ranges"] = quoted, "bytes"
    response["Cache-Control"] = "private, no-cache"
    return response


def _ends(asked: re.Match[str], size: int) -> tuple[int, int]:
    if not asked[1]:  # so many bytes from the end
        return max(size - int(asked[2]), 0) if int(asked[2]) else size, size - 1
    last = min(int(asked[2]), size - 1) if asked[2] else size - 1
    return int(asked[1]), last


def _part(path: Path, first: int, last: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(first)
        left = last - first + 1
        while left and (chunk := file.read(min(left, AT_ONCE))):
            left -= len(chunk)
            yield chunk
