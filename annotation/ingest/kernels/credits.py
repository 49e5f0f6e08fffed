"""Attribution and licence of many images, from a CSV file; and what refuses an act of this room. Pure."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from annotation.enums import ViewPosition
from annotation.refusals import Refused

MAX_BYTES = 32 * 1024 * 1024
MAX_ATTRIBUTION, MAX_LICENCE, MAX_FILE = 300, 100, 1000
REQUIRED = ("file", "attribution", "licence")
OPTIONAL = ("view_position",)
VIEWS = {view.value.lower(): view for view in ViewPosition}


@dataclass(frozen=True)
class Credit:
    """One row: the image as its question or upload names it, and what the file states about it."""

    line: int
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
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unusable("The table is not UTF-8 text. Save it as 'CSV UTF-8'.") from None
    if "\0" in text:
        raise _unusable("The table holds zero bytes; it is not a CSV file.")
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        _check_columns(reader.fieldnames)
        rows = [_credit(row, reader.line_num) for row in reader]
    except csv.Error:
        raise _unusable(f"Line {reader.line_num}: this is not valid CSV.") from None
    _check_repeats(rows)
    return rows


def _check_columns(names: object) -> None:
    columns = [str(name) for name in names] if isinstance(names, list) else []
    if len(set(columns)) != len(columns):
        raise _unusable("Line 1: a column is there twice.")
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        raise _unusable(f"Line 1: the column {missing[0]!r} is missing. Needed: file, attribution, licence.")


def _credit(row: dict[str, str], line: int) -> Credit:
    if None in row or None in row.values():
        raise _unusable(f"Line {line}: the number of fields is not that of line 1.")
    file, attribution, licence = (row[name].strip() for name in REQUIRED)
    for name, value, most in (
        ("file", file, MAX_FILE),
        ("attribution", attribution, MAX_ATTRIBUTION),
        ("licence", licence, MAX_LICENCE),
    ):
        if len(value) > most:
            raise _unusable(f"Line {line}: {name!r} is longer than {most} characters.")
    if not file:
        raise _unusable(f"Line {line}: 'file' is empty.")
    return Credit(line, file, attribution, licence, _view(row.get("view_position", "").strip(), line))


def _view(text: str, line: int) -> ViewPosition | None:
    if not text:
        return None
    if text.lower() not in VIEWS:
        raise _unusable(f"Line {line}: 'view_position' must be one of {', '.join(ViewPosition.values())}.")
    return VIEWS[text.lower()]


def _check_repeats(rows: list[Credit]) -> None:
    seen: dict[str, int] = {}
    for row in rows:
        if row.file in seen:
            raise _unusable(f"Line {row.line}: the file of line {seen[row.file]} is listed again.")
        seen[row.file] = row.line
