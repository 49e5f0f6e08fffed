"""Rows of a CSV or XLSX file as entries of a question file: the same fields that the JSON form has. Pure.

A column is named after its field, without regard to case, blanks and underscores. The four options stand in columns
of their own, several images of a question in one cell with "|" or a line break between them. Every cell is text, so
that both kinds of table mean the same. Other columns are kept as further fields.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from annotation.questionbank.kernels.examfields import EXAM_FIELDS
from annotation.questionbank.kernels.fields import LETTERS, OptionsUnclear, join_options, split_options
from annotation.questionbank.kernels.sheets import SheetUnreadable, lines_of_sheet
from annotation.questionbank.kernels.strictjson import Entry, Fault, FileUnreadable

Line = tuple[int, list[str]]  # number of the row as a spreadsheet counts it, and its cells
ID = "id"
OPTIONS = tuple(f"option_{letter.lower()}" for letter in LETTERS)
NEEDED = (ID, "question", *OPTIONS, "correct_answer", "correct_answer_explanation", "task_name", "category")
NEEDED_OF_EXAM = ("ImagePath", "study_id")  # StudyInstanceUid can stand in for the latter
OPTIONAL = ("subcategory", "class", "difficulty")
LISTS = ("ImagePath", "ImageViewPosition")  # fields that hold one text for each image
MOST_SHEET_BYTES = 64_000_000
MOST_LINE_BYTES = 4_000_000


def _folded(name: str) -> str:
    return "".join(name.replace("_", " ").split()).casefold()


_field_of = {_folded(name): name for name in (*NEEDED, *OPTIONAL, *EXAM_FIELDS)}
_field_of |= {letter.casefold(): option for letter, option in zip(LETTERS, OPTIONS, strict=True)}


def lines_of_xlsx(stream: BinaryIO) -> Iterator[Line]:
    """Rows of the first sheet. Raises FileUnreadable."""
    content = stream.read(MOST_SHEET_BYTES + 1)
    if len(content) > MOST_SHEET_BYTES:
        raise FileUnreadable("too_large", "The XLSX file is too large. Save it as CSV UTF-8")
    try:
        yield from lines_of_sheet(content)
    except SheetUnreadable as error:
        raise FileUnreadable("form", str(error).rstrip(".")) from None


def lines_of_csv(stream: BinaryIO) -> Iterator[Line]:
    """Rows separated by comma, semicolon or tab, as the first line is; UTF-8, with or without BOM.

    Raises FileUnreadable.
    """
    text = _texts(stream)
    first = next(text, "")
    rows = csv.reader(_again(first, text), delimiter=_separator(first), strict=True)
    number = 0
    while True:
        number += 1
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileUnreadable("syntax", f"Row {number} is not valid CSV: {error}") from None
        yield number, cells


def entries_of_table(lines: Iterable[Line]) -> Iterator[Entry]:
    """One entry for each row below the header; empty rows are passed over. Raises FileUnreadable for the header."""
    names: list[str] = []
    for number, row in lines:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if not names:
            names = _header(cells)
        else:
            yield _entry(number, names, cells)


def _texts(stream: BinaryIO) -> Iterator[str]:
    """Lines of a CSV file with their ends; a broken byte is told with the row."""
    decode = codecs.getincrementaldecoder("utf-8-sig")(errors="strict").decode
    for number, line in enumerate(iter(lambda: stream.readline(MOST_LINE_BYTES), b""), start=1):
        if len(line) == MOST_LINE_BYTES:
            raise FileUnreadable("too_large", f"Line {number} is too long for a row of a table")
        try:
            yield decode(line)
        except UnicodeDecodeError:
            raise FileUnreadable(
                "encoding", f"Line {number} is not UTF-8 text. Save the file as UTF-8, in Excel as “CSV UTF-8”"
            ) from None


def _again(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _separator(first_line: str) -> str:
    return max(",;\t", key=first_line.count)


def _header(cells: Sequence[str]) -> list[str]:
    """The field of each column; "" for one without a name, which is passed over."""
    names = [_field_of.get(_folded(cell), cell) for cell in cells]
    twice = next((name for name in names if name and names.count(name) > 1), "")
    if twice:
        raise FileUnreadable("columns", f"The column {twice!r} is there twice")
    missing = [name for name in (*NEEDED, *NEEDED_OF_EXAM) if name not in names]
    if "StudyInstanceUid" in names and "study_id" in missing:
        missing.remove("study_id")
    if missing:
        found = ", ".join(name[:40] for name in names if name)[:400]
        raise FileUnreadable(
            "columns", f"The first row must name the columns. Missing: {', '.join(missing)}. Found: {found}"
        )
    return names


def _entry(number: int, names: list[str], cells: list[str]) -> Entry:
    row = dict(zip(names, cells, strict=False))
    key, faults = row.pop(ID, ""), []
    if not key:
        key, faults = f"row {number}", [Fault(ID, "completeness", f"Row {number} has no id.")]
    if any(cells[len(names) :]):
        sentence = f"Row {number} has {len(cells)} cells, the first row {len(names)}. A text with a separator in it "
        faults.append(Fault("", "format", sentence + "needs quotation marks around it."))
    return Entry(key, _fields(row), tuple(faults))


def _fields(row: dict[str, str]) -> dict[str, Any]:
    """The fields of a record. An empty cell is no field, but for one that every record needs."""
    value: dict[str, Any] = {name: text for name, text in row.items() if name and text and name not in OPTIONS}
    for name in (*NEEDED, "ImagePath"):
        if name != ID and name not in OPTIONS:
            value.setdefault(name, None)
    value["options"] = _options([row.get(name, "") for name in OPTIONS])
    for name in LISTS:
        if value.get(name):
            parts = [part.strip() for part in value[name].replace("\n", "|").split("|")]
            value[name] = [part or None for part in parts] if name != "ImagePath" else [part for part in parts if part]
    return value


def _options(texts: list[str]) -> list[str]:
    """The options with their letters, as the JSON form has them; letters that stand in the cells are kept."""
    try:
        _plain, form = split_options(texts)
    except OptionsUnclear:
        return texts
    return texts if form else join_options(texts, ". ")
