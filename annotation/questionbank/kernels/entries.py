"""The entries of a question file in any of its forms, and the life of a question as a table. Pure.

Every form gives what the JSON object gives, (id, fields, faults), so that records are checked in one place alone.

A column of a table is named after its field, without regard to case, blanks and underscores. The four options are
in columns of their own, several images of a question in one cell with "|" or a line break between them. Every cell is
text, so that both kinds of table mean the same. Other columns are kept as further fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from annotation.enums import Difficulty, Sex
from annotation.enums import QuestionState as State
from annotation.files.kernels.cells import read_cell
from annotation.files.kernels.sent_tables import (
    CSV,
    LIST,
    OBJECT,
    TABLES,
    Line,
    check_named_once,
    fault_of_width,
    find_form,
    lines_of_csv,
    lines_of_table,
)
from annotation.files.kernels.strictjson import (
    MAX_KEY_CHARS,
    Entry,
    Fault,
    FileRefused,
    ObjectReader,
    entries_of_lines,
    first_line,
    unreadable,
    value_faults,
)
from annotation.questionbank.kernels.examfields import EXAM_FIELDS, LEFT_OUT
from annotation.questionbank.kernels.fields import LETTERS, FieldRefused, join_options, read_difficulty, split_options
from annotation.refusals import Refused

SPLIT = "imported_split"  # field of an exported record: with which split the question came in
SEX = "PatientSex"
_SEX_AS_CODED = {sex.label: sex.value for sex in Sex if sex}
STATE = "review_state"  # field of an exported record; what reviews decided is not for a file to say, and not read

# To "in review" when a round with the question opens; back to what it was when the round ends without a review of it.
# To "imported" when a file brings another wording; to "revised" when a person writes one.
QUESTION_TRANSITIONS: Mapping[State, tuple[State, ...]] = {
    State.IMPORTED: (State.IN_REVIEW, State.REVISED, State.WITHDRAWN),
    State.IN_REVIEW: (
        *(State.ACCEPTED, State.DISPUTED, State.NEEDS_REVISION, State.REJECTED),
        *(State.IMPORTED, State.REVISED, State.WITHDRAWN),
    ),
    State.DISPUTED: (
        *(State.ACCEPTED, State.NEEDS_REVISION, State.REJECTED),
        *(State.IN_REVIEW, State.IMPORTED, State.REVISED, State.WITHDRAWN),
    ),
    State.ACCEPTED: (State.IN_REVIEW, State.IMPORTED, State.REVISED, State.WITHDRAWN),
    State.NEEDS_REVISION: (State.IN_REVIEW, State.IMPORTED, State.REVISED, State.WITHDRAWN),
    State.REJECTED: (State.IN_REVIEW, State.IMPORTED, State.REVISED, State.WITHDRAWN),
    State.REVISED: (State.IN_REVIEW, State.ACCEPTED, State.IMPORTED, State.WITHDRAWN),
    State.WITHDRAWN: (State.IMPORTED, State.REVISED),
}


def states_before(state: State) -> tuple[State, ...]:
    """From where a question may come to this state."""
    return tuple(before for before, following in QUESTION_TRANSITIONS.items() if state in following)


# --- The entries of a question file in any of its forms: one JSON object, JSON Lines, -------------
ID = "id"
OPTIONS = tuple(f"option_{letter.lower()}" for letter in LETTERS)
NEEDED = (ID, "question", *OPTIONS, "correct_answer", "correct_answer_explanation", "task_name", "category")
NEEDED_OF_EXAM = ("ImagePath", "study_id")  # StudyInstanceUid can stand in for the latter
OPTIONAL = ("subcategory", "class", "difficulty")
DIFFICULTY_COLUMNS = [ID, "difficulty"]
LINES = "lines"
_TELLING = ("question", "options", "study_id", ID)  # fields of a record: none of them holds an object
_A_LIST = "The file is a JSON list. Write one record per line (JSON Lines), or one object, question id to record"


class BankRefused(Refused):
    """Something cannot be done with a bank or its questions; the sentence says why."""


def _folded(name: str) -> str:
    return "".join(name.replace("_", " ").split()).casefold()


_field_of = {_folded(name): name for name in (*NEEDED, *OPTIONAL, *EXAM_FIELDS, LEFT_OUT, STATE, SPLIT)}
_field_of |= {letter.casefold(): option for letter, option in zip(LETTERS, OPTIONS, strict=True)}


def field_of_column(name: str) -> str:
    """The field that a column of this name holds."""
    return _field_of.get(_folded(name), name)


def read_entries(stream: BinaryIO) -> Iterator[Entry]:
    """The entries of a question file, one after the other. Raises FileRefused."""
    form = form_of_questions(stream)
    if form == LIST:
        raise unreadable("form", _A_LIST)
    if form in TABLES:
        yield from entries_of_table(lines_of_questions(stream, form))
    elif form == LINES:
        yield from (_under_its_id(number, entry) for number, entry in entries_of_lines(stream))
    else:
        yield from ObjectReader(stream)


def form_of_questions(stream: BinaryIO) -> str:
    """LINES, or as ``find_form``; the stream is at its start then. Raises FileRefused."""
    form = find_form(stream)
    if form != OBJECT:
        return form
    first = first_line(stream)
    stream.seek(0)
    is_record = (
        first is not None
        and type(first.value) is dict
        and any(type(first.value.get(name)) in (str, int, list) for name in _TELLING)
    )
    return LINES if is_record else OBJECT


def lines_of_questions(stream: BinaryIO, form: str, **options: Any) -> Iterator[Line]:
    """The rows of a table, those of CSV without the apostrophes of an export. Raises FileRefused."""
    lines = lines_of_table(stream, form, **options)
    return ((number, [*map(read_cell, cells)]) for number, cells in lines) if form == CSV else lines


def _under_its_id(number: int, entry: Entry) -> Entry:
    _name, value, faults = entry
    name = f"line {number}"
    if type(value) is not dict:
        return entry._replace(key=name)
    key = value.pop(ID, None)
    if type(key) in (str, int) and key != "":
        return Entry(str(key), value, faults)
    return Entry(name, value, (*faults, Fault(ID, "completeness", f"Line {number} has no id.")))


def entries_of_table(lines: Iterable[Line]) -> Iterator[Entry]:
    """One entry for each row below the header; empty rows are passed over. Raises FileRefused for the header."""
    names: list[str] = []
    for number, row in lines:
        cells = [cell.strip() for cell in row]
        if names and any(cells):
            if STATE in names and SEX in names[: len(cells)]:  # exported here, where sex stands in words
                place = names.index(SEX)
                cells[place] = _SEX_AS_CODED.get(cells[place], cells[place])
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


def check_names_are_text(names: Sequence[str]) -> None:
    """Raises FileRefused for what no database takes."""
    for number, name in enumerate(names, start=1):
        if faults := value_faults("", name):
            raise unreadable("columns", f"The name of column {number}: {faults[0].message.rstrip('.')}")


def _entry(number: int, names: list[str], cells: list[str]) -> Entry:
    row = dict(zip(names, cells, strict=False))
    faults = [fault for name, cell in row.items() if name and "\0" in cell for fault in value_faults(name, cell)]
    key = row.pop(ID, "")
    if not key:
        key = f"row {number}"
        faults.append(Fault(ID, "completeness", f"Row {number} has no id."))
    if any(cells[len(names) :]):
        faults.append(Fault("", "format", f"Row {number}: {fault_of_width(names, cells)}"))
    return Entry(key, _fields(row), tuple(faults))


def _fields(row: dict[str, str]) -> dict[str, Any]:
    """The fields of a record. An empty cell is no field, but for one that every record needs."""
    value: dict[str, Any] = dict.fromkeys((*NEEDED, "ImagePath"))
    value |= {name: text for name, text in row.items() if name and text}
    for name in (ID, *OPTIONS):
        value.pop(name)
    value["options"] = lettered([row.get(name, "") for name in OPTIONS])
    return with_lists(value)


def with_lists(value: dict[str, Any]) -> dict[str, Any]:
    """The fields of a row, those of its images as one text for each image."""
    for name in ("ImagePath", "ImageViewPosition"):
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
    except FileRefused as error:
        raise BankRefused("difficulties", f"line {number + 1}: {error.facts['what']}", status=422) from None
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
    key, word = read_cell(cells[0]), cells[1]
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
