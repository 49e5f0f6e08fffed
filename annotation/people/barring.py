"""Who must not get which role. Other apps say so here; giving a role asks before anything is written."""

from __future__ import annotations

from collections.abc import Callable

from annotation.enums import Role
from annotation.hooks import Hooks
from annotation.models import ReviewRound, User

Rule = Callable[[User, Role, ReviewRound | None], str]
rules: Hooks[Rule] = Hooks()  # of a person, a role and its round (None: the site): the sentence against it, or ""


def reasons_against(person: User, role: Role, review_round: ReviewRound | None) -> list[str]:
    """What all rules say against it."""
    return [reason for rule in rules if (reason := rule(person, role, review_round))]
