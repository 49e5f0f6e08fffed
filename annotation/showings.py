"""To whom other apps show the images of an exam. Serving asks, after its own rules, before it refuses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from annotation.hooks import Hooks

Rule = Callable[[int, int, datetime], bool]
rules: Hooks[Rule] = Hooks()  # of ids of a person and an exam: whether its available images are shown to them then


def is_shown(person_id: int, exam_id: int, at: datetime) -> bool:
    return any(rule(person_id, exam_id, at) for rule in rules)
