"""The short way for a record as most are: every field there, in its usual form, nothing to refuse.

What is unusual in any way is left to the careful reading of :mod:`annotation.questionbank.rexvqa`; where this one
gives a record, the careful one gives the same.
"""

from __future__ import annotations

import hashlib
import marshal
from operator import itemgetter
from typing import Any

from annotation.enums import Difficulty, Task
from annotation.questionbank.records import (
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    ExamRecord,
    QuestionRecord,
    RecordRules,
)
from annotation.questionbank.strictjson import MAX_KEY_CHARS

USUAL_TASK_NAMES = {
    "Presence Assessment": Task.PRESENCE,
    "Negation Assessment": Task.NEGATION,
    "Differential Diagnosis": Task.DIFFERENTIAL,
    "Location and Distribution Assessment": Task.LOCATION,
    "Geometric Information Assessment": Task.GEOMETRIC,
}
MAX_REMEMBERED = 500
further_texts: dict[bytes, str] = {}  # JSON text of further fields by their marshal text; the careful reading fills it

_letters = frozenset("ABCD")
_take = itemgetter(
    *("question", "options", "correct_answer", "correct_answer_explanation"),
    *("task_name", "category", "subcategory", "class"),
)


def read_plain(
    key: str, value: dict[str, Any], further: tuple[str, ...], exam: ExamRecord, rules: RecordRules
) -> QuestionRecord | None:
    """The record, or None when something about it is unusual. ``further`` names its fields that no column holds."""
    try:
        stem, options, answer, explanation, task_name, category, subcategory, question_class = _take(value)
        if type(options) is not list or answer not in _letters or value.get("difficulty"):
            return None
        task = USUAL_TASK_NAMES[task_name]
        fields = further_texts[marshal.dumps(tuple([(name, value[name]) for name in further]), 2)] if further else "{}"
        a, b, c, d = options
        if not (a[:3] == "A. " and b[:3] == "B. " and c[:3] == "C. " and d[:3] == "D. "):
            return None
        texts = [a[3:], b[3:], c[3:], d[3:]]
        if not _are_tidy_and_distinct("\n".join(texts).casefold()):
            return None
        extra = f'{{"exam":{exam.extra},"fields":{fields},"form":{{}}}}'
        names = (task, category, subcategory, question_class)
        content = "\0".join((exam.content_sha256, stem, *texts, answer, explanation, *names, extra))
        long_enough = len(explanation.strip()) >= max(rules.min_explanation, 1)
    except (KeyError, TypeError, ValueError):  # a field is missing, no text, or not one of those remembered
        return None
    if (
        len(content) > MAX_TEXT_CHARS
        or not 0 < len(key) <= MAX_KEY_CHARS
        or max(len(category), len(subcategory), len(question_class)) > MAX_NAME_CHARS
        or not long_enough
        or not stem
        or stem.isspace()
    ):
        return None
    difficulty = rules.difficulties.get(key, Difficulty.UNKNOWN) if rules.difficulties else Difficulty.UNKNOWN
    digest = hashlib.sha256(content.encode()).hexdigest()
    return QuestionRecord(key, stem, texts, answer, explanation, *names, difficulty, exam, extra, digest)


def _are_tidy_and_distinct(joined: str) -> bool:
    """Whether four texts, one per line, differ, and hold no white space but single spaces between words."""
    lines = joined.split("\n")
    return len(lines) == 4 and len(set(lines)) == 4 and " ".join(joined.split()) == joined.replace("\n", " ")
