"""Who must not get which role. Other apps say so here; a role that one of them objects to is not given."""

from __future__ import annotations

from collections.abc import Callable

from annotation.enums import Role
from annotation.models import ReviewRound, User
from annotation.site.hooks import Hooks


class RoleBarred(Exception):
    """The person must not hold this role now; the sentence says why."""


Rule = Callable[[User, Role, ReviewRound | None], str]
rules: Hooks[Rule] = Hooks()  # of a person, a role and its round (None: the site): the sentence against it, or ""


def reasons_against(person: User, role: Role, review_round: ReviewRound | None) -> list[str]:
    """What all rules say against it."""
    return [reason for rule in rules if (reason := rule(person, role, review_round))]


def check_not_barred(person: User, role: Role, review_round: ReviewRound | None) -> None:
    """Raises RoleBarred with all reasons."""
    if reasons := reasons_against(person, role, review_round):
        raise RoleBarred(" ".join(reasons))
