"""A question of the bank as the record of the file that it came in, and as a flat row of a table. Pure.

Every cell is text, as the importer reads tables: what is no text is written as JSON, white space around a text is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.json import encode as encode_bytes
from msgspec.json import format as indented

from annotation.enums import Difficulty, QuestionState, Sex, Task
from annotation.questionbank.kernels.entries import ID, OPTIONS, SEX, SPLIT, STATE, field_of_column
from annotation.questionbank.kernels.examfields import (
    IMAGE_LISTS,
    KEPT_FIELDS,
    LEFT_OUT,
    NUMBER_FIELDS,
    PRIOR_FIELD,
    REPORT_FIELDS,
    TABLE_LISTS,
    ExamReader,
    put_back,
    take_out,
)
from annotation.questionbank.kernels.fields import (
    LETTERS,
    USUAL_TASK_NAMES,
    encode_json,
    join_options,
    path_from,
    place_path,
    read_sex,
)
from annotation.questionbank.kernels.records import NOTHING_KEPT, KeptSource, content_sha256, extra_text

encode = json.JSONEncoder(ensure_ascii=False).encode
TASK_NAMES = {task: name for name, task in USUAL_TASK_NAMES.items()}
# Of a record whose layout was not kept: fields with something in them, in the order of the files that were seen.
USUAL_ORDER = (
    *("study_id", "task_name", "question", "options", "correct_answer", "correct_answer_explanation"),
    *("category", "subcategory", "class", *NUMBER_FIELDS, "PatientSex", "PatientAge", "StudyDate", "StudyDescription"),
    *("Manufacturer", *REPORT_FIELDS, "ImagePath", "ImageViewPosition", "ImageModality", "ImageBodyPart", "ImageShape"),
    PRIOR_FIELD,
)


class RecordWording(NamedTuple):
    """What one revision says."""

    stem: str
    options: tuple[str, ...]
    answer: str
    explanation: str
    task: str
    category: str
    subcategory: str
    question_class: str
    difficulty: str
    left_out: tuple[str, ...] = ()  # images that do not count: paths as the record writes them, or words for others

    def fields(self) -> dict[str, str]:
        """By the names of the template, which are those of the list of changes; options without letters."""
        return {
            "question": self.stem,
            **dict(zip(OPTIONS, self.options, strict=False)),
            "correct_answer": self.answer,
            "correct_answer_explanation": self.explanation,
            "task_name": TASK_NAMES[Task(self.task)],
            "category": self.category,
            "subcategory": self.subcategory,
            "class": self.question_class,
            "difficulty": Difficulty(self.difficulty).value,
        }

    def compared(self) -> dict[str, str]:
        """The same with the images that do not count, for the list of changes."""
        return {**self.fields(), LEFT_OUT: "|".join(self.left_out)}


class ExamNames(Struct, frozen=True):
    """What an exam is called at its source; ``paths`` of its images from the root, first those that came first."""

    key: str = ""
    patient_number: str = ""
    accession_number: str = ""
    study_uid: str = ""
    paths: tuple[str, ...] = ()
    prior: str = ""


class StoredQuestion(Struct, frozen=True):
    """A question at the revision that the newest file brought, and what it says in the revision to be written."""

    key: str
    imported: RecordWording
    written: RecordWording
    exam: ExamNames
    report: tuple[str, ...]
    extra: dict[str, Any] = field(default_factory=dict)  # as records.py makes it
    source: KeptSource = NOTHING_KEPT
    content_sha256: str = ""
    state: str = ""
    split: str = ""

    @property
    def folder(self) -> str:
        """Of the question file, relative to the root of the images."""
        folder: str = self.extra.get("exam", {}).get("folder", "")
        return folder

    def paths(self) -> list[str]:
        """Of its images, as its record writes them; of an exam that other records name otherwise they are kept."""
        kept = self.source.as_written.get("ImagePath")
        if kept is not None:
            return [kept] if isinstance(kept, str) else kept
        n_images = self.source.n_images or len(self.exam.paths)
        return [path_from(self.folder, path) for path in self.exam.paths[:n_images]]

    def placed_paths(self) -> list[str]:
        """The same from the root of the images."""
        return [place_path(path, self.folder) for path in self.paths()]


def usual_record(question: StoredQuestion, image_lists: Sequence[str] = IMAGE_LISTS) -> dict[str, Any]:
    """The record under the usual names of its fields; what does not count is taken out of these ``image_lists``."""
    found = _fields_of_exam(question)
    found |= _fields_of_wording(question, question.imported) | question.extra.get("fields", {})
    layout = question.source.layout or _usual_layout(found)
    kept = question.source.as_written
    found |= kept
    if renamed := _renamed(question):
        usual = {own: name for name, own in renamed.items()}
        record = {usual.get(own, own): found.get(own if own in kept else usual.get(own, own)) for own in layout}
    else:
        record = dict(zip(layout, map(found.get, layout), strict=True))
    if question.imported != question.written:
        before, now = question.imported.fields(), question.written.fields()
        written = _fields_of_wording(question, question.written)
        record |= {name: written[name] for name in {_record_name(name) for name in now if before[name] != now[name]}}
    left_out = question.written.left_out
    places = [place for place, path in enumerate(question.paths()) if path in left_out] if left_out else []
    if places:
        take_out(record, places, image_lists)
    elif LEFT_OUT not in kept:
        record.pop(LEFT_OUT, None)
    return record


def record_of(question: StoredQuestion, usual: dict[str, Any]) -> dict[str, Any]:
    """The record, of its usual one, under the names that its file has."""
    renamed = _renamed(question)
    if not renamed:
        return usual
    record = {renamed.get(name, name): value for name, value in usual.items()}
    if LEFT_OUT in record:
        record[LEFT_OUT] = [{renamed.get(name, name): part for name, part in one.items()} for one in record[LEFT_OUT]]
    return record


def text_of(question: StoredQuestion, usual: dict[str, Any]) -> bytes:
    """The record as a member of the one object of a file. A record without a state is as it was imported."""
    mark = {STATE: question.state} if question.state not in ("", QuestionState.IMPORTED) else {}
    mark |= {SPLIT: question.split} if question.split else {}
    return indented(encode_bytes({question.key: record_of(question, usual) | mark}), indent=1)[1:-1].rstrip()


def is_given_back(question: StoredQuestion, usual: dict[str, Any], readers: dict[str, ExamReader]) -> bool:
    """Whether a question that did not change, with its exam as the record names it, is what its file held.

    ``readers``, by folder, are kept between questions: a reader reads what questions of an exam share once.
    """
    imported = question.imported
    if imported != question.written:
        return True
    if (folder := question.folder) not in readers:
        readers[folder] = ExamReader(folder)
    record = usual
    if usual.get(LEFT_OUT):
        put_back(record := dict(usual))
    exam, _problems = readers[folder].read(record)
    return exam is not None and question.content_sha256 == content_sha256(
        *(exam, imported.stem, imported.options, imported.answer, imported.explanation),
        (imported.task, imported.category, imported.subcategory, imported.question_class),
        extra_text(exam, encode_json(question.extra.get("fields", {})), question.extra.get("form", {})),
        [place_path(path, folder) for path in imported.left_out],
    )


def _record_name(name: str) -> str:
    return "options" if name in OPTIONS else name


def _renamed(question: StoredQuestion) -> dict[str, str]:
    names: dict[str, str] = question.extra.get("form", {}).get("names", {})
    return names


def _usual_layout(found: dict[str, Any]) -> list[str]:
    filled = {name: value for name, value in found.items() if value not in (None, "")}
    known = [name for name in USUAL_ORDER if name in filled]
    return known + [name for name in filled if name not in known]


def _fields_of_wording(question: StoredQuestion, wording: RecordWording) -> dict[str, Any]:
    """The question's own fields in the forms of its file."""
    form = question.extra.get("form", {})
    fields: dict[str, Any] = {name: text or None for name, text in wording.fields().items() if name not in OPTIONS}
    fields["options"] = join_options(list(wording.options), form.get("options", ". "))
    if "task_name" in form and wording.task == question.imported.task:
        fields["task_name"] = form["task_name"]
    if form.get("key") == "index" and wording.answer:
        fields["correct_answer"] = LETTERS.index(wording.answer)
    return fields


def _fields_of_exam(question: StoredQuestion) -> dict[str, Any]:
    exam = question.exam
    numbers = (exam.patient_number, exam.accession_number, exam.study_uid)
    fields: dict[str, Any] = {"study_id": exam.key, "ImagePath": question.paths(), PRIOR_FIELD: exam.prior or None}
    fields |= {name: number or None for name, number in zip(NUMBER_FIELDS, numbers, strict=True)}
    fields |= {name: text or None for name, text in zip(REPORT_FIELDS, question.report, strict=True)}
    kept = question.extra.get("exam", {})
    return fields | {name: kept[name] for name in KEPT_FIELDS if name in kept}


TEMPLATE = (
    *(ID, "study_id", "question", *OPTIONS, "correct_answer", "correct_answer_explanation", "task_name", "category"),
    *("ImagePath", "ImageViewPosition", PRIOR_FIELD, "difficulty", "subcategory", "class"),
    *("PatientID", "PatientAge", "PatientSex", *REPORT_FIELDS),
)
_KEPT = tuple(name for name in KEPT_FIELDS if name not in TEMPLATE)
KNOWN = (*TEMPLATE, *_KEPT, "AccessionNumber", "StudyInstanceUid", LEFT_OUT, STATE, SPLIT)
_NEVER = {ID, "options"}


def columns_of(names: Iterable[str]) -> tuple[str, ...]:
    """The columns of a table of records that fill these fields: the template's, other known ones, the rest by name."""
    found = {name for name in names if is_column(name)}
    known = [name for name in KNOWN if name in TEMPLATE or name in found]
    return (*known, *sorted(found.difference(KNOWN)))


def is_column(name: str) -> bool:
    """Whether a field can be a column: one that the importer would take for another field or for none is left out."""
    return name in KNOWN or (name not in _NEVER and name == name.strip() != "" and field_of_column(name) == name)


def cells_of(question: StoredQuestion, usual: dict[str, Any]) -> dict[str, str]:
    """One row by the names of its columns, without empty cells."""
    fields: dict[str, Any] = {**usual, **question.written.fields(), ID: question.key}
    fields |= {STATE: question.state, SPLIT: question.split}
    return {name: text for name, value in fields.items() if (text := cell_text(name, value))}


def cell_text(name: str, value: Any) -> str:
    """The text of one cell, "" for nothing."""
    if value is None:
        return ""
    if isinstance(value, str):
        sex = read_sex(value) if name == SEX else Sex.UNKNOWN
        return sex.label if sex else value.strip()  # a column of F is read as false by R and others
    if name in TABLE_LISTS and isinstance(value, list):
        return "|".join("" if part is None else str(part) for part in value).strip()
    return encode(value)


def line_of(question: StoredQuestion, usual: dict[str, Any]) -> str:
    """The record of JSON Lines: the id first, a difficulty that a side file gave last."""
    record = {name: value for name, value in record_of(question, usual).items() if name != ID}
    level = question.written.difficulty
    if level and not record.get("difficulty"):
        record["difficulty"] = level
    split = {SPLIT: question.split} if question.split else {}
    return encode({ID: question.key, **record, STATE: question.state, **split})
