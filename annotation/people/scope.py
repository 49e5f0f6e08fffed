"""Which role can be held where."""

from __future__ import annotations

from annotation.enums import Role
from annotation.models import ReviewRound
from annotation.site.permissions import ROUND_ROLES, SITE_ROLES


class RoleNotThere(Exception):
    """The role is not one that can be held there (on the site, or in a round)."""


def check_scope(role: Role, review_round: ReviewRound | None) -> None:
    """Raises RoleNotThere for a role of the site in a round, and the other way round."""
    if role not in (SITE_ROLES if review_round is None else ROUND_ROLES):
        raise RoleNotThere(role)
