"""A question that passed the rules, as the record of a question file: key on a drawn letter, with its history. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.enums import Task
from annotation.generation.kernels.answer_forms import WrittenOption, WrittenQuestion
from annotation.questionbank.kernels.fields import LETTERS, USUAL_TASK_NAMES, FieldRefused, split_options

HISTORY = "generation"  # the field of the record that holds it
LETTER_RULE = "letter-1"
SENT_FIELDS = ("Findings", "Impression")  # of a report: what it says of the images, and nothing of the person
_TASK_NAMES = {task: name for name, task in USUAL_TASK_NAMES.items()}


def sent_text(findings: str, impression: str) -> str:
    """What is sent of a report. Indication and comparison say what others knew, not what the images show."""
    parts = zip(SENT_FIELDS, (findings, impression), strict=True)
    return "\n".join(f"{name}: {text.strip()}" for name, text in parts if text.strip())


def drawn_place(seed: int, name: str) -> int:
    """The place of the key of the question of this name, from 0. Rule letter-1: the first byte of a SHA-256."""
    return hashlib.sha256(f"{LETTER_RULE}\0{seed}\0{name}".encode()).digest()[0] % len(LETTERS)


def turned(options: Sequence[WrittenOption], key: int, place: int) -> list[WrittenOption]:
    """The options turned round, in the same sequence, so that the key is at ``place``."""
    first = (key - place) % len(options)
    return [*options[first:], *options[:first]]


@dataclass(frozen=True)
class Made:
    """A question with the key at its drawn letter."""

    question: WrittenQuestion
    options: Sequence[WrittenOption]
    letter: str


def make(question: WrittenQuestion, *, seed: int, name: str) -> Made:
    place = drawn_place(seed, name)
    return Made(question, turned(question.options, question.key_place, place), LETTERS[place])


def texts_without_letters(question: WrittenQuestion) -> WrittenQuestion | None:
    """The question with options that carry no letter of their own; None where some do and others do not."""
    try:
        texts, _form = split_options([option.text for option in question.options])
    except FieldRefused:
        return None
    options = [
        WrittenOption(text=text.strip(), bullets=option.bullets)
        for text, option in zip(texts, question.options, strict=True)
    ]
    fields = {name: getattr(question, name) for name in question.__struct_fields__}
    return WrittenQuestion(**{**fields, "options": options})


def record_of_made(made: Made, exam: Mapping[str, Any], history: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the exam, of the question, and where it came from: H of the paper's equation 5."""
    question = made.question
    return {
        **exam,
        "task_name": _TASK_NAMES[Task(question.task)],
        "question": question.stem.strip(),
        "options": [f"{letter}. {one.text}" for letter, one in zip(LETTERS, made.options, strict=True)],
        "correct_answer": made.letter,
        "correct_answer_explanation": question.explanation.strip(),
        "category": question.category,
        "subcategory": question.subcategory,
        "class": question.question_class,
        "difficulty": question.difficulty or None,
        HISTORY: {**history, "options": [sorted(set(one.bullets)) for one in made.options]},
    }


def file_of(records: Mapping[str, Any]) -> bytes:
    """A question file: the same records in the same order give the same bytes."""
    return json.dumps(records, ensure_ascii=True, allow_nan=False, indent=1).encode() + b"\n"
