"""Roles given and taken, on the whole site or in one round."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import AuditEvent, Membership, ReviewRound, User
from annotation.people.inviting import revoke_issued_by
from annotation.people.role_conflicts import check_no_role_conflict, check_scope

WITHDRAWN = "role.withdrawn"
UNDO_FOR = timedelta(days=30)  # so long a role that was removed is offered to be given back


@dataclass(frozen=True)
class RemovedRole:
    """A role that a person held until lately."""

    role: Role
    review_round: ReviewRound | None
    removed_at: datetime
    removed_by: User | None

    @property
    def label(self) -> str:
        return gettext(self.role.label)


class OwnRoles(Exception):
    """Nobody changes their own roles: somebody else has to agree."""


class LastAdministrator(Exception):
    """Without this person nobody could administer the site any more."""


@transaction.atomic
def grant(
    person: User, role: Role, *, actor: User, at: datetime, review_round: ReviewRound | None = None
) -> Membership:
    """Give a role. Giving it twice changes nothing. Raises OwnRoles, RoleNotThere, RoleConflict."""
    check_scope(role, review_round)
    _check_is_not_self(person, actor)
    return add_role(person, role, review_round, granted_by=actor, actor=actor, at=at)


@transaction.atomic
def withdraw(person: User, role: Role, *, actor: User, at: datetime, review_round: ReviewRound | None = None) -> None:
    """Take a role, and revoke the open links that this person gave out with it; work done stays.

    Taking a role that the person does not hold changes nothing. Raises OwnRoles, LastAdministrator.
    """
    _check_is_not_self(person, actor)
    if role == Role.ADMINISTRATOR and review_round is None:
        check_is_not_last_administrator(person)
    n_gone, _rows = Membership.objects.filter(user=person, role=role, round=review_round).delete()
    if not n_gone:
        return
    forget_roles(person)
    if role in (Role.ADMINISTRATOR, Role.COORDINATOR):
        revoke_issued_by(person, actor=actor, at=at)
    record(WITHDRAWN, actor=actor, at=at, subject=person, facts=_facts(role, review_round))


def add_role(
    person: User, role: Role, review_round: ReviewRound | None, *, granted_by: User | None, actor: User, at: datetime
) -> Membership:
    """Write one membership in the transaction of the act that decided on it. Raises RoleConflict."""
    membership, is_new = Membership.objects.get_or_create(
        user=person, role=role, round=review_round, defaults={"granted_by": granted_by, "granted_at": at}
    )
    if is_new:
        check_no_role_conflict(person, role, review_round)
        forget_roles(person)
        record("role.granted", actor=actor, at=at, subject=person, facts=_facts(role, review_round))
    return membership


def removed_roles(person: User, at: datetime) -> list[RemovedRole]:
    """The roles that were removed lately and are not held again, the last one first."""
    events = AuditEvent.objects.filter(act=WITHDRAWN, subject_type="user", subject_id=str(person.pk))
    events = events.filter(at__gt=at - UNDO_FOR).select_related("actor").order_by("-pk")
    rounds = {one.slug: one for one in ReviewRound.objects.filter(slug__in=[e.facts["round"] for e in events])}
    held = {(role, slug) for role, slug in person.memberships.values_list("role", "round__slug")}
    found: dict[tuple[str, str | None], RemovedRole] = {}
    for event in events:
        role, slug = event.facts["role"], event.facts["round"]
        if (role, slug) not in held and (slug is None or slug in rounds):
            removed = RemovedRole(Role(role), rounds.get(slug or ""), event.at, event.actor)
            found.setdefault((role, slug), removed)
    return list(found.values())


def check_is_not_last_administrator(person: User) -> None:
    """Raises LastAdministrator. Locks the administrators, so that two cannot remove each other at once."""
    held = Membership.objects.select_for_update().filter(role=Role.ADMINISTRATOR, round__isnull=True)
    holders = set(held.values_list("user_id", flat=True))
    if person.pk in holders and not User.objects.filter(pk__in=holders - {person.pk}, is_active=True).exists():
        raise LastAdministrator


def forget_roles(person: User) -> None:
    """Drop the answer that permissions keep on the person object."""
    person.__dict__.pop("_site_roles", None)


def _check_is_not_self(person: User, actor: User) -> None:
    if person.pk == actor.pk:
        raise OwnRoles


def _facts(role: Role, review_round: ReviewRound | None) -> dict[str, str | None]:
    return {"role": role.value, "round": review_round.slug if review_round else None}
