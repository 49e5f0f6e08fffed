"""Records of the ReXVQA form, checked and brought into one shape.

The four structural checks of the paper have the codes ``schema`` (a field is missing), ``data_type``, ``format``
and ``completeness`` (a field is there and empty). The rest have codes of their own: ``unknown_task``,
``duplicate_options``, ``key_outside_options``, ``path_outside_root``, ``too_long``, ``too_deep`` and those of
:mod:`annotation.questionbank.kernels.strictjson`. Every field with a problem is reported, not the first alone.

The private-test form of the leaderboard (``image_path``, ``section_findings`` and so on) is the same record under
other names. Its split is published without answers: there, and only there, key and explanation may be missing.
``model_prediction`` is an answer of a model, no part of a question; it is left out.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from annotation.enums import Difficulty, Task
from annotation.questionbank.kernels import fields as reading
from annotation.questionbank.kernels.checking import FieldCheck, encode_json
from annotation.questionbank.kernels.examfields import EXAM_FIELDS, ExamReader
from annotation.questionbank.kernels.plain import MAX_FURTHER, USUAL_TASK_NAMES, PlainReader
from annotation.questionbank.kernels.records import (
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    QuestionRecord,
    RecordProblem,
    RecordRules,
    kind_of,
)
from annotation.questionbank.kernels.strictjson import MAX_KEY_CHARS, Entry, Fault

PRIVATE_NAMES = {
    "image_path": "ImagePath",
    "image_path_list": "ImagePath",
    "section_findings": "Findings",
    "section_impression": "Impression",
    "frontal_lateral": "ImageViewPosition",
    "context": "Indication",
}
_LEFT_OUT = "model_prediction"
_other_names = frozenset(PRIVATE_NAMES) | {_LEFT_OUT}

ANSWER_FIELDS = ("correct_answer", "correct_answer_explanation")
REQUIRED_FIELDS = ("question", "options", "task_name", "category", *ANSWER_FIELDS)
REQUIRED_IN_PRIVATE = ("question", "options", "task_name")
_required = frozenset(REQUIRED_FIELDS)
_read_here = frozenset({*REQUIRED_FIELDS, *EXAM_FIELDS, "subcategory", "class", "difficulty"})
_usual_letters = frozenset(reading.LETTERS)
_untidy = re.compile(r"\s\s|\A\s|\s\Z|[^\S \n]").search  # white space that makes equal texts look different


class RecordReader:
    """Reads the entries of one file, in their order. The only state is the exam of the record before."""

    def __init__(self, rules: RecordRules) -> None:
        self._rules = rules
        self._exams = ExamReader(rules.folder)
        self._plain = PlainReader(rules, self._exams)
        self._learnt: set[str] = set()  # further fields seen
        self.read_plain = self._plain.read

    def read(self, entry: Entry) -> tuple[QuestionRecord | None, list[RecordProblem]]:
        """The record of one entry, or None and every problem that it has."""
        key, value, faults = entry
        if type(value) is not dict:
            found = kind_of(value)
            fault = Fault("", "schema", f"A question must be an object of fields, in braces, not {found}.")
            return None, [RecordProblem(key, *each) for each in faults or (fault,)]
        check = _QuestionCheck(faults)
        record = check.read(key, value, self._rules, self._exams)
        if check.problems:
            return None, [RecordProblem(key, *each) for each in check.problems]
        self._learn(value)
        return record, []

    def _learn(self, value: dict[str, Any]) -> None:
        """The short way is told of the further fields of a good record: the next ones will have them too."""
        names = value.keys() - _read_here - self._learnt
        if names and len(self._learnt) < MAX_FURTHER and _other_names.isdisjoint(value):
            self._learnt |= names
            self._plain.learn(list(names))


class _QuestionCheck(FieldCheck):
    """One pass over one record."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.problems = list(faults)

    def read(self, key: str, value: dict[str, Any], rules: RecordRules, exams: ExamReader) -> QuestionRecord | None:
        form: dict[str, Any] = {}
        if not _other_names.isdisjoint(value):
            value = _with_usual_names(value, form)
        private = "names" in form
        if not _required <= value.keys():
            self._check_present(value, REQUIRED_IN_PRIVATE if private else REQUIRED_FIELDS)
        if not 0 < len(key) <= MAX_KEY_CHARS:
            self.refuse("", "format", f"The id of a question has 1 to {MAX_KEY_CHARS} characters.")
        exam, exam_problems = exams.read(value)
        if exam_problems:
            for problem in exam_problems:
                self.refuse(*problem)
        get = value.get
        stem = self.required_text("question", get("question"))
        options = self._options(get("options"), form)
        answer = explanation = ""
        if not private or get("correct_answer") not in (None, ""):
            answer = self._answer(get("correct_answer"), form)
            explanation = self._explanation(get("correct_answer_explanation"), rules.min_explanation)
        task = self._task(get("task_name"), form)
        category = self.optional_text("category", get("category"))
        subcategory = self.optional_text("subcategory", get("subcategory"))
        question_class = self.optional_text("class", get("class"))
        difficulty = self._difficulty(key, get("difficulty"), rules)
        extra = self._extra(value, form, exam.extra if exam else "")
        if self.problems or exam is None:
            return None
        names = (task, category, subcategory, question_class)
        content = "\0".join((exam.content_sha256, stem, *options, answer, explanation, *names, extra))
        return QuestionRecord(
            *(key, stem, options, answer, explanation, *names, difficulty, exam, extra),
            hashlib.sha256(content.encode()).hexdigest(),
        )

    def _check_present(self, value: dict[str, Any], names: tuple[str, ...]) -> None:
        for name in names:
            if name not in value:
                self.refuse(name, "schema", f"The field {name!r} is missing.")

    def _options(self, options: object, form: dict[str, Any]) -> list[str]:
        if type(options) is not list:
            code = "completeness" if options is None else "data_type"
            self.refuse("options", code, f"'options' must be a list of four texts, not {kind_of(options)}.")
            return []
        if len(options) != 4:
            self.refuse("options", "format", f"A question has four options; this one has {len(options)}.")
            return []
        for option in options:
            if type(option) is not str:
                self.refuse("options", "data_type", f"Every option must be text, not {kind_of(option)}.")
                return []
        try:
            texts, option_form = reading.split_options(options)
        except reading.OptionsUnclear as error:
            self.refuse("options", "format", f"In 'options', {error}.")
            return []
        if option_form != ". ":
            form["options"] = option_form
        self._check_option_texts(texts)
        return texts

    def _check_option_texts(self, texts: list[str]) -> None:
        joined = "\n".join(texts).casefold()
        lines = joined.split("\n")
        compared = set(lines)
        if not len(compared) == len(lines) == 4 or _untidy(joined):
            compared = {" ".join(text.casefold().split()) for text in texts}
        if "" in compared:
            self.refuse("options", "completeness", "An option is empty.")
        elif len(compared) < 4:
            self.refuse("options", "duplicate_options", "Two options have the same text.")
        elif max(map(len, texts)) > MAX_TEXT_CHARS:
            self.refuse("options", "too_long", f"An option has more than {MAX_TEXT_CHARS:,} characters.")

    def _answer(self, answer: object, form: dict[str, Any]) -> str:
        """The letter, from a letter or from an index that starts at 0."""
        if type(answer) is str:
            if answer in _usual_letters:
                return answer
            letter = answer.strip().rstrip(".)").upper()
            if letter in _usual_letters:
                return letter
            if not letter:
                self.refuse("correct_answer", "completeness", "'correct_answer' is empty.")
        elif type(answer) is int:
            if 0 <= answer <= 3:
                form["key"] = "index"
                return reading.LETTERS[answer]
        else:
            code = "completeness" if answer is None else "data_type"
            wanted = "a letter A to D or a number 0 to 3"
            self.refuse("correct_answer", code, f"'correct_answer' must be {wanted}, not {kind_of(answer)}.")
        shown = repr(answer)[:40]
        self.refuse("correct_answer", "key_outside_options", f"The key {shown} names none of the options A to D.")
        return ""

    def _explanation(self, text: object, shortest: int) -> str:
        name = "correct_answer_explanation"
        explanation = self.required_text(name, text)
        n_characters = len(explanation.strip())
        if explanation and n_characters < shortest:
            sentence = f"The explanation has {n_characters} characters; at least {shortest} are asked for."
            self.refuse(name, "format", sentence)
        return explanation

    def _task(self, name: object, form: dict[str, Any]) -> Task:
        if type(name) is str and name in USUAL_TASK_NAMES:
            return USUAL_TASK_NAMES[name]
        text = self.required_text("task_name", name, MAX_NAME_CHARS)
        task = reading.read_task(text)
        if task is None:
            self.refuse("task_name", "unknown_task", f"The task {text[:60]!r} is not one of the five.")
            return Task.PRESENCE
        form["task_name"] = text
        return task

    def _difficulty(self, key: str, text: object, rules: RecordRules) -> Difficulty:
        """From the side file where it names the question, else from the record; unknown where neither says it."""
        difficulty = reading.read_difficulty(self.optional_text("difficulty", text)) if text else Difficulty.UNKNOWN
        if difficulty is None:
            self.refuse("difficulty", "format", f"The difficulty {str(text)[:40]!r} is not easy, medium or hard.")
            difficulty = Difficulty.UNKNOWN
        return rules.difficulties.get(key, difficulty) if rules.difficulties else difficulty

    def _extra(self, value: dict[str, Any], form: dict[str, Any], exam_extra: str) -> str:
        """JSON text of what the columns do not give back: further fields, and the form of those that they do."""
        names = value.keys() - _read_here
        fields = self.further_fields({name: value[name] for name in names}) if names else "{}"
        if self.problems:  # what was refused may not be writable
            return ""
        return f'{{"exam":{exam_extra},"fields":{fields},"form":{_form_text(form) if form else "{}"}}}'


def _form_text(form: dict[str, Any]) -> str:
    return encode_json(form)


def _with_usual_names(value: dict[str, Any], form: dict[str, Any]) -> dict[str, Any]:
    """The record under its usual names; ``form["names"]`` says which were renamed. A usual name that is there wins."""
    usual: dict[str, Any] = {}
    renamed: dict[str, str] = {}
    for name, member in value.items():
        if name == _LEFT_OUT:
            continue
        usual_name = PRIVATE_NAMES.get(name, name)
        if usual_name != name:
            if usual_name in value or usual_name in renamed:
                continue
            renamed[usual_name] = name
        usual[usual_name] = member
    if renamed:
        form["names"] = renamed
    return usual
