"""Who may. A permission is a plain question about a person; the answer never depends on a page.

A program that acts for a person with a token comes as that person, with ``limits``: then every question here is about
the one role of the token, and about what its place reaches.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from annotation.enums import Role
from annotation.models import Assignment, Membership, ReviewRound, User
from annotation.models.people import TokenScope
from annotation.site.sorted_tables import KeptQuery

Person = User | AnonymousUser
Row = TypeVar("Row", bound=Model)
_roles_on_site = KeptQuery(lambda pk: Membership.objects.filter(user=pk, round=None).values_list("role"), int)


def site_roles(person: Person) -> frozenset[str]:
    """Roles held on the whole site; asked once per person object and kept on it."""
    if not isinstance(person, User) or not person.is_active:
        return frozenset()
    known: frozenset[str] | None = person.__dict__.get("_site_roles")
    if known is None:
        rows = _roles_on_site(person.pk)
        known = person.__dict__["_site_roles"] = frozenset(role for (role,) in rows if acts_as(person, role))
    return known


def check_role(person: Person, roles: Collection[Role]) -> None:
    """Raises PermissionDenied for whoever holds none of these roles on the site; where none is named, everybody may."""
    if roles and not set(roles) & site_roles(person):
        names = ", ".join(_(role.label) for role in roles)
        raise PermissionDenied(_("This is for people with the role: %(roles)s.") % {"roles": names})


def acts_as(person: User, *roles: str) -> bool:
    """Whether what the person holds by one of these roles counts now: always, but for a token of another role."""
    return person.limits is None or person.limits.role in roles


def reaches(person: User, *, bank: int | None = None, round: int | None = None, study: int | None = None) -> bool:
    """Whether a token reaches something that belongs to this bank, round or study; a person without one does."""
    if person.limits is None or person.limits.scope == TokenScope.SITE:
        return True
    places = {TokenScope.BANK: bank, TokenScope.ROUND: round, TokenScope.STUDY: study}
    return places.get(person.limits.scope) == person.limits.place_id


def within_reach(person: User, rows: QuerySet[Row], **places: str) -> QuerySet[Row]:
    """The rows that a token reaches, by the lookup that leads to the bank, round or study: ``bank="plan__bank"``.

    A scope for which none is named reaches no row.
    """
    limits = person.limits
    if limits is None or limits.scope == TokenScope.SITE:
        return rows
    lookup: dict[str, Any] = {places[limits.scope]: limits.place_id} if limits.scope in places else {}
    return rows.filter(**lookup) if lookup else rows.none()


def looks_after(person: Person) -> bool:
    """Whether tables and lists are this person's work, rather than images in a dark room."""
    return bool(site_roles(person) & {Role.ADMINISTRATOR, Role.COORDINATOR, Role.DEIDENTIFIER, Role.MODEL_SUBMITTER})


def is_administrator(person: Person) -> bool:
    return Role.ADMINISTRATOR in site_roles(person)


def is_coordinator(person: Person) -> bool:
    return Role.COORDINATOR in site_roles(person)


def may_see_quarantine(person: Person) -> bool:
    return Role.DEIDENTIFIER in site_roles(person)


def may_coordinate(person: Person, review_round: ReviewRound) -> bool:
    """Coordinators of the site, and those of this round."""
    if not isinstance(person, User) or not _reaches_round(person, review_round):
        return False
    memberships = Membership.objects.filter(user=person, round=review_round, role=Role.COORDINATOR)
    return is_coordinator(person) or (person.is_active and acts_as(person, Role.COORDINATOR) and memberships.exists())


def _reaches_round(person: User, review_round: ReviewRound) -> bool:
    if person.limits is None:
        return True
    return reaches(person, bank=review_round.plan.bank_id, round=review_round.pk)


def coordinates_any_round(person: User) -> bool:
    """Coordinators of the site, and those of some round."""
    rounds = Membership.objects.filter(user=person, round__isnull=False, role=Role.COORDINATOR)
    rounds = within_reach(person, rounds, bank="round__plan__bank", round="round")
    return is_coordinator(person) or (acts_as(person, Role.COORDINATOR) and rounds.exists())


def is_adjudicator(person: User, review_round: ReviewRound) -> bool:
    if not acts_as(person, Role.ADJUDICATOR) or not _reaches_round(person, review_round):
        return False
    return Membership.objects.filter(user=person, round=review_round, role=Role.ADJUDICATOR).exists()


# What can be given; readers get theirs with their study.
SITE_ROLES = (Role.REVIEWER, Role.COORDINATOR, Role.MODEL_SUBMITTER, Role.DEIDENTIFIER, Role.ADMINISTRATOR)
ROUND_ROLES = (Role.REVIEWER, Role.ADJUDICATOR, Role.COORDINATOR)


def may_manage_people(person: Person) -> bool:
    return is_administrator(person)


def may_invite_to_round(person: Person, review_round: ReviewRound, role: Role = Role.REVIEWER) -> bool:
    """Administrators give any role of a round; its coordinators invite whoever judges, not other coordinators."""
    if isinstance(person, User) and not _reaches_round(person, review_round):
        return False
    if is_administrator(person):
        return role in ROUND_ROLES
    return role in (Role.REVIEWER, Role.ADJUDICATOR) and may_coordinate(person, review_round)


def roles_given_in(person: Person, review_round: ReviewRound) -> tuple[Role, ...]:
    """The roles of this round that the person gives, and whose links are theirs to revoke and restore."""
    return tuple(role for role in ROUND_ROLES if may_invite_to_round(person, review_round, role))


def knows_round(person: Person, review_round: ReviewRound) -> bool:
    """Whether the person has anything to do with the round; to others it does not exist."""
    if not isinstance(person, User) or not _reaches_round(person, review_round):
        return False
    memberships = Membership.objects.filter(user=person, round=review_round)
    if person.limits is not None:
        memberships = memberships.filter(role=person.limits.role)
    return (
        is_administrator(person)
        or is_coordinator(person)
        or memberships.exists()
        or (
            acts_as(person, Role.REVIEWER, Role.ADJUDICATOR)
            and Assignment.objects.filter(reviewer=person, round=review_round).exists()
        )
    )
