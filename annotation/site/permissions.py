"""Who may. A permission is a plain question about a person; the answer never depends on a page."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from annotation.enums import Role
from annotation.models import Assignment, Membership, ReviewRound, User

Person = User | AnonymousUser


def site_roles(person: Person) -> frozenset[str]:
    """Roles held on the whole site; asked once per person object and kept on it."""
    if not isinstance(person, User) or not person.is_active:
        return frozenset()
    known: frozenset[str] | None = person.__dict__.get("_site_roles")
    if known is None:
        rows = Membership.objects.filter(user=person, round__isnull=True).values_list("role", flat=True)
        known = person.__dict__["_site_roles"] = frozenset(rows)
    return known


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
    if not isinstance(person, User):
        return False
    return is_coordinator(person) or (
        person.is_active and Membership.objects.filter(user=person, round=review_round, role=Role.COORDINATOR).exists()
    )


def coordinates_any_round(person: User) -> bool:
    """Coordinators of the site, and those of some round."""
    rounds = Membership.objects.filter(user=person, round__isnull=False, role=Role.COORDINATOR)
    return is_coordinator(person) or rounds.exists()


def is_adjudicator(person: User, review_round: ReviewRound) -> bool:
    return Membership.objects.filter(user=person, round=review_round, role=Role.ADJUDICATOR).exists()


# What can be given; readers get theirs with their study.
SITE_ROLES = (Role.REVIEWER, Role.COORDINATOR, Role.MODEL_SUBMITTER, Role.DEIDENTIFIER, Role.ADMINISTRATOR)
ROUND_ROLES = (Role.REVIEWER, Role.ADJUDICATOR, Role.COORDINATOR)


def may_manage_people(person: Person) -> bool:
    return is_administrator(person)


def may_invite_to_round(person: Person, review_round: ReviewRound, role: Role = Role.REVIEWER) -> bool:
    """Administrators give any role of a round; its coordinators invite whoever judges, not other coordinators."""
    if is_administrator(person):
        return role in ROUND_ROLES
    return role in (Role.REVIEWER, Role.ADJUDICATOR) and may_coordinate(person, review_round)


def roles_given_in(person: Person, review_round: ReviewRound) -> tuple[Role, ...]:
    """The roles of this round that the person gives, and whose links are theirs to revoke and restore."""
    return tuple(role for role in ROUND_ROLES if may_invite_to_round(person, review_round, role))


def knows_round(person: Person, review_round: ReviewRound) -> bool:
    """Whether the person has anything to do with the round; to others it does not exist."""
    if not isinstance(person, User):
        return False
    return (
        is_administrator(person)
        or is_coordinator(person)
        or Membership.objects.filter(user=person, round=review_round).exists()
        or Assignment.objects.filter(reviewer=person, round=review_round).exists()
    )
