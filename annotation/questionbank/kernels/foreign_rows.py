"""A file whose columns are not those of a question file: its columns, and its rows as the file has them. Pure.

Tables, JSON Lines and a JSON list of records are read. What its columns mean is stated by a matching
(column_matching.py beside it).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple

from annotation.files.kernels.sent_tables import (
    LIST,
    MOST_COLUMNS,
    OBJECT,
    TABLES,
    Line,
    check_named_once,
    fault_of_width,
    find_form,
)
from annotation.files.kernels.strictjson import (
    Fault,
    ListReader,
    entries_of_lines,
    first_line,
    unreadable,
    value_faults,
)
from annotation.questionbank.kernels.entries import (
    ID,
    NEEDED,
    NEEDED_OF_EXAM,
    check_names_are_text,
    field_of_column,
    lines_of_questions,
)
from annotation.questionbank.kernels.fields import LETTERS

MOST_NAME_CHARS = 200  # of a column
MOST_LISTED_CHARS = 50_000  # of a cell that is read as a list
LOOKED_AT = 200  # records of JSON whose fields are its columns
SHOWN_ROWS = 3
OF_A_RECORD = {ID, "question", "options", "task_name"}  # every line of a question file has these


class ForeignRow(NamedTuple):
    """One row; ``place`` says where in the file: "row 5", "line 5", "record 5". Empty cells of a table are left out."""

    place: str
    cells: dict[str, Any]
    faults: tuple[Fault, ...] = ()


class FileColumns(NamedTuple):
    """The columns of a file in their order, and its first rows."""

    names: tuple[str, ...]
    rows: tuple[ForeignRow, ...]


def columns_to_match(stream: BinaryIO) -> FileColumns | None:
    """The columns of a file that somebody has to match to fields; None for a question file, and for one object.

    None, too, for what is no table of questions at all: a single column, or no row. Raises FileRefused.
    """
    form = find_form(stream)
    names, rows = read_rows(stream)
    found = {*map(field_of_column, names)} | ({"study_id"} if "StudyInstanceUid" in names else set())
    is_own = found.issuperset((*NEEDED, *NEEDED_OF_EXAM)) if form in TABLES else OF_A_RECORD.issubset(names)
    first = tuple(islice(rows, SHOWN_ROWS))
    if (is_own and form != LIST) or len(names) < 2 or not first:
        return None
    return FileColumns(names, first)


def read_rows(stream: BinaryIO) -> tuple[tuple[str, ...], Iterator[ForeignRow]]:
    """Names of the columns, and every row; no column for an object of records. Raises FileRefused."""
    form = find_form(stream)
    if form in TABLES:
        return _read_table(lines_of_questions(stream, form, parquet_cell=_parquet_cell))
    if form == OBJECT and not _starts_with_a_record(stream):
        return (), iter(())
    what, entries = ("record", enumerate(ListReader(stream), 1)) if form == LIST else ("line", entries_of_lines(stream))
    rows = (_record(f"{what} {number}", value, faults) for number, (_name, value, faults) in entries)
    first = list(islice(rows, LOOKED_AT))
    names = tuple(dict.fromkeys(name for row in first for name in row.cells))
    _check_names(names)
    return names, chain(first, rows)


def _check_names(names: tuple[str, ...]) -> None:
    if len(names) > MOST_COLUMNS:
        raise unreadable("columns", f"The file has {len(names)} columns; at most {MOST_COLUMNS} can be matched")
    for number, name in enumerate(names, start=1):
        if len(name) > MOST_NAME_CHARS:
            raise unreadable("columns", f"The name of column {number} has more than {MOST_NAME_CHARS} characters")
    check_names_are_text(names)


def _read_table(lines: Iterator[Line]) -> tuple[tuple[str, ...], Iterator[ForeignRow]]:
    header = next((cells for _number, cells in lines if any(map(str.strip, cells))), [])
    names = [cell.strip() for cell in header]
    check_named_once(names)
    _check_names(tuple(names))
    return tuple(filter(None, names)), _rows_of_table(names, lines)


def _rows_of_table(names: list[str], lines: Iterator[Line]) -> Iterator[ForeignRow]:
    for number, row in lines:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        found = {name: cell for name, cell in zip(names, cells, strict=False) if name and cell}
        faults = [fault for name, cell in found.items() if "\0" in cell for fault in value_faults(name, cell)]
        if any(cells[len(names) :]):
            faults.append(Fault("", "format", f"Row {number}: {fault_of_width(names, cells)}"))
        yield ForeignRow(f"row {number}", found, tuple(faults))


def _parquet_cell(value: Any) -> str:
    """The text of one value: lists and objects as JSON, without the bytes of images that are in the file."""
    if value is None or isinstance(value, bytes):
        return ""
    if isinstance(value, list | dict):
        return json.dumps(_without_bytes(value), ensure_ascii=False, default=str)
    return value if isinstance(value, str) else str(value)


def _without_bytes(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_bytes(part) for name, part in value.items() if not isinstance(part, bytes)}
    if isinstance(value, list):
        return [_without_bytes(part) for part in value if not isinstance(part, bytes)]
    return value


def _starts_with_a_record(stream: BinaryIO) -> bool:
    """Whether the first line is an object of its own of which a field is no object."""
    first = first_line(stream)
    stream.seek(0)
    value = first.value if first else None
    return isinstance(value, dict) and any(not isinstance(member, dict) for member in value.values())


def _record(place: str, value: Any, faults: tuple[Fault, ...]) -> ForeignRow:
    if type(value) is dict:
        return ForeignRow(place, value, faults)
    what = Fault("", "schema", "A question must be an object of fields, in braces.")
    return ForeignRow(place, {}, faults or (what,))


def plain(cell: Any) -> Any:
    """A cell as the text of a table."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, str):
        return cell.strip().removesuffix(".0") if re.fullmatch(r"\s*\d{1,9}\.0\s*", cell) else cell.strip()
    return str(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else cell


def parts_of(cell: Any, separator: str) -> list[Any]:
    """What a cell lists: JSON or Python as it is written, or texts with a separator between them."""
    if isinstance(cell, str):
        listed = json_in(cell.strip())
        cell = [part.strip() for part in cell.split(separator)] if listed is None else listed
        cell = [] if cell == [""] else cell
    if isinstance(cell, dict) and {str(letter).upper() for letter in cell} == {*LETTERS}:
        cell = [member for _letter, member in sorted(cell.items(), key=lambda item: str(item[0]).upper())]
    if isinstance(cell, list):
        return [plain(part) for part in cell]
    return [] if cell is None else [plain(cell)]


def json_in(text: str) -> Any:
    """The list or object that the text is, as JSON or Python; None for any other text."""
    if text[:1] not in ("[", "{") or len(text) > MOST_LISTED_CHARS:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return found if isinstance(found, list | dict) else None
    return None
