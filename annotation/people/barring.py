"""Who must not get which role. Other apps say so here; giving a role asks before anything is written."""

from __future__ import annotations

from collections.abc import Callable

from annotation.enums import Role
from annotation.models import ReviewRound, User

Rule = Callable[[User, Role, ReviewRound | None], str]
_rules: dict[str, Rule] = {}


class RuleNameTaken(ValueError):
    """Two rules want the same name."""


def register(name: str, rule: Rule) -> None:
    """Add a rule: given a person, a role and its round (None: the site), the sentence against it, or an empty text.

    Apps call this when they start. Registering the same rule again under its name changes nothing; another rule
    under a taken name raises RuleNameTaken.
    """
    if _rules.get(name, rule) is not rule:
        raise RuleNameTaken(f"a rule named {name} is there already")
    _rules[name] = rule


def reasons_against(person: User, role: Role, review_round: ReviewRound | None) -> list[str]:
    """What all rules say against it."""
    return [reason for rule in _rules.values() if (reason := rule(person, role, review_round))]
