"""The entries of a question file in any of its forms: one JSON object, JSON Lines, CSV, XLSX or Parquet. Pure.

Every form gives what the JSON object gives, (id, fields, faults), so that records are checked in one place alone. The
form is found by the content, never by the name of the file. A file of another kind is refused, saying what it is.

A column of a table is named after its field, without regard to case, blanks and underscores. The four options are
in columns of their own, several images of a question in one cell with "|" or a line break between them. Every cell is
text, so that both kinds of table mean the same. Other columns are kept as further fields.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from annotation.enums import Difficulty
from annotation.questionbank.kernels.cells import read_cell
from annotation.questionbank.kernels.examfields import EXAM_FIELDS
from annotation.questionbank.kernels.fields import LETTERS, FieldRefused, join_options, read_difficulty, split_options
from annotation.questionbank.kernels.left_out import LEFT_OUT
from annotation.questionbank.kernels.parquet import MAGIC, cell_of_parquet, lines_of_parquet
from annotation.questionbank.kernels.sheets import lines_of_sheet
from annotation.questionbank.kernels.spelling import SpellingWatch
from annotation.questionbank.kernels.states import STATE
from annotation.questionbank.kernels.strictjson import (
    MAX_ENTRY_CHARS,
    MAX_KEY_CHARS,
    BankRefused,
    Entry,
    Fault,
    ObjectReader,
    unreadable,
    value_faults,
)

Line = tuple[int, list[str]]  # number of the row as a spreadsheet counts it, and its cells
HEAD = 1 << 18
BOM = b"\xef\xbb\xbf"
ID = "id"
OPTIONS = tuple(f"option_{letter.lower()}" for letter in LETTERS)
NEEDED = (ID, "question", *OPTIONS, "correct_answer", "correct_answer_explanation", "task_name", "category")
NEEDED_OF_EXAM = ("ImagePath", "study_id")  # StudyInstanceUid can stand in for the latter
OPTIONAL = ("subcategory", "class", "difficulty")
MOST_SHEET_BYTES = 64_000_000
MOST_LINE_BYTES = 4_000_000
DIFFICULTY_COLUMNS = [ID, "difficulty"]
_TELLING = ("question", "options", "study_id", ID)  # fields of a record: none of them holds an object
_UTF16 = "UTF-16 text. Save it as UTF-8, in Excel as “CSV UTF-8”"
_IMAGE = "an image. Images are uploaded on their own page"
_OTHER_KINDS = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls). Save it as .xlsx or as CSV UTF-8",
    b"%PDF": "a PDF. A question file is JSON, JSON Lines, CSV or XLSX",
    b"\x1f\x8b": "a gzip archive. Unpack it first",
    b"\x89PNG": _IMAGE,
    b"\xff\xd8\xff": _IMAGE,
    b"<": "HTML or XML, perhaps a page that a browser stored instead of the file",
}
_A_LIST = "The file is a JSON list. Write one record per line (JSON Lines), or one object, question id to record"
XLSX, PARQUET, CSV, LINES, LIST, OBJECT = "xlsx", "parquet", "csv", "lines", "list", "object"
TABLES = (XLSX, PARQUET, CSV)


def _folded(name: str) -> str:
    return "".join(name.replace("_", " ").split()).casefold()


_field_of = {_folded(name): name for name in (*NEEDED, *OPTIONAL, *EXAM_FIELDS, LEFT_OUT, STATE)}
_field_of |= {letter.casefold(): option for letter, option in zip(LETTERS, OPTIONS, strict=True)}


def field_of_column(name: str) -> str:
    """The field that a column of this name holds."""
    return _field_of.get(_folded(name), name)


def read_entries(stream: BinaryIO, watch: SpellingWatch | None = None) -> Iterator[Entry]:
    """The entries of a question file, one after the other; ``watch`` sees those of an object. Raises BankRefused."""
    form = find_form(stream)
    if form == LIST:
        raise unreadable("form", _A_LIST)
    if form in TABLES:
        yield from entries_of_table(lines_of_table(stream, form))
    elif form == LINES:
        for number, content in numbered_lines(stream):
            yield _entry_of_line(number, content)
    else:
        yield from ObjectReader(stream, watch=watch)


def find_form(stream: BinaryIO) -> str:
    """One of the forms above, by the head of the file; the stream is at its start then. Raises BankRefused."""
    head = stream.read(HEAD)
    stream.seek(0)
    text = head.removeprefix(BOM).lstrip(b" \t\r\n")
    for start, what in _OTHER_KINDS.items():
        if head.startswith(start) or text.startswith(start):
            raise unreadable("form", f"The file is {what}")
    if head.startswith(b"PK\x03\x04"):
        return XLSX
    if head.startswith(MAGIC):
        return PARQUET
    if text.startswith(b"["):
        return LIST
    if text and not text.startswith(b"{"):
        return CSV
    return LINES if _is_lines(text) else OBJECT


def _is_lines(text: bytes) -> bool:
    """Whether the first line is a record, rather than the beginning of an object of records."""
    try:
        first = json.loads(text.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and any(type(first.get(name)) in (str, int, list) for name in _TELLING)


def lines_of_table(stream: BinaryIO, form: str, parquet_cell: Callable[[Any], str] = cell_of_parquet) -> Iterator[Line]:
    """The rows of a file in one of the forms TABLES. Raises BankRefused."""
    if form == XLSX:
        return lines_of_xlsx(stream)
    if form == PARQUET:
        return lines_of_parquet(stream, parquet_cell)
    return ((number, [*map(read_cell, row)]) for number, row in lines_of_csv(stream))


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Lines with something in them, numbered from 1 as an editor counts them."""
    lines = iter(lambda: stream.readline(4 * MAX_ENTRY_CHARS), b"")
    for number, line in enumerate(lines, start=1):
        if content := line.removeprefix(BOM if number == 1 else b"").strip():
            yield number, content


def _entry_of_line(number: int, line: bytes) -> Entry:
    """The record of one line under its id; what spoils a line is a fault of that line alone."""
    name, value, faults, _spelling = entry = record_of_line(number, line)
    if type(value) is not dict:
        return entry
    key = value.pop(ID, None)
    if type(key) in (str, int) and key != "":
        return Entry(str(key), value, faults)
    return Entry(name, value, (*faults, Fault(ID, "completeness", f"Line {number} has no id.")))


def record_of_line(number: int, line: bytes) -> Entry:
    """Named by its line."""
    name = f"line {number}"
    try:
        (_name, value, faults, _spelling), *more = ObjectReader(io.BytesIO(b'{"":' + line + b"}"))
    except BankRefused as error:
        return Entry(name, None, (Fault("", error.code, f"Line {number}: {error.facts['what']}."),))
    if more:
        return Entry(name, None, (Fault("", "syntax", f"Line {number} holds more than one record."),))
    return Entry(name, value, faults)


def lines_of_xlsx(stream: BinaryIO) -> Iterator[Line]:
    """Rows of the first sheet. Raises BankRefused."""
    content = stream.read(MOST_SHEET_BYTES + 1)
    if len(content) > MOST_SHEET_BYTES:
        raise unreadable("too_large", "The XLSX file is too large. Save it as CSV UTF-8")
    yield from lines_of_sheet(content)


def lines_of_csv(stream: BinaryIO) -> Iterator[Line]:
    """Rows separated by comma, semicolon or tab, as the first line is; UTF-8, with or without BOM.

    Raises BankRefused.
    """
    texts = _texts(stream)
    first = next(texts, "")
    rows = csv.reader(chain([first], texts), delimiter=max(",;\t", key=first.count), strict=True)
    number = 0
    try:
        for number, cells in enumerate(rows, start=1):
            yield number, cells
    except csv.Error as error:
        raise unreadable("syntax", f"Row {number + 1} is not valid CSV: {error}") from None


def _texts(stream: BinaryIO) -> Iterator[str]:
    """Lines of a CSV file with their ends; a broken byte is reported with the row."""
    decode = codecs.getincrementaldecoder("utf-8-sig")(errors="strict").decode
    for number, line in enumerate(iter(lambda: stream.readline(MOST_LINE_BYTES), b""), start=1):
        if len(line) == MOST_LINE_BYTES:
            raise unreadable("too_large", f"Line {number} is too long for a row of a table")
        try:
            yield decode(line)
        except UnicodeDecodeError:
            sentence = f"Line {number} is not UTF-8 text. Save the file as UTF-8, in Excel as “CSV UTF-8”"
            raise unreadable("encoding", sentence) from None


def entries_of_table(lines: Iterable[Line]) -> Iterator[Entry]:
    """One entry for each row below the header; empty rows are passed over. Raises BankRefused for the header."""
    names: list[str] = []
    for number, row in lines:
        cells = [cell.strip() for cell in row]
        if names and any(cells):
            yield _entry(number, names, cells)
        elif any(cells):
            names = _header(cells)


def _header(cells: Sequence[str]) -> list[str]:
    """The field of each column; "" for one without a name, which is passed over."""
    check_names_are_text(cells)
    names = [field_of_column(cell) for cell in cells]
    check_named_once(names)
    found = {*names, "study_id"} if "StudyInstanceUid" in names else set(names)
    missing = [name for name in (*NEEDED, *NEEDED_OF_EXAM) if name not in found]
    if missing:
        found_names = ", ".join(name[:40] for name in names if name)[:400]
        raise unreadable(
            "columns", f"The first row must name the columns. Missing: {', '.join(missing)}. Found: {found_names}"
        )
    return names


def check_named_once(names: Sequence[str]) -> None:
    """Raises BankRefused; a column without a name may be there often."""
    if twice := next((name for name in names if name and names.count(name) > 1), ""):
        raise unreadable("columns", f"The column {twice!r} is there twice")


def check_names_are_text(names: Sequence[str]) -> None:
    """Raises BankRefused for what no database takes."""
    for number, name in enumerate(names, start=1):
        if faults := value_faults("", name):
            raise unreadable("columns", f"The name of column {number}: {faults[0].message.rstrip('.')}")


def fault_of_width(number: int, names: Sequence[str], cells: Sequence[str]) -> Fault:
    """Of a row with more cells than columns."""
    sentence = f"Row {number} has {len(cells)} cells, the first row {len(names)}. A text with a separator in it "
    return Fault("", "format", sentence + "needs quotation marks around it.")


def _entry(number: int, names: list[str], cells: list[str]) -> Entry:
    row = dict(zip(names, cells, strict=False))
    faults = [fault for name, cell in row.items() if name and "\0" in cell for fault in value_faults(name, cell)]
    key = row.pop(ID, "")
    if not key:
        key = f"row {number}"
        faults.append(Fault(ID, "completeness", f"Row {number} has no id."))
    if any(cells[len(names) :]):
        faults.append(fault_of_width(number, names, cells))
    return Entry(key, _fields(row), tuple(faults))


def _fields(row: dict[str, str]) -> dict[str, Any]:
    """The fields of a record. An empty cell is no field, but for one that every record needs."""
    value: dict[str, Any] = dict.fromkeys((*NEEDED, "ImagePath"))
    value |= {name: text for name, text in row.items() if name and text}
    for name in (ID, *OPTIONS):
        value.pop(name)
    value["options"] = lettered([row.get(name, "") for name in OPTIONS])
    for name in ("ImagePath", "ImageViewPosition"):  # one text for each image
        if value.get(name):
            parts = [part.strip() or None for part in value[name].replace("\n", "|").split("|")]
            value[name] = parts if name != "ImagePath" else list(filter(None, parts))
    return value


def lettered(texts: list[str]) -> list[str]:
    """The options with their letters, as the JSON form has them; letters that are in the cells are kept."""
    try:
        _plain, form = split_options(texts)
    except FieldRefused:
        return texts
    return texts if form else join_options(texts, ". ")


def read_difficulties(path: Path) -> dict[str, Difficulty]:
    """Difficulty of each question id in the side file. Raises BankRefused for the first line at fault."""
    found: dict[str, Difficulty] = {}
    number = 0
    try:
        with path.open("rb") as stream:
            for number, cells in lines_of_csv(stream):
                if fault := _difficulty_fault(cells, found) if number > 1 else _heading_fault(cells):
                    raise BankRefused("difficulties", f"line {number}: {fault}", status=422)
    except BankRefused as error:
        if error.code == "difficulties":
            raise
        sentence = f"line {number + 1}: {error.facts['what']}"
        raise BankRefused("difficulties", sentence, status=422) from None
    return found


def _heading_fault(cells: Sequence[str]) -> str:
    is_right = [name.strip().lower() for name in cells] == DIFFICULTY_COLUMNS
    return "" if is_right else f"the columns must be {', '.join(DIFFICULTY_COLUMNS)}"


def _difficulty_fault(cells: Sequence[str], found: dict[str, Difficulty]) -> str:
    """Take a line into what was found; what is wrong with it, "" for nothing."""
    if not cells:
        return ""
    if len(cells) != len(DIFFICULTY_COLUMNS):
        return f"{len(cells)} cells instead of {len(DIFFICULTY_COLUMNS)}"
    key, word = cells
    difficulty = read_difficulty(word)
    if "\0" in key:
        return "the text holds a NUL character"
    if not 0 < len(key) <= MAX_KEY_CHARS:
        return f"an id has 1 to {MAX_KEY_CHARS} characters"
    if difficulty is None:
        return f"{word[:40]!r} is not easy, medium or hard"
    if found.setdefault(key, difficulty) is not difficulty:
        return f"the id {key[:80]!r} has two difficulties"
    return ""
