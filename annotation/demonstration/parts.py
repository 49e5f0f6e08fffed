"""What other apps add to the demonstration, once its bank and its rounds are there."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from django.utils.module_loading import import_string

from annotation.models import QuestionBank, User

_parts: list[str] = []  # dotted names: nothing of a demonstration is loaded before one is built


class Part(Protocol):
    """Adds what is missing; safe to run again."""

    def __call__(self, bank: QuestionBank, *, coordinator: User, at: datetime) -> None: ...


def register(path: str) -> None:
    """Add a part by the dotted name of its function. Apps call this when they start; twice changes nothing."""
    if path not in _parts:
        _parts.append(path)


def build_parts(bank: QuestionBank, *, coordinator: User, at: datetime) -> None:
    for path in _parts:
        part: Part = import_string(path)
        part(bank, coordinator=coordinator, at=at)
