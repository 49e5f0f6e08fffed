"""Which role can be held where, and who must not get it: other apps may object."""

from __future__ import annotations

from collections.abc import Callable

from annotation.enums import Role
from annotation.models import ReviewRound, User
from annotation.site.hooks import Hooks
from annotation.site.permissions import ROUND_ROLES, SITE_ROLES


class RoleConflict(Exception):
    """The person must not hold this role now; the sentence says why."""


Rule = Callable[[User, Role, ReviewRound | None], str]
rules: Hooks[Rule] = Hooks()  # of a person, a role and its round (None: the site): the sentence against it, or ""


def reasons_against(person: User, role: Role, review_round: ReviewRound | None) -> list[str]:
    """What all rules say against it."""
    return [reason for rule in rules if (reason := rule(person, role, review_round))]


def check_no_role_conflict(person: User, role: Role, review_round: ReviewRound | None) -> None:
    """Raises RoleConflict with all reasons."""
    if reasons := reasons_against(person, role, review_round):
        raise RoleConflict(" ".join(reasons))


class RoleNotThere(Exception):
    """The role is not one that can be held there (on the site, or in a round)."""


def check_scope(role: Role, review_round: ReviewRound | None) -> None:
    """Raises RoleNotThere for a role of the site in a round, and the other way round."""
    if role not in (SITE_ROLES if review_round is None else ROUND_ROLES):
        raise RoleNotThere(role)
