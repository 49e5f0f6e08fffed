"""The files of a coordinator: lists of cases, and tables of voidings. Pure."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from annotation.files.kernels.sent_tables import lines_of_csv, read_rows
from annotation.files.kernels.strictjson import FileRefused
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
    UTF-8, with or without byte order mark, separated by commas, semicolons or tabs; other columns are passed over.
    Refused where there is no such table.
    """
    rows: list[VoidingRow] = []
    bad: list[tuple[int, str]] = []
    try:
        for number, cells, fault in read_rows(lines_of_csv(io.BytesIO(_text(data).encode())), needed=COLUMNS):
            if fault:
                bad.append((number, fault))
            else:
                rows.append(VoidingRow(number, cells["case"].strip(), cells["reason"].strip()))
    except FileRefused as refusal:
        raise DesignRefused("bad_file", str(refusal)) from None
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


def _fault(row: VoidingRow) -> str:
    if not row.case:
        return "“case” is empty."
    if not row.reason:
        return "“reason” is empty: say why the case is left out."
    if len(row.case) > MOST_NAME or len(row.reason) > MOST_REASON:
        return "a field is too long."
    return ""
