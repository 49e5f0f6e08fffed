"""Who must not see which question. Other apps say so here; assigning asks before it gives anybody a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Veto:
    """This person must not see this question; ``reason`` is the sentence that a coordinator reads."""

    person_id: int
    question_id: int
    reason: str


Rule = Callable[[Collection[int], Collection[int]], Iterable[Veto]]
_rules: dict[str, Rule] = {}


class RuleNameTaken(ValueError):
    """Two rules want the same name."""


def register(name: str, rule: Rule) -> None:
    """Add a rule: given ids of people and of questions, it yields the vetoes among them.

    Apps call this when they start. Registering the same rule again under its name changes nothing; another rule
    under a taken name raises RuleNameTaken.
    """
    if _rules.get(name, rule) is not rule:
        raise RuleNameTaken(f"a rule named {name} is there already")
    _rules[name] = rule


def unregister(name: str) -> None:
    _rules.pop(name, None)


def vetoes(people: Collection[int], questions: Collection[int]) -> list[Veto]:
    """What all rules say about these people and questions."""
    return [veto for rule in _rules.values() for veto in rule(people, questions)]
