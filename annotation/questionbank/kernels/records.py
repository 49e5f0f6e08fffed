"""What a checked ReXVQA record is, what its problems look like, and what an import may set."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from annotation.enums import Difficulty, Sex, Task, ViewPosition

MAX_TEXT_CHARS = 20_000
MAX_REPORT_CHARS = 100_000
MAX_NAME_CHARS = 200
MAX_PATH_CHARS = 1_000
MAX_IMAGES = 64
MAX_DEPTH = 8
MIN_EXPLANATION = 20


class RecordProblem(NamedTuple):
    """Why a record is refused: its key, the field, a code, a sentence."""

    key: str
    field: str
    code: str
    message: str


class ImageReference(NamedTuple):
    """An image that a question names: its path relative to the root, and its view position."""

    path: str
    view_position: ViewPosition


class ExamRecord(NamedTuple):
    """What the records of one exam share. ``extra`` is JSON text of the fields that no column gives back."""

    key: str
    patient_number: str
    accession_number: str
    study_uid: str
    age_years: int | None
    sex: Sex
    report: tuple[str, str, str, str]  # indication, comparison, findings, impression
    report_sha256: str
    images: tuple[ImageReference, ...]
    extra: str
    content_sha256: str
    prior: str = ""  # key of an earlier exam, shown beside this one


class QuestionRecord(NamedTuple):
    """One checked record. ``answer`` is "" where the form comes without answers; ``extra`` is JSON text.

    ``content_sha256`` is over everything but the difficulty, which may come from elsewhere. Neighbouring
    questions of one exam share one ``exam`` object.
    """

    key: str
    stem: str
    options: list[str]
    answer: str
    explanation: str
    task: Task
    category: str
    subcategory: str
    question_class: str
    difficulty: Difficulty
    exam: ExamRecord
    extra: str
    content_sha256: str


@dataclass(frozen=True, slots=True)
class RecordRules:
    """What an import may set: where paths start, the shortest explanation, difficulties from a side file."""

    folder: str = ""  # of the question file, relative to the root of the images
    min_explanation: int = MIN_EXPLANATION
    difficulties: Mapping[str, Difficulty] = field(default_factory=dict)


def images_root(folder: str) -> tuple[str, str]:
    """Root of the image paths and the question file's folder relative to it: the parent of a ``metadata`` folder."""
    folder = posixpath.normpath(folder)
    if posixpath.basename(folder).lower() == "metadata":
        return posixpath.dirname(folder), posixpath.basename(folder)
    return folder, ""


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "null")
