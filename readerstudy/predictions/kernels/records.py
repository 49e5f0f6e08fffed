"""What a file of predictions holds: one record per answer, in any of the forms, and what is wrong; and the records
beside the questions that they are about. Pure.

Ground truth that a record may carry (``correct_answer``, ``gt_answer``, ``target``, ``correct``, ...) is never read.
"""

from __future__ import annotations

import json
import re
import tempfile
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import msgspec
from msgspec import field

from annotation.enums import _
from annotation.model_calls.kernels.extraction import LETTERS, extract, names_two
from annotation.questionbank.kernels.fields import FieldRefused, split_options
from annotation.refusals import Refused
from readerstudy.enums import PredictionForm
from readerstudy.predictions.kernels.foreign_logs import NOT_WHOLE, likeliest, options_in

LONGEST_ID = 255
HIDDEN = ("Cc", "Cf", "Zl", "Zp")  # categories of Unicode: control, formatting such as U+202E, and ends of lines
IN_MEMORY = 8 * 1024 * 1024  # bytes of the records of one file


class Record(NamedTuple):
    """One answer. ``row`` is the line of a table or of JSON lines, else the place of the record, from 1."""

    row: int
    id: str
    raw: str  # the answer as it is in the file
    explanation: str = ""  # of the model
    options: tuple[str, ...] = ()  # as the record lists them, in the order that the model saw; empty where it does not
    confidence: float | None = None  # stated chance of being right, percent
    is_whole: bool = True  # False: refused, or cut at the token limit; no option is taken from it


class PredictionProblem(NamedTuple):
    """Why the file is refused: the row (0: the whole file), the id where there is one, a sentence."""

    row: int
    id: str
    message: str


class PredictionsRefused(Refused):
    """Something cannot be done with a model or its predictions, or a file of them cannot be read."""


def unreadable(sentence: str) -> PredictionsRefused:
    """The file as a whole cannot be read; the sentence says where and why."""
    return PredictionsRefused("unreadable", sentence, status=422)


class KeptRecords:
    """Records in the order of the file: a large file is not kept in memory, but on the disk."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - lives as long as its records
        self._starts = array("Q", [0])

    def add(self, record: Record) -> None:
        """Only before anything is read."""
        self._starts.append(self._starts[-1] + self._file.write(msgspec.msgpack.encode(record)))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, place: int) -> Record:
        start, end = self._starts[place], self._starts[place + 1]
        self._file.seek(start)
        return msgspec.msgpack.decode(self._file.read(end - start), type=Record)

    def __iter__(self) -> Iterator[Record]:
        return (self[place] for place in range(len(self)))


class ReadPredictions(msgspec.Struct, frozen=True):
    form: str  # readerstudy.enums.PredictionForm
    records: KeptRecords
    problems: tuple[PredictionProblem, ...]
    n_read: int  # records, those with a problem included


def text_problem(text: str) -> str:
    """Why no database takes this text; empty where it does."""
    if "\0" in text:
        return _("The text holds a NUL character.")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return _("The text holds half a surrogate pair, which is no character.")
    return ""


def without_hidden(name: str) -> str:
    """One line without characters that are not shown: white space in one piece, no control or formatting character."""
    spaced = " ".join(name.split())
    return " ".join("".join(one for one in spaced if unicodedata.category(one) not in HIDDEN).split())


# --- the forms: where each keeps id, answer and explanation ---------------------------------------
Entry = tuple[int, str, Any]  # row, key ("" where the form has none), value


OF_MODEL = ("model_explanation", "explanation")


class Fields(msgspec.Struct, frozen=True):
    """Names of fields, the first that is there counts."""

    answer: tuple[str, ...]
    id: tuple[str, ...]
    explanation: tuple[str, ...] = OF_MODEL


FORMS: dict[PredictionForm, Fields] = {
    PredictionForm.HARNESS: Fields(("resps", "filtered_resps"), ("case_id", "id", "question_id", "index")),
    PredictionForm.AGENT: Fields(("model_answer",), ("data_point_id", "case_id", "id")),
    PredictionForm.DIRECT: Fields(("pred_answer",), ("id", "case_id")),
    PredictionForm.RESULTS: Fields(("model_response",), ("case_id", "id")),  # question_id is not unique there
    # its records are those of the question file: what they call explanation would be that of the key
    PredictionForm.SUBMISSION: Fields(
        ("model_prediction", "prediction"), ("case_id", "id", "question_id"), ("model_explanation",)
    ),
    PredictionForm.TABLE: Fields(
        ("prediction", "model_prediction", "pred_answer", "model_response", "model_answer", "response"),
        ("case_id", "id", "question_id", "index"),
    ),
}
FORMS[PredictionForm.COUNTED] = Fields(
    (*FORMS[PredictionForm.HARNESS].answer, *FORMS[PredictionForm.TABLE].answer), ("doc_id", "index")
)
CONFIDENCE = "confidence"  # in every form, beside the answer or in it
PLACES = ("index", "doc_id")  # may count from 0, while questions count from 1
FIRST, LAST, VOTED = "first", "last", "voted"  # which of several answers to one question counts
_whole_number = re.compile(r"(\d+)\.0+")  # as spreadsheets and data frames write an id that was read as a number


def find_prediction_form(entries: Iterable[Entry], *, is_table: bool) -> PredictionForm:
    """By the fields of the records. Refused where none has an answer in a known field."""
    of_json = [form for form in FORMS if form not in (PredictionForm.TABLE, PredictionForm.COUNTED)]
    asked = [PredictionForm.TABLE] if is_table else of_json
    has_failed: bool | None = None
    for _row, _key, value in entries:
        if not isinstance(value, Mapping):
            continue
        for form in asked:
            if any(name in value for name in FORMS[form].answer):
                return form
        has_failed = "error" in value and has_failed is not False
    if has_failed:
        return PredictionForm.RESULTS  # a run that failed as a whole
    known = ", ".join(dict.fromkeys(name for form in asked for name in FORMS[form].answer))
    raise unreadable(f"No record has its answer in a field that is known: {known}.")


NO_PLACE = "The record has no whole number, counted from 0, in doc_id or index."
COUNTS = (
    "The record names its question by doc_id alone, which counts from 0: give it the id of its question. Where the "
    "questions of a bank (not of a leaderboard) stand in that order, choose the form “counted”."
)


def about_of(form: PredictionForm, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a record that names its question."""
    about = value.get("doc", value) if form == PredictionForm.HARNESS else value
    return about if isinstance(about, Mapping) else {}


def read_record(
    form: PredictionForm, row: int, key: str, value: Any, duplicates: str = ""
) -> Record | PredictionProblem:
    """One record of that form. ``duplicates``: which of several replies in it counts."""
    if not isinstance(value, Mapping):
        return PredictionProblem(row, key[:LONGEST_ID], "The record is not an object with named fields.")
    fields = FORMS[form]
    about = about_of(form, value)
    name = _id(about, fields, key)
    if isinstance(name, PredictionProblem):
        return name._replace(row=row)
    raw, explanation = _first(value, fields.answer), _first(value, fields.explanation)
    if isinstance(raw, list):
        found = likeliest(value)
        if isinstance(found, tuple):
            raw, explanation = found
        else:
            raw = PredictionProblem(row, name, found) if found else _reply(row, name, value, duplicates)
        if isinstance(raw, PredictionProblem):
            return raw
    stated = value.get(CONFIDENCE)
    if isinstance(raw, Mapping):  # {"answer": "B", "explanation": "...", "confidence": 80}
        explanation = explanation or _first(raw, OF_MODEL)
        stated = raw.get(CONFIDENCE) if stated is None else stated
        inner = _first(raw, ("answer", "option", *fields.answer))
        raw = raw if inner is None else inner
    confidence = None if stated is None else _percent(stated)
    if isinstance(confidence, str):
        return PredictionProblem(row, name, confidence)
    options, is_whole = options_in(about) or options_in(value), NOT_WHOLE not in value
    record = Record(row, name, _text(raw), _text(explanation), options, confidence, is_whole)
    wrong = text_problem(record.id) or text_problem(record.raw) or text_problem(record.explanation)
    return PredictionProblem(row, name if not text_problem(name) else "", wrong) if wrong else record


def _id(about: Mapping[str, Any], fields: Fields, key: str) -> str | PredictionProblem:
    found = key or _text(_first(about, fields.id)).strip()
    if is_number := _whole_number.fullmatch(found):
        found = is_number[1]
    if fields is FORMS[PredictionForm.COUNTED]:
        return str(int(found) + 1) if found.isdecimal() else PredictionProblem(0, found[:80], NO_PLACE)
    if not found and about.get("doc_id") is not None:
        return PredictionProblem(0, "", COUNTS)
    if not found:
        return PredictionProblem(0, "", f"The record has no id; looked for: {', '.join(fields.id)}.")
    if len(found) > LONGEST_ID:
        return PredictionProblem(0, found[:80], f"The id has more than {LONGEST_ID} characters.")
    return found


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if (found := value.get(name)) is not None:
            return found
    return None


def _reply(row: int, name: str, value: Mapping[str, Any], duplicates: str) -> Any:
    """The text of ``[[text]]`` or ``[text]``. Of several that differ a person says which counts: the first, the last,
    or the one that a filter of the harness chose, such as ``maj@3``.
    """
    replies = _texts(value.get("resps"))
    chosen = _texts(value.get("filtered_resps")) or replies
    if not replies or duplicates == VOTED:
        return chosen[0] if chosen else None
    if len(set(replies)) > 1 and duplicates not in (FIRST, LAST):
        sentence = (
            f"The record has {len(replies)} replies, of which the filter {value.get('filter') or 'none'} chose "
            f"{chosen[0][:40]!r}. Say which counts: the first, the last, or the one that was voted."
        )
        return PredictionProblem(row, name, sentence)
    return replies[-1 if duplicates == LAST else 0]


def _texts(value: Any) -> list[str]:
    """Of a list of texts, of a list of such lists, or of one text."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    listed = value if isinstance(value, list) else [] if value is None else [value]
    return [_text(one) for one in listed]


def _percent(stated: Any) -> float | str | None:
    """A stated chance of being right, None for an empty cell; or why it is none."""
    text = stated.strip() if isinstance(stated, str) else _text(stated)
    if not text:
        return None
    try:
        percent = float(text.removesuffix("%")) if not isinstance(stated, bool) else nan
    except ValueError:
        percent = nan
    if 0 <= percent <= 100:
        return percent
    sentence = (
        "The confidence is %(text)r. It is the chance of being right in percent: a number from 0 to 100, or nothing."
    )
    return sentence % {"text": text[:40]}


def share_problem(records: Iterable[Record]) -> PredictionProblem | None:
    """Chances that are all 1 or less are shares, and read as percent they would be something else."""
    first, most = None, 0.0
    for one in records:
        if one.confidence is not None:
            first, most = first or one, max(most, one.confidence)
    if first is None or not 0 < most <= 1:
        return None
    sentence = "No confidence of the file is above 1. They are read as percent: write 85 for 0.85, and 100 for 1."
    return PredictionProblem(first.row, first.id, sentence)


def _text(value: Any) -> str:
    """The value as it is, with nothing taken away."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- The records of a file beside the questions that they are about. Pure -------------------------
class KnownQuestion(NamedTuple):
    """A question of the bank or of the study, in the wording for which predictions are stored."""

    revision_id: int
    number: int  # in the bank
    options: Sequence[str]


class Answer(NamedTuple):
    record: Record  # without its words, which a file may have too many of, unless no option could be taken
    question: KnownQuestion
    option: str  # canonical; "" where none could be taken
    place: int  # of the whole record in the file


class Matching(msgspec.Struct):
    """What a file says of a set of questions."""

    answers: list[Answer] = field(default_factory=list)  # one for each question that the file answers
    missing: list[int] = field(default_factory=list)  # numbers of the questions that it leaves out
    unknown: list[str] = field(default_factory=list)  # ids that name no question
    duplicate: list[str] = field(default_factory=list)  # ids of questions that come more than once
    other_order: list[str] = field(default_factory=list)  # ids of records whose options stand in another order
    two_answers: list[str] = field(default_factory=list)  # ids of records whose answer names two options
    problems: list[PredictionProblem] = field(default_factory=list)

    @property
    def failed(self) -> list[Answer]:
        return [answer for answer in self.answers if not answer.option]


def match(records: Iterable[Record], known: Mapping[str, KnownQuestion], *, duplicates: str = "") -> Matching:
    """Which option each question is given. ``known``: by every id that the records use; others name no question.

    The same answer twice, with the same confidence, counts once. Of different ones the first or the last counts where
    ``duplicates`` says so; otherwise each is a problem.
    """
    found = Matching()
    chosen: dict[int, Answer] = {}
    unknown: dict[str, None] = {}
    duplicate: dict[str, None] = {}
    for place, record in enumerate(records):
        question = known.get(record.id)
        if question is None:
            unknown[record.id] = None
            continue
        answer = _answer(place, record, question, found)
        before = chosen.setdefault(question.revision_id, answer)
        if before is answer:
            continue
        duplicate[record.id] = None
        if duplicates == LAST:
            chosen[question.revision_id] = answer
        elif duplicates != FIRST and _content_of(answer) != _content_of(before):
            found.problems.append(_conflict(before, answer))
    found.answers = list(chosen.values())
    found.unknown, found.duplicate = list(unknown), list(duplicate)
    return found


def _answer(place: int, record: Record, question: KnownQuestion, found: Matching) -> Answer:
    option = _option(record, question.options, found)
    kept = Record(record.row, record.id, "" if option else record.raw, confidence=record.confidence)
    return Answer(kept, question, option, place)


def _content_of(answer: Answer) -> tuple[str, float | None]:
    return answer.option, answer.record.confidence


def _conflict(before: Answer, answer: Answer) -> PredictionProblem:
    first, this = (
        f"{option or 'no option'}" + ("" if percent is None else f", confidence {percent:g}")
        for option, percent in (_content_of(before), _content_of(answer))
    )
    sentence = (
        f"Row {before.record.row} answers this question with {first}, this row with {this}. Say which counts: the "
        "first or the last."
    )
    return PredictionProblem(answer.record.row, answer.record.id, sentence)


def _option(record: Record, options: Sequence[str], found: Matching) -> str:
    """The canonical option of a record. Its letter is of the options as the record lists them, where it does.

    What was refused or cut at the token limit names none, whatever letters stand in it.
    """
    if not record.is_whole:
        return ""
    listed = _listed(record.options, options) or options
    own, theirs = [_alike(one) for one in options], [_alike(one) for one in listed]
    if sorted(own) != sorted(theirs):
        sentence = (
            "Its options are not those of the question: the model was asked something else. Options of the bank: "
        )
        found.problems.append(PredictionProblem(record.row, record.id, sentence + "; ".join(options)))
        return ""
    if is_other_order := own != theirs:
        found.other_order.append(record.id)
    letter = extract(record.raw, listed)
    if not letter and names_two(record.raw, listed):
        found.two_answers.append(record.id)
    if not letter or not is_other_order:
        return letter
    text = listed[LETTERS.index(letter)]
    return LETTERS[list(options).index(text) if text in options else own.index(_alike(text))]


def _alike(text: str) -> str:
    """Without case and with single spaces: how a text is written is no other wording."""
    return " ".join(text.casefold().split())


def _listed(listed: Sequence[str], options: Sequence[str]) -> Sequence[str] | None:
    """The texts of the options that a record lists, without letters; None where it lists none."""
    if not listed:
        return None
    if list(listed) == [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)]:
        return options  # as in nearly every file
    try:
        return split_options(list(listed))[0] if len(listed) == len(LETTERS) else listed
    except FieldRefused:
        return listed
