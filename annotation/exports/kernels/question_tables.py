"""Questions as flat rows, in the columns of the template of question files and one for each further field. Pure.

Every cell is text, as the importer reads tables: what is no text is written as JSON, white space around a text is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from annotation.exports.kernels.question_records import StoredQuestion, record_of, usual_record
from annotation.questionbank.kernels.entries import ID, OPTIONS, field_of_column
from annotation.questionbank.kernels.examfields import KEPT_FIELDS, LEFT_OUT, PRIOR_FIELD, REPORT_FIELDS, TABLE_LISTS
from annotation.questionbank.kernels.states import STATE

TEMPLATE = (
    *(ID, "study_id", "question", *OPTIONS, "correct_answer", "correct_answer_explanation", "task_name", "category"),
    *("ImagePath", "ImageViewPosition", PRIOR_FIELD, "difficulty", "subcategory", "class"),
    *("PatientID", "PatientAge", "PatientSex", *REPORT_FIELDS),
)
_KEPT = tuple(name for name in KEPT_FIELDS if name not in TEMPLATE)
KNOWN = (*TEMPLATE, *_KEPT, "AccessionNumber", "StudyInstanceUid", LEFT_OUT, STATE)
_NEVER = {ID, "options"}


def columns_of(names: Iterable[str]) -> tuple[str, ...]:
    """The columns of a table of records that fill these fields: the template's, other known ones, the rest by name."""
    found = {name for name in names if is_column(name)}
    known = [name for name in KNOWN if name in TEMPLATE or name in found]
    return (*known, *sorted(found.difference(KNOWN)))


def is_column(name: str) -> bool:
    """Whether a field can be a column: one that the importer would take for another field or for none is left out."""
    return name in KNOWN or (name not in _NEVER and name == name.strip() != "" and field_of_column(name) == name)


def cells_of(question: StoredQuestion, columns: Sequence[str]) -> list[str]:
    """One row."""
    fields: dict[str, Any] = {**usual_record(question, TABLE_LISTS), **question.written.fields(), ID: question.key}
    fields[STATE] = question.state
    return [cell_text(name, fields.get(name)) for name in columns]


def cell_text(name: str, value: Any) -> str:
    """The text of one cell, "" for nothing."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if name in TABLE_LISTS and isinstance(value, list):
        return "|".join("" if part is None else str(part) for part in value).strip()
    return json.dumps(value, ensure_ascii=False)


def fields_of_line(question: StoredQuestion) -> dict[str, Any]:
    """The record of JSON Lines: the id first, a difficulty that a side file gave last."""
    record = record_of(question)
    record.pop(ID, None)
    level = question.written.difficulty
    if level and not record.get("difficulty"):
        record["difficulty"] = level
    return {ID: question.key, **record, STATE: question.state}
