"""One-time links: whoever opens one gets the roles that it names. Only the hash of a token is kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import Role, RoundState
from annotation.models import Invitation, Membership, ReviewRound, User
from annotation.people.role_conflicts import check_no_role_conflict, check_scope


class HasRoleAlready(Exception):
    """The person with this address holds these roles already: there is nothing to invite to."""

    def __init__(self, grants: Sequence[Grant]) -> None:
        super().__init__(", ".join(grant.label for grant in grants))


class PersonIsDeactivated(Exception):
    """The address belongs to an account that may not log in; a link would lead nowhere."""


class RoundIsOver(Exception):
    """The round is closed or archived: nobody joins it any more."""


class LinkState(StrEnum):
    """What a link is good for."""

    OPEN = "open"
    USED = "used"
    REVOKED = "revoked"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Grant:
    """A role to give: on the whole site, or in one round."""

    role: Role
    round: ReviewRound | None = None

    @property
    def label(self) -> str:
        role = _(self.role.label)
        return role if self.round is None else _("%(role)s of “%(round)s”") % {"role": role, "round": self.round.name}


# Roles of a link, and those of other open ones, that somebody new may hold together, as found earlier in one request:
# the answer is the same for everybody new, and asking takes a transaction.
Agreed = set[tuple[frozenset[Grant], frozenset[Grant]]]


@dataclass(frozen=True, slots=True)
class IssuedInvitation:
    """A link: its token and the roles that it gives. The token exists nowhere else and cannot be shown again."""

    invitations: tuple[Invitation, ...]
    token: str

    @property
    def invitation(self) -> Invitation:
        return self.invitations[0]


@transaction.atomic
def invite(
    *grants: Grant,
    email: str,
    name: str,
    actor: User | None,
    at: datetime,
    agreed: Agreed | None = None,
) -> IssuedInvitation:
    """Issue one link for roles on the site or in rounds. An open one for the same address and role is replaced.

    ``email`` empty: whoever opens the link gives theirs. ``actor`` None: the program (the first administrator).
    Raises what ``check_can_invite`` raises.
    """
    email = email.strip().lower()
    check_can_invite(*grants, email=email, name=name, at=at, agreed=agreed)
    token = secrets.token_urlsafe(32)
    rows = [_stored(grant, token, email, name, actor, at) for grant in grants]
    return IssuedInvitation(tuple(rows), token)


def check_can_invite(*grants: Grant, email: str, name: str, at: datetime, agreed: Agreed | None = None) -> None:
    """Whether these roles can be given by one link; stores nothing.

    Raises RoleNotThere, RoundIsOver, HasRoleAlready, PersonIsDeactivated, and RoleConflict for roles that the person
    must not hold, or not both, nor beside those of another open link for the address. ``agreed``: see Agreed.
    """
    for grant in grants:
        check_scope(grant.role, grant.round)
        _check_is_running(grant.round)
    person = User.objects.filter(email=email).first() if email else None
    if person is not None:
        _check_is_useful(person, grants)
    waiting = [Grant(Role(one.role), one.round) for one in open_invitations(at).filter(email=email)] if email else []
    question = frozenset(grants), frozenset(waiting)
    if person is None and agreed is not None and question in agreed:
        return
    _check_go_together(person, grants, waiting, name or email)
    if person is None and agreed is not None:
        agreed.add(question)


@transaction.atomic
def revoke(invitation: Invitation, *, actor: User, at: datetime) -> None:
    """Take this role from its link, which is useless without another one. One that is used, revoked or expired stays
    as it is.
    """
    _revoke(_open(Invitation.objects.filter(pk=invitation.pk), at), actor=actor, at=at)
    invitation.refresh_from_db()


@transaction.atomic
def restore(invitation: Invitation, *, actor: User, at: datetime) -> bool:
    """Let a link give a revoked role again until its day; False where it is used, expired or not revoked."""
    held = revoked_invitations(at).select_for_update(of=("self",)).filter(pk=invitation.pk).first()
    if held is None:
        return False
    held.revoked_at = None
    held.save(update_fields=["revoked_at"])
    record("invitation.restored", actor=actor, at=at, subject=held)
    return True


def revoked_invitations(at: datetime) -> QuerySet[Invitation]:
    """Links that were revoked and would still work, newest first."""
    rows = Invitation.objects.select_related("round", "created_by")
    used = Invitation.objects.filter(token_sha256=OuterRef("token_sha256"), used_at__isnull=False)
    return rows.filter(~Exists(used), revoked_at__isnull=False, expires_at__gt=at)


def revoke_issued_by(person: User | None, *, actor: User | None, at: datetime) -> None:
    """Make the open links useless that this person (None: the program) gave out.

    Runs in the transaction of the act that needs it.
    """
    _revoke(_open(Invitation.objects.filter(created_by=person), at), actor=actor, at=at)


def find_invitation(token: str) -> Invitation | None:
    """The invitation of a token, whatever its standing; None for a token that was never given out."""
    rows = Invitation.objects.select_related("round", "created_by").filter(token_sha256=token_sha256(token))
    return rows.order_by(F("revoked_at").asc(nulls_first=True), "pk").first()


def roles_of_link(invitation: Invitation) -> list[Invitation]:
    """Every role that the link of this invitation gives; those that were revoked are not among them."""
    rows = Invitation.objects.select_related("round", "created_by").filter(token_sha256=invitation.token_sha256)
    return list(rows.filter(revoked_at__isnull=True).order_by("pk"))


def standing(invitation: Invitation, at: datetime) -> LinkState:
    if invitation.used_at is not None:
        return LinkState.USED
    if invitation.revoked_at is not None:
        return LinkState.REVOKED
    return LinkState.OPEN if invitation.is_open(at) else LinkState.EXPIRED


def open_invitations(at: datetime) -> QuerySet[Invitation]:
    """Links that can still be used, newest first."""
    return _open(Invitation.objects.select_related("round", "created_by"), at)


def token_sha256(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _open(rows: QuerySet[Invitation], at: datetime) -> QuerySet[Invitation]:
    return rows.filter(used_at__isnull=True, revoked_at__isnull=True, expires_at__gt=at)


def _revoke(rows: QuerySet[Invitation], *, actor: User | None, at: datetime) -> None:
    for invitation in rows.select_for_update(of=("self",)):
        invitation.revoked_at = at
        invitation.save(update_fields=["revoked_at"])
        record("invitation.revoked", actor=actor, at=at, subject=invitation)


def _stored(grant: Grant, token: str, email: str, name: str, actor: User | None, at: datetime) -> Invitation:
    if email:
        same = Invitation.objects.filter(email=email, role=grant.role, round=grant.round)
        _revoke(_open(same, at), actor=actor, at=at)
    invitation = Invitation.objects.create(
        token_sha256=token_sha256(token),
        email=email,
        name=name,
        role=grant.role,
        round=grant.round,
        created_by=actor,
        created_at=at,
        expires_at=at + timedelta(days=settings.INVITATION_DAYS),
    )
    facts = {"role": grant.role.value, "round": grant.round.slug if grant.round else None}
    record("person.invited", actor=actor, at=at, subject=invitation, facts=facts)
    return invitation


def _check_is_running(review_round: ReviewRound | None) -> None:
    if review_round is None:
        return
    if review_round.state == RoundState.CLOSED or review_round.archived_at is not None:
        raise RoundIsOver


def _check_is_useful(person: User, grants: Sequence[Grant]) -> None:
    if not person.is_active:
        raise PersonIsDeactivated
    held = set(Membership.objects.filter(user=person).values_list("role", "round"))
    if has := [grant for grant in grants if (grant.role, grant.round and grant.round.pk) in held]:
        raise HasRoleAlready(has)


def _check_go_together(person: User | None, grants: Sequence[Grant], waiting: Sequence[Grant], called: str) -> None:
    """Raises RoleConflict. The rules look at what a person holds: these roles and those that wait in other links are
    given in a savepoint, asked about, and taken back, for somebody new as well.
    """
    if person is None and len({*grants, *waiting}) < 2:
        return
    with transaction.atomic():
        if person is None:
            person = User.objects.create_user(f"{secrets.token_hex(16)}@invalid", name=called[:200] or _("This person"))
        for grant in {*grants, *waiting}:
            Membership.objects.get_or_create(
                user=person, role=grant.role, round=grant.round, defaults={"granted_at": person.created_at}
            )
        held = User.objects.get(pk=person.pk)
        for grant in grants:
            check_no_role_conflict(held, grant.role, grant.round)
        transaction.set_rollback(True)
