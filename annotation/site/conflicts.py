"""Who must not see which question. Other apps say so here; assigning asks before it gives anybody a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from annotation.site.hooks import Hooks


@dataclass(frozen=True)
class Conflict:
    """This person must not see this question; ``reason`` is the sentence that a coordinator reads."""

    person_id: int
    question_id: int
    reason: str


Rule = Callable[[Collection[int], Collection[int]], Iterable[Conflict]]
rules: Hooks[Rule] = Hooks()  # of ids of people and of questions: the conflicts among them


def conflicts(people: Collection[int], questions: Collection[int]) -> list[Conflict]:
    """What all rules say about these people and questions."""
    return [conflict for rule in rules for conflict in rule(people, questions)]
