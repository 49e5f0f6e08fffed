"""The short way for a record as most are: every field there, in its usual form, nothing to refuse.

The text of a record is parsed, checked for its types and brought into fields in one pass of :mod:`msgspec`. What the
records of an exam repeat stays unparsed and is only compared with what the record before said. A record that is
unusual in any way is left to the strict parser and the careful reading of the module ``rexvqa`` beside this one; where
this one gives a record, the careful one gives the same.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from annotation.enums import Difficulty, Task
from annotation.questionbank.kernels.checking import FieldCheck
from annotation.questionbank.kernels.examfields import EXAM_FIELDS, ExamReader
from annotation.questionbank.kernels.records import (
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    ExamRecord,
    QuestionRecord,
    RecordRules,
)
from annotation.questionbank.kernels.strictjson import MAX_KEY_CHARS

USUAL_TASK_NAMES = {
    "Presence Assessment": Task.PRESENCE,
    "Negation Assessment": Task.NEGATION,
    "Differential Diagnosis": Task.DIFFERENTIAL,
    "Location and Distribution Assessment": Task.LOCATION,
    "Geometric Information Assessment": Task.GEOMETRIC,
}
MAX_REMEMBERED = 500
MAX_FURTHER = 50  # names of fields that no column holds

_QUESTION_FIELDS: list[tuple[str, Any]] = [
    ("question", str),
    ("options", tuple[str, str, str, str]),
    ("correct_answer", Literal["A", "B", "C", "D"]),
    ("correct_answer_explanation", str),
    ("task_name", str),
    ("category", str),
    ("subcategory", str),
    ("class_", str),
]
_QUOTES = 2 * (len(_QUESTION_FIELDS) + 11)  # around the names of these fields and their 11 texts
_EXAM_STARTS = len(_QUESTION_FIELDS) + 1
_FURTHER_STARTS = _EXAM_STARTS + len(EXAM_FIELDS)


class PlainReader:
    """Reads the texts of records in their order. ``exams`` reads the exam's part where it is another than before."""

    def __init__(self, rules: RecordRules, exams: ExamReader) -> None:
        self._rules = rules
        self._exams = exams
        self._names: list[str] = []
        self._decode = _decoder(self._names)
        self._exam_said: tuple[Raw, ...] = ()
        self._exam: tuple[ExamRecord, int] | None = None
        self._further: dict[tuple[bytes, ...], tuple[str, int]] = {}

    def learn(self, names: list[str]) -> None:
        """Take these further fields for usual from now on."""
        self._names = sorted({*self._names, *filter(str.isidentifier, names)})[:MAX_FURTHER]
        self._decode = _decoder(self._names)
        self._further.clear()

    def read(self, key: str, text: str) -> QuestionRecord | None:
        """The record in this JSON text, or None when something about it is unusual."""
        try:
            said = msgspec.structs.astuple(self._decode(text))
            exam = self._exam if said[_EXAM_STARTS:_FURTHER_STARTS] == self._exam_said else self._read_exam(said, text)
            further = self._read_further(said[_FURTHER_STARTS:], text)
        except (ValueError, RecursionError):
            return None
        if exam is None or further is None:
            return None
        given = said[_EXAM_STARTS - 1]
        n_quotes = _QUOTES + exam[1] + further[1] + (0 if given is UNSET else 2 if given is None else 4)
        if n_quotes != _quotes_in(text):  # a name stands there twice
            return None
        return self._record(key, said[: _EXAM_STARTS - 1], given or "", exam[0], further[0])

    def _read_exam(self, said: tuple[Any, ...], text: str) -> tuple[ExamRecord, int] | None:
        exam = self._exams.read(msgspec.json.decode(text))[0]
        if exam is None:
            return None
        self._exam_said = said[_EXAM_STARTS:_FURTHER_STARTS]
        self._exam = exam, _quotes_of_members(self._exam_said)
        return self._exam

    def _read_further(self, said: tuple[Any, ...], text: str) -> tuple[str, int] | None:
        """JSON text of the further fields, and how many quotes the record has for them."""
        told = tuple(map(bytes, said))
        found = self._further.get(told)
        if found is None:
            value = msgspec.json.decode(text)
            check = FieldCheck()
            members = check.further_fields({name: value[name] for name in self._names if name in value})
            if check.problems:
                return None
            found = members, _quotes_of_members(said)
            if len(self._further) < MAX_REMEMBERED:
                self._further[told] = found
        return found

    def _record(
        self, key: str, said: tuple[Any, ...], difficulty: str, exam: ExamRecord, further: str
    ) -> QuestionRecord | None:
        stem, (a, b, c, d), answer, explanation, task_name, category, subcategory, question_class = said
        task = USUAL_TASK_NAMES.get(task_name)
        if task is None or not (a[:3] == "A. " and b[:3] == "B. " and c[:3] == "C. " and d[:3] == "D. "):
            return None
        texts = [a[3:], b[3:], c[3:], d[3:]]
        extra = f'{{"exam":{exam.extra},"fields":{further},"form":{{}}}}'
        names = (task, category, subcategory, question_class)
        content = "\0".join((exam.content_sha256, stem, *texts, answer, explanation, *names, extra))
        if (
            len(content) > MAX_TEXT_CHARS
            or not 0 < len(key) <= MAX_KEY_CHARS
            or max(len(category), len(subcategory), len(question_class)) > MAX_NAME_CHARS
            or len(explanation.strip()) < max(self._rules.min_explanation, 1)
            or not stem
            or stem.isspace()
            or not _are_tidy_and_distinct("\n".join(texts).casefold())
        ):
            return None
        level = Difficulty(difficulty) if difficulty else Difficulty.UNKNOWN
        if self._rules.difficulties:
            level = self._rules.difficulties.get(key, level)
        digest = hashlib.sha256(content.encode()).hexdigest()
        return QuestionRecord(key, stem, texts, answer, explanation, *names, level, exam, extra, digest)


def _decoder(further: list[str]) -> Any:
    """Takes the JSON text of a record with at most these fields; raises ValueError for any other."""
    levels = Literal[Difficulty.EASY.value, Difficulty.MEDIUM.value, Difficulty.HARD.value, "", None]  # type: ignore[name-defined]
    fields: list[Any] = [
        *_QUESTION_FIELDS,
        ("difficulty", levels | UnsetType, UNSET),
        *[(name, Raw, Raw()) for name in EXAM_FIELDS],
        *[(f"further_{place}", Raw, Raw()) for place in range(len(further))],
    ]
    renamed = {"class_": "class", **{f"further_{place}": name for place, name in enumerate(further)}}
    record = msgspec.defstruct("Record", fields, rename=renamed, forbid_unknown_fields=True, kw_only=True, gc=False)
    return msgspec.json.Decoder(record).decode


def _quotes_in(text: str) -> int:
    """How many double quotes begin or end a text; -1 for what escapes make hard to tell, or a NUL."""
    if "\\" not in text:
        return text.count('"')
    return -1 if "\\\\" in text or "\\u0000" in text else text.count('"') - text.count('\\"')


def _quotes_of_members(said: tuple[Raw, ...]) -> int:
    """The quotes of the names and values of these fields; none for a field that is not there."""
    values = list(map(bytes, said))
    joined = b"".join(values)
    return 2 * (len(values) - values.count(b"")) + joined.count(b'"') - joined.count(b'\\"')


def _are_tidy_and_distinct(joined: str) -> bool:
    """Whether four texts, one per line, differ, and hold no white space but single spaces between words."""
    lines = joined.split("\n")
    return len(lines) == 4 and len(set(lines)) == 4 and " ".join(joined.split()) == joined.replace("\n", " ")
