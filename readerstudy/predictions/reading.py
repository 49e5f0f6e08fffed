"""A file of predictions in any of its forms, read strictly. Pure."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from annotation.questionbank import strictjson
from readerstudy.enums import PredictionForm
from readerstudy.predictions.forms import COUNTED, FORMS, Entry, find_form, read_record
from readerstudy.predictions.records import FileUnreadable, Problem, ReadFile, Record, _
from readerstudy.predictions.sheets import lines_of_sheet
from readerstudy.predictions.strict import SPACE, Spoiled, StrictReader, values_of_list
from readerstudy.predictions.tables import named_rows, rows_of_text

MOST_BYTES = 256 * 1024 * 1024
MOST_ROWS = 1_000_000
ZIP = b"PK\x03\x04"


def read_predictions(content: bytes, form: PredictionForm | None = None) -> ReadFile:
    """The records of the file and what is wrong with the others. ``form``: None finds it by the fields.

    Raises FileUnreadable where the file as a whole cannot be read.
    """
    if len(content) > MOST_BYTES:
        raise FileUnreadable(_("The file is too large. Split it."))
    problems: list[Problem] = []  # of records that could not be read at all
    entries, is_table = _entries(content, problems)
    n_read = len(entries) + len({problem.row for problem in problems})
    if not n_read:
        raise FileUnreadable(_("The file holds no record."))
    if n_read > MOST_ROWS:
        raise FileUnreadable(_("The file holds more records than are taken. Split it."))
    if form is None:
        form = find_form(entries, is_table=is_table) if entries else PredictionForm.TABLE
    elif entries and not any(_has_answer(form, value) for _row, _key, value in entries):
        names = ", ".join(FORMS[form].answer)
        raise FileUnreadable(f"No record has an answer where the form {form.value!r} keeps it: {names}.")
    _check_counting(form, entries)
    found = [read_record(form, *entry) for entry in entries]
    problems += [one for one in found if isinstance(one, Problem)]
    records = tuple(one for one in found if isinstance(one, Record))
    return ReadFile(form.value, records, tuple(sorted(problems)), n_read)


def _has_answer(form: PredictionForm, value: Any) -> bool:
    return isinstance(value, dict) and any(name in value for name in FORMS[form].answer)


def _check_counting(form: PredictionForm, entries: list[Entry]) -> None:
    """An index from 0 would name the neighbour of each question. Raises FileUnreadable."""
    names = FORMS[form].id
    for _row, key, value in entries:
        if key or not isinstance(value, dict):
            return
        name = next((name for name in names if value.get(name) is not None), "")
        if name == COUNTED and str(value[name]).strip() == "0":
            raise FileUnreadable(
                _("The column “index” counts from 0, the questions of a bank from 1: give each row its question’s id.")
            )


def _entries(content: bytes, problems: list[Problem]) -> tuple[list[Entry], bool]:
    """Row, key and value of each record, and whether they come from a table."""
    if content.startswith(ZIP):
        return [(row, "", cells) for row, cells in named_rows(lines_of_sheet(content), problems)], True
    text = _decoded(content)
    start = text.lstrip(SPACE)[:1]
    if start == "[":
        return _listed(enumerate(values_of_list(text), start=1), problems), False
    if start != "{":
        return [(row, "", cells) for row, cells in rows_of_text(text, problems)], True
    if _is_lines(text):
        return _listed(_lines(text), problems), False
    return _members(content, problems), False


def _decoded(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileUnreadable(f"The file is not UTF-8 text near byte {error.start}. Save it as UTF-8.") from None
    if "\0" in text:
        raise FileUnreadable(_("The file holds zero bytes; it is not text."))
    return text


def _is_lines(text: str) -> bool:
    """Whether each line is an object of its own: the first line is one, and more follow or it is a record itself."""
    first, _break, rest = text.lstrip(SPACE).partition("\n")
    try:
        value, end = StrictReader().value(first)
    except json.JSONDecodeError:
        return False
    except Spoiled:
        return bool(rest.strip(SPACE))
    if first[end:].strip(SPACE):
        return False
    return (
        bool(rest.strip(SPACE)) or not all(isinstance(one, dict | str) for one in value.values()) or _is_record(value)
    )


def _is_record(value: dict[str, Any]) -> bool:
    return any(name in value for fields in FORMS.values() for name in fields.answer)


def _lines(text: str) -> Iterator[tuple[int, Any]]:
    """Line and value of each line that is not empty; a spoilt one as its Spoiled."""
    reader = StrictReader()
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip(SPACE)
        if not line:
            continue
        try:
            value, end = reader.value(line)
        except Spoiled as spoiled:
            yield number, spoiled
            continue
        except json.JSONDecodeError as error:
            said = error.msg[:1].lower() + error.msg[1:]
            yield number, Spoiled(f"This line is not JSON: {said} (column {error.colno}).")
            continue
        yield number, Spoiled("Text follows the record in its line.") if line[end:].strip(SPACE) else value


def _listed(values: Iterator[tuple[int, Any]] | Any, problems: list[Problem]) -> list[Entry]:
    entries = []
    for row, value in values:
        if isinstance(value, Spoiled):
            problems.append(Problem(row, "", str(value)))
        else:
            entries.append((row, "", value))
    return entries


def _members(content: bytes, problems: list[Problem]) -> list[Entry]:
    """The members of one object, id to record; a record that is a text is the answer itself."""
    entries: list[Entry] = []
    try:
        for row, entry in enumerate(strictjson.ObjectReader(io.BytesIO(content)), start=1):
            problems += [Problem(row, entry.key[:80], fault.message) for fault in entry.faults]
            if not entry.faults:
                value = {"model_prediction": entry.value} if isinstance(entry.value, str) else entry.value
                entries.append((row, entry.key, value))
    except strictjson.FileUnreadable as error:
        raise FileUnreadable(str(error)) from None
    return entries
