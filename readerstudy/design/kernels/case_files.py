"""The files of a coordinator: lists of cases, and tables of voidings. Pure."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from readerstudy.design.kernels.documents import DesignRefused

MAX_BYTES = 32 * 1024 * 1024
COLUMNS = ("case", "reason")
MOST_NAME, MOST_REASON = 1_000, 10_000


@dataclass(frozen=True)
class VoidingRow:
    """One row of a file: its number, the question by key or number, and why the case is left out."""

    row: int
    case: str
    reason: str


def storable_name(path: Path) -> str:
    """What a file is called; a question mark for each byte of its name that is no text."""
    return path.name.encode("utf-8", "replace").decode()


def parse_cases(data: bytes) -> list[str]:
    """The lines of a list of cases that are not empty; readerstudy.design.questions.listed_names reads them."""
    lines = [line.strip() for line in _text(data).splitlines()]
    found = [line for line in lines if line]
    if not found:
        raise DesignRefused(
            "bad_file", "The list of cases is empty: write ids, numbers or ranges of numbers such as 12-40."
        )
    return found


def parse_voidings(data: bytes) -> tuple[list[VoidingRow], list[tuple[int, str]]]:
    """The rows of a CSV with the columns case and reason, and (row, sentence) of each row that cannot be read.

    Rows count as a spreadsheet counts them: the header is row 1, and a cell may hold several lines.
    UTF-8, with or without byte order mark, separated by commas or semicolons; other columns are passed over. Refused
    where there is no such table.
    """
    text = _text(data)
    first = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(first), strict=True)
    rows: list[VoidingRow] = []
    bad: list[tuple[int, str]] = []
    number = 0
    try:
        names = [name.strip() for name in next(reader, [])]
        _check_columns(names)
        number = 1
        for number, cells in enumerate(reader, start=2):
            if cells and len(cells) != len(names):
                bad.append((number, "the number of fields is not that of the first row."))
            elif cells:
                read = dict(zip(names, cells, strict=True))
                rows.append(VoidingRow(number, read["case"].strip(), read["reason"].strip()))
    except csv.Error:
        raise DesignRefused("bad_file", f"Row {number + 1}: this is not valid CSV. Is a quotation mark open?") from None
    bad += [(row.row, why) for row in rows if (why := _fault(row))]
    return [row for row in rows if not _fault(row)], bad


def _text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise DesignRefused("bad_file", "The file is larger than 32 MB.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DesignRefused("bad_file", "The file is not UTF-8 text. Save it as UTF-8.") from None
    if "\0" in text:
        raise DesignRefused("bad_file", "The file holds zero bytes; it is not text.")
    return text


def _separator(first_line: str) -> str:
    return ";" if ";" in first_line and "," not in first_line else ","


def _check_columns(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise DesignRefused("bad_file", "Row 1: a column occurs twice.")
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise DesignRefused("bad_file", f"Row 1: the column “{missing[0]}” is missing. Needed: case, reason.")


def _fault(row: VoidingRow) -> str:
    if not row.case:
        return "“case” is empty."
    if not row.reason:
        return "“reason” is empty: say why the case is left out."
    if len(row.case) > MOST_NAME or len(row.reason) > MOST_REASON:
        return "a field is too long."
    return ""
