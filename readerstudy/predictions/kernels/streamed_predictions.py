"""A file of predictions in any of its forms, read strictly. Pure."""

from __future__ import annotations

import codecs
import io
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from annotation.questionbank.kernels import strictjson
from annotation.questionbank.kernels.sheets import lines_of_sheet
from annotation.questionbank.kernels.strictjson import BankRefused
from readerstudy.enums import PredictionForm
from readerstudy.predictions.kernels.records import (
    COUNTED,
    FORMS,
    Entry,
    KeptRecords,
    PredictionProblem,
    PredictionsRefused,
    ReadPredictions,
    _,
    about_of,
    find_form,
    read_record,
    share_problem,
    text_problem,
    unreadable,
    without_hidden,
)
from readerstudy.predictions.kernels.strict import (
    SPACE,
    Row,
    Spoiled,
    StrictReader,
    named_rows,
    rows_of_text,
    values_of_list,
)

MOST_BYTES = 256 * 1024 * 1024
PART = 1 << 18
LONGEST_FIRST_LINE = 2 * 1024 * 1024  # characters; an object in a longer line holds all records
MOST_ROWS = 1_000_000
NAMED_WITHIN = 1 << 16  # bytes of a file, in which its first record names its model
MODEL_FIELDS, LONGEST_MODEL = ("model", "model_name"), 200
ZIP = b"PK\x03\x04"


def opened(content: bytes | Path) -> io.BytesIO | io.BufferedReader:
    return content.open("rb") if isinstance(content, Path) else io.BytesIO(content)


def read_predictions(content: bytes | Path, form: PredictionForm | None = None) -> ReadPredictions:
    """The records of the file and what is wrong with the others. ``form``: None finds it by the fields.

    The file is read twice, part by part: for its form, which the first record mostly tells, and for its records; only
    a JSON list is read into memory as a whole. Refused where the file as a whole cannot be read.
    """
    with opened(content) as file:
        if file.seek(0, io.SEEK_END) > MOST_BYTES:
            raise unreadable(_("The file is too large. Split it."))
    form = _form_of(content, form)
    unread: list[PredictionProblem] = []  # of records that could not be read at all
    problems: list[PredictionProblem] = []
    records, n_entries = KeptRecords(), 0
    for entry in _entries(content, unread)[0]:
        n_entries += 1
        if n_entries + len(unread) > MOST_ROWS:
            raise unreadable(_("The file holds more records than are taken. Split it."))
        _check_counting(form, entry)
        found = read_record(form, *entry)
        if isinstance(found, PredictionProblem):
            problems.append(found)
        else:
            records.add(found)
    n_read = n_entries + len({problem.row for problem in unread})
    if not n_read:
        raise unreadable(_("The file holds no record."))
    shares = share_problem(records)
    problems += [*unread, *([shares] if shares else [])]
    return ReadPredictions(form.value, records, tuple(sorted(problems)), n_read)


def model_named_in(content: bytes | Path) -> str:
    """What the first record calls its model, in a field or column "model" or "model_name"; empty where it does not.

    Somebody waits for this: only the beginning of the file is read, and a spreadsheet is not unpacked. A first record
    that is longer names no model.
    """
    try:
        entry = next(_entries(_beginning(content), [])[0], None)
    except PredictionsRefused:
        return ""
    value = entry[2] if entry else None
    if not isinstance(value, dict):
        return ""
    named = next((value[name] for name in MODEL_FIELDS if isinstance(value.get(name), str)), "")
    named = "" if text_problem(named) else without_hidden(named)
    return "" if len(named) > LONGEST_MODEL else named


def _beginning(content: bytes | Path) -> bytes:
    """The first bytes of a text, up to a whole character; nothing of a spreadsheet and of what is no text."""
    with opened(content) as file:
        head = file.read(NAMED_WITHIN)
        is_whole = not file.read(1)
    if head.startswith(ZIP):
        return b""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=is_whole)
    except UnicodeDecodeError:
        return b""
    if not is_whole and text.lstrip("\ufeff" + SPACE)[:1] not in ("[", "{"):
        text = text[: text.rfind("\n") + 1]  # a row that is cut off could end within the name
    return text.encode()


def _form_of(content: bytes | Path, form: PredictionForm | None) -> PredictionForm:
    """Refused where no record has an answer in a field of the form, or of any."""
    entries, is_table = _entries(content, [])
    first = next(entries, None)
    if first is None:
        return form or PredictionForm.TABLE
    entries = itertools.chain([first], entries)
    if form is None:
        return find_form(entries, is_table=is_table)
    if not any(_has_answer(form, value) for _row, _key, value in entries):
        names = ", ".join(FORMS[form].answer)
        raise unreadable(f"No record has an answer where the form {form.value!r} keeps it: {names}.")
    return form


def _has_answer(form: PredictionForm, value: Any) -> bool:
    return isinstance(value, dict) and any(name in value for name in FORMS[form].answer)


def _check_counting(form: PredictionForm, entry: Entry) -> None:
    """Refused for an index from 0, wherever in the file it is: it would name the neighbour of each question."""
    _row, key, value = entry
    if key or COUNTED not in FORMS[form].id or not isinstance(value, dict):
        return
    about = about_of(form, value)
    name = next((name for name in FORMS[form].id if about.get(name) is not None), "")
    if name == COUNTED and str(about[name]).strip() == "0":
        raise unreadable(
            _("The column “index” counts from 0, the questions of a bank from 1: give each row its question’s id.")
        )


def _entries(content: bytes | Path, problems: list[PredictionProblem]) -> tuple[Iterator[Entry], bool]:
    """Row, key and value of each record as it is read, and whether they come from a table."""
    with opened(content) as file:
        if file.read(len(ZIP)) == ZIP:
            return _of_table(_sheet_rows(content, problems)), True
        _check_text(file)
    start = _first_sign(_text(content))
    if start == "[":
        return _listed(_values(content), problems), False
    if start != "{":
        return _of_table(rows_of_text(_text(content, newline=""), problems)), True
    if _is_lines(_text(content)):
        return _listed(_lines(_text(content)), problems), False
    return _members(content, problems), False


def _first_sign(text: TextIO) -> str:
    while part := text.read(PART):
        if found := part.lstrip(SPACE)[:1]:
            return found
    return ""


def _of_table(rows: Iterator[Row]) -> Iterator[Entry]:
    return ((row, "", cells) for row, cells in rows)


def _sheet_rows(content: bytes | Path, problems: list[PredictionProblem]) -> Iterator[Row]:
    with opened(content) as file:
        try:
            yield from named_rows(lines_of_sheet(file.read()), problems)
        except BankRefused as error:
            raise unreadable(str(error)) from None


def _values(content: bytes | Path) -> Iterator[tuple[int, Any]]:
    return enumerate(values_of_list(_text(content).read()), start=1)


def _text(content: bytes | Path, newline: str = "\n") -> TextIO:
    return io.TextIOWrapper(opened(content), "utf-8-sig", newline=newline)


def _check_text(file: BinaryIO) -> None:
    """Refused for what is not UTF-8 text, wherever in the file it is."""
    file.seek(0)
    decoder, at = codecs.getincrementaldecoder("utf-8")(), 0  # at: where what it has to decode begins
    for part in itertools.chain(iter(lambda: file.read(PART), b""), [b""]):
        n_before = len(decoder.getstate()[0])
        try:
            text = decoder.decode(part, final=not part)
        except UnicodeDecodeError as error:
            place = at - n_before + error.start
            raise unreadable(f"The file is not UTF-8 text near byte {place}. Save it as UTF-8.") from None
        if "\0" in text:
            raise unreadable(_("The file holds zero bytes; it is not text."))
        at += len(part)


def _is_lines(text: TextIO) -> bool:
    """Whether each line is an object of its own: the first line is one, and more follow or it is a record itself."""
    while not (first := text.readline(LONGEST_FIRST_LINE)).strip(SPACE):
        pass
    if len(first) == LONGEST_FIRST_LINE:
        return False
    first = first.lstrip(SPACE)
    has_more = any(line.strip(SPACE) for line in text)
    try:
        value, end = StrictReader().value(first)
    except json.JSONDecodeError:
        return False
    if isinstance(value, Spoiled):
        return has_more
    if first[end:].strip(SPACE):
        return False
    return has_more or not all(isinstance(one, dict | str) for one in value.values()) or _is_record(value)


def _is_record(value: dict[str, Any]) -> bool:
    return any(name in value for fields in FORMS.values() for name in fields.answer)


def _lines(text: TextIO) -> Iterator[tuple[int, Any]]:
    """Line and value of each line that is not empty; a spoilt one as its Spoiled."""
    reader = StrictReader()
    for number, line in enumerate(text, start=1):
        line = line.strip(SPACE)
        if not line:
            continue
        try:
            value, end = reader.value(line)
        except json.JSONDecodeError as error:
            fault = error.msg[:1].lower() + error.msg[1:]
            value, end = Spoiled(f"This line is not JSON: {fault} (column {error.colno})."), len(line)
        if not isinstance(value, Spoiled) and line[end:].strip(SPACE):
            value = Spoiled("Text follows the record in its line.")
        yield number, value


def _listed(values: Iterable[tuple[int, Any]], problems: list[PredictionProblem]) -> Iterator[Entry]:
    for row, value in values:
        if isinstance(value, Spoiled):
            problems.append(PredictionProblem(row, "", value.sentence))
        else:
            yield row, "", value


def _members(content: bytes | Path, problems: list[PredictionProblem]) -> Iterator[Entry]:
    """The members of one object, id to record; a record that is a text is the answer itself."""
    with opened(content) as file:
        try:
            for row, entry in enumerate(strictjson.ObjectReader(file), start=1):
                problems += [PredictionProblem(row, entry.key[:80], fault.message) for fault in entry.faults]
                if not entry.faults:
                    value = {"model_prediction": entry.value} if isinstance(entry.value, str) else entry.value
                    yield row, entry.key, value
        except BankRefused as error:
            raise unreadable(str(error)) from None
