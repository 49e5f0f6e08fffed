"""A file of predictions in any of its forms, read strictly. Pure."""

from __future__ import annotations

import codecs
import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from annotation.enums import _
from annotation.files.kernels.sent_tables import CSV, HEAD, LIST, OBJECT, TABLES, find_form, read_rows
from annotation.files.kernels.strictjson import (
    FileRefused,
    ListReader,
    ObjectReader,
    entries_of_lines,
    first_line,
    numbered_lines,
)
from annotation.questionbank.kernels.entries import lines_of_questions
from readerstudy.enums import PredictionForm
from readerstudy.predictions.kernels.foreign_logs import UnreadableLog, as_record, inspect_samples, opened
from readerstudy.predictions.kernels.records import (
    FORMS,
    PLACES,
    Entry,
    KeptRecords,
    PredictionProblem,
    PredictionsRefused,
    ReadPredictions,
    about_of,
    find_prediction_form,
    read_record,
    share_problem,
    text_problem,
    unreadable,
    without_hidden,
)

MOST_BYTES = 256 * 1024 * 1024
MOST_RECORD_CHARS = 4_000_000  # as many as a line may have
MOST_ROWS = 1_000_000
NAMED_WITHIN = 1 << 16  # bytes of a file, in which its first record names its model
LINES, ZIP = "lines", b"PK\x03\x04"
MODEL_FIELDS, LONGEST_MODEL = ("model", "model_name"), 200


def read_predictions(
    content: bytes | Path, form: PredictionForm | None = None, duplicates: str = ""
) -> ReadPredictions:
    """The records of the file and what is wrong with the others. ``form``: None finds it by the fields.
    ``duplicates``: which of several replies in one record counts.

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
        found = read_record(form, *entry, duplicates)
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
    if not is_whole and text.lstrip("\ufeff \t\r\n")[:1] not in ("[", "{"):
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
        return find_prediction_form(entries, is_table=is_table)
    answers = FORMS[form].answer
    if not any(isinstance(value, dict) and any(name in value for name in answers) for _row, _key, value in entries):
        names = ", ".join(answers)
        raise unreadable(f"No record has an answer where the form {form.value!r} keeps it: {names}.")
    return form


def _check_counting(form: PredictionForm, entry: Entry) -> None:
    """Refused for an index from 0, wherever in the file it is: it would name the neighbour of each question."""
    _row, key, value = entry
    if key or form == PredictionForm.COUNTED or not isinstance(value, dict):
        return
    about = about_of(form, value)
    name = next((name for name in FORMS[form].id if about.get(name) is not None), "")
    if name in PLACES and str(about[name]).strip() in ("0", "0.0"):
        raise unreadable(
            _(
                "The column “index” counts from 0, the questions of a bank from 1: give each row its question’s id, or "
                "choose the form “counted” where the questions of a bank (not of a leaderboard) stand in that order."
            )
        )


def _entries(content: bytes | Path, problems: list[PredictionProblem]) -> tuple[Iterator[Entry], bool]:
    """Row, key and value of each record as it is read, and whether they come from a table."""
    with _refusing():
        samples = inspect_samples(content)
    if samples is not None:
        return _in_our_form((row, "", value) for row, value in enumerate(samples, start=1)), False
    with opened(content) as file, _refusing():
        form = find_form(file)
        if form in (CSV, LIST, OBJECT) and b"\0" in file.read(HEAD):
            raise unreadable(_("The file holds zero bytes; it is not text."))
        file.seek(0)
        is_lines = form == OBJECT and _is_lines(file)
    if form in TABLES:
        return _of_table(content, form, problems), True
    return _in_our_form(_of_json(content, LINES if is_lines else form, problems)), False


def _in_our_form(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Without those to which a server gave no answer: their questions are missing."""
    with _refusing():
        for row, key, value in entries:
            record = as_record(value)
            if record is not None:
                yield row, key, record


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (FileRefused, UnreadableLog) as refusal:
        raise unreadable(str(refusal)) from None


def _of_table(content: bytes | Path, form: str, problems: list[PredictionProblem]) -> Iterator[Entry]:
    with opened(content) as file, _refusing():
        for row, cells, fault in read_rows(lines_of_questions(file, form), name_of=str.lower):
            if fault:
                problems.append(PredictionProblem(row, next(iter(cells.values())).strip()[:80], fault))
            else:
                yield row, "", cells


def _of_json(content: bytes | Path, form: str, problems: list[PredictionProblem]) -> Iterator[Entry]:
    """Of one object, id to record, of a list or of lines; a member of an object that is a text is the answer itself."""
    with opened(content) as file, _refusing():
        reader = ListReader if form == LIST else ObjectReader
        whole = enumerate(reader(file, max_entry_chars=MOST_RECORD_CHARS), start=1)
        for row, entry in entries_of_lines(file) if form == LINES else whole:
            problems += [PredictionProblem(row, entry.key[:80], fault.message) for fault in entry.faults]
            if not entry.faults:
                is_answer = form == OBJECT and isinstance(entry.value, str)
                yield row, entry.key, {"model_prediction": entry.value} if is_answer else entry.value


def _is_lines(file: BinaryIO) -> bool:
    """Whether each line is an object of its own: the first line is one, and more follow or it is a record itself."""
    first = first_line(file)
    if first is None:
        return False
    has_more = next(numbered_lines(file), None) is not None
    if has_more or not isinstance(first.value, dict):
        return has_more
    return not all(isinstance(one, dict | str) for one in first.value.values()) or _is_record(first.value)


def _is_record(value: dict[str, Any]) -> bool:
    return any(name in value for fields in FORMS.values() for name in fields.answer)
