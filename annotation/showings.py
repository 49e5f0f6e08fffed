"""To whom other apps show the images of an exam. Serving asks, after its own rules, before it refuses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

Rule = Callable[[int, int, datetime], bool]
_rules: dict[str, Rule] = {}


class RuleNameTaken(ValueError):
    """Two rules want the same name."""


def register(name: str, rule: Rule) -> None:
    """Add a rule: given the ids of a person and of an exam, whether this person is shown its available images then.

    Apps call this when they start. Registering the same rule again under its name changes nothing; another rule
    under a taken name raises RuleNameTaken.
    """
    if _rules.get(name, rule) is not rule:
        raise RuleNameTaken(f"a rule named {name} is there already")
    _rules[name] = rule


def is_shown(person_id: int, exam_id: int, at: datetime) -> bool:
    return any(rule(person_id, exam_id, at) for rule in _rules.values())
