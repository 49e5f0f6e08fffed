"""Attribution and licence of many images, from a CSV file; and what refuses an act of this room. Pure."""

from __future__ import annotations

import io

from msgspec import Struct

from annotation.enums import ViewPosition
from annotation.files.kernels.sent_tables import Row, lines_of_csv, read_rows
from annotation.files.kernels.strictjson import FileRefused
from annotation.refusals import Refused

MAX_BYTES = 32 * 1024 * 1024
LONGEST = {"file": 1000, "attribution": 300, "licence": 100}
REQUIRED = tuple(LONGEST)
VIEWS = {view.value.lower(): view for view in ViewPosition}


class Credit(Struct, frozen=True):
    """One row: the image as its question or upload names it, and what the file states about it."""

    row: int
    file: str
    attribution: str
    licence: str
    view: ViewPosition | None


class IngestRefused(Refused):
    """Something cannot be done with files that come in, or with an image; nothing was stored."""


def _unusable(sentence: str) -> IngestRefused:
    return IngestRefused("credits_unusable", sentence, status=422, field="credits")


def parse_credits(data: bytes) -> list[Credit]:
    """The rows of a CSV with the columns file, attribution, licence and, if wanted, view_position.

    UTF-8, with or without byte order mark. Other columns are passed over. Raises IngestRefused.
    """
    if len(data) > MAX_BYTES:
        raise _unusable("The table is larger than 32 MB.")
    if b"\0" in data:
        raise _unusable("The table holds zero bytes; it is not a CSV file.")
    try:
        rows = [_credit(row) for row in read_rows(lines_of_csv(io.BytesIO(data)), needed=REQUIRED)]
    except FileRefused as refusal:
        raise _unusable(str(refusal)) from None
    _check_repeats(rows)
    return rows


def _credit(row: Row) -> Credit:
    if row.fault:
        raise _unusable(f"Row {row.number}: {row.fault}")
    number, cells = row.number, {name: cell.strip() for name, cell in row.cells.items()}
    for name, most in LONGEST.items():
        if len(cells[name]) > most:
            raise _unusable(f"Row {number}: {name!r} is longer than {most} characters.")
    if not cells["file"]:
        raise _unusable(f"Row {number}: 'file' is empty.")
    view = _view(cells.get("view_position", ""), number)
    return Credit(number, cells["file"], cells["attribution"], cells["licence"], view)


def _view(text: str, row: int) -> ViewPosition | None:
    if not text:
        return None
    if text.lower() not in VIEWS:
        raise _unusable(f"Row {row}: 'view_position' must be one of {', '.join(ViewPosition.values())}.")
    return VIEWS[text.lower()]


def _check_repeats(rows: list[Credit]) -> None:
    seen: dict[str, int] = {}
    for row in rows:
        if row.file in seen:
            raise _unusable(f"Row {row.row}: the file of row {seen[row.file]} is listed again.")
        seen[row.file] = row.row
