"""The files of a coordinator: lists of cases, one name per line, and tables of voidings. Pure."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

MAX_BYTES = 32 * 1024 * 1024
COLUMNS = ("case", "reason")
MOST_NAME, MOST_REASON = 1_000, 10_000


class FileRefused(ValueError):
    """A file cannot be read as what it should be; nothing of it is stored."""


@dataclass(frozen=True)
class VoidingRow:
    """One row of a file: its line, the question by key or number, and why the case is left out."""

    line: int
    case: str
    reason: str


def parse_cases(data: bytes) -> list[str]:
    """One question key or number per line; empty lines are passed over. Raises FileRefused."""
    names = [line.strip() for line in _text(data).splitlines()]
    found = [name for name in names if name]
    if not found:
        raise FileRefused("The list of cases is empty: write one question key or number per line.")
    return found


def parse_voidings(data: bytes) -> tuple[list[VoidingRow], list[tuple[int, str]]]:
    """The rows of a CSV with the columns case and reason, and (line, sentence) of each row that cannot be read.

    UTF-8, with or without byte order mark, separated by commas or semicolons; other columns are passed over. Raises
    FileRefused where there is no such table.
    """
    text = _text(data)
    first = text.split("\n", 1)[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=_separator(first), strict=True)
    rows: list[VoidingRow] = []
    bad: list[tuple[int, str]] = []
    try:
        _check_columns([name.strip() for name in reader.fieldnames or []])
        reader.fieldnames = [name.strip() for name in reader.fieldnames or []]
        for row in reader:
            line = reader.line_num
            if None in row or None in row.values():
                bad.append((line, "the number of fields is not that of the first row."))
            elif why := _fault(row["case"].strip(), row["reason"].strip()):
                bad.append((line, why))
            else:
                rows.append(VoidingRow(line, row["case"].strip(), row["reason"].strip()))
    except csv.Error:
        raise FileRefused(f"Row {reader.line_num + 1}: this is not valid CSV. Is a quotation mark open?") from None
    return rows, bad


def _text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise FileRefused("The file is larger than 32 MB.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileRefused("The file is not UTF-8 text. Save it as UTF-8.") from None
    if "\0" in text:
        raise FileRefused("The file holds zero bytes; it is not text.")
    return text


def _separator(first_line: str) -> str:
    return ";" if ";" in first_line and "," not in first_line else ","


def _check_columns(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise FileRefused("Row 1: a column stands there twice.")
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise FileRefused(f"Row 1: the column “{missing[0]}” is missing. Needed: case, reason.")


def _fault(case: str, reason: str) -> str:
    if not case:
        return "“case” is empty."
    if not reason:
        return "“reason” is empty: say why the case is left out."
    if len(case) > MOST_NAME or len(reason) > MOST_REASON:
        return "a field is too long."
    return ""
