"""What other apps add to the demonstration, once its bank and its rounds are there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from django.utils.module_loading import import_string

from annotation.models import QuestionBank, User

if TYPE_CHECKING:
    from annotation.demonstration.exposing import Stage
    from annotation.demonstration.simulated_exams import DemonstrationExam

_parts: list[str] = []  # dotted names: nothing of a demonstration is loaded before one is built


class DemonstrationPart(Protocol):
    """Adds what is missing; safe to run again. ``exams`` are what the bank shows, ``folder`` is for files meanwhile."""

    def __call__(
        self,
        bank: QuestionBank,
        *,
        exams: Sequence[DemonstrationExam],
        folder: Path,
        coordinator: User,
        at: datetime,
        tell: Stage,
    ) -> None: ...


def register(path: str) -> None:
    """Add a part by the dotted name of its function. Apps call this when they start; twice changes nothing."""
    if path not in _parts:
        _parts.append(path)


def build_parts(
    bank: QuestionBank,
    *,
    exams: Sequence[DemonstrationExam],
    folder: Path,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> None:
    for path in _parts:
        part: DemonstrationPart = import_string(path)
        part(bank, exams=exams, folder=folder, coordinator=coordinator, at=at, tell=tell)
