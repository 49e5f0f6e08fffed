"""What a person or a program saves: tables, figures as they are drawn for the page and for a paper, releases, images.

Pages and the API give the same files; who may have them is asked before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.text import slugify

from annotation.acts import By
from annotation.exports.release_files import PRIVATE_KEYS, ImageSize, note_taken, private_keys, zip_of
from annotation.exports.releases import packed_file
from annotation.exports.reviews import columns_of_reviews, export_reviews
from annotation.forms import valid_data
from annotation.forms.bank import PackedForm
from annotation.ingest.serving import Served
from annotation.models import Release, ReviewRound, User
from annotation.tables.kernels.forms import FIGURE_TYPES, FigureForm, Width, download_header
from annotation.tables.writing import (
    CONTENT_TYPES,
    PACKAGE,
    Column,
    Format,
    Kind,
    PackagedTable,
    formats_here,
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


# --- what pages and the API give alike ------------------------------------------------------------
def reviews_file(review_round: ReviewRound, form: str, taken_by: By, *, source_ids: bool) -> FileResponse:
    """Written whole before the first byte is sent, so that none is cut short. Raises Http404 for another format."""
    if form not in (*formats_here(), PACKAGE):
        raise Http404

    def write(file: IO[bytes], one: Format) -> object:
        return export_reviews(review_round, one, file, source_ids=source_ids, **taken_by)

    if form == PACKAGE:
        columns = columns_of_reviews(review_round, source_ids=source_ids)
        return package_response(review_round.slug, [PackagedTable("reviews", columns, write)])
    return table_response(f"{review_round.slug}-reviews", Format(form), lambda file: write(file, Format(form)))


def release_file(made: Release, what: str, sent: Mapping[str, str], *, actor: User, at: datetime) -> FileResponse:
    """Its files as a ZIP, the same with images as it was packed, or the answers of its private split, encrypted for the
    public key that was sent. Who takes them is noted.

    Raises Refused, and Http404 for anything else.
    """
    file: IO[bytes]
    stem = slugify(made.name)[:80] or made.public_id
    name, kind = f"{stem}.zip", "application/zip"
    if what == "keys":
        file, name = BytesIO(private_keys(made, sent.get("public_key", ""))), PRIVATE_KEYS
        kind = "application/octet-stream"
    elif what == "packed":
        images = ImageSize(valid_data(PackedForm(sent))["images"])
        file, name = packed_file(made, images).open("rb"), f"{stem}-{images}.zip"
    elif what == "files":
        file = scratch_file()
        zip_of(made, file)
    else:
        raise Http404
    note_taken(made, actor=actor, at=at)
    return FileResponse(file, as_attachment=True, filename=name, content_type=kind)


KEEP = "private, max-age=28800, immutable"  # for a working day: a workstation may be shared


def accepts_zstd(request: HttpRequest) -> bool:
    """Whether zstd is listed, and not with a quality of zero (RFC 9110, 12.5.3)."""
    for part in request.headers.get("Accept-Encoding", "").lower().split(","):
        coding, _, parameters = part.strip().partition(";")
        if coding.strip() == "zstd":
            return parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def bytes_response(served: Served, cache_control: str) -> HttpResponse:
    response = HttpResponse(served.content, content_type=served.content_type)
    response["Cache-Control"] = cache_control
    response["Content-Length"] = str(len(served.content))
    if served.encoding:
        response["Content-Encoding"] = served.encoding
        patch_vary_headers(response, ["Accept-Encoding"])
    return response
