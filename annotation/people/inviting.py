"""One-time links: whoever opens one gets the role that it names. Only the hash of a token is kept."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from annotation.audit.recording import record
from annotation.enums import Role, RoundState
from annotation.models import Invitation, Membership, ReviewRound, User
from annotation.people.barring import check_not_barred
from annotation.people.scope import check_scope


class HasRoleAlready(Exception):
    """The person with this address holds the role already: there is nothing to invite to."""


class PersonIsDeactivated(Exception):
    """The address belongs to an account that may not log in; a link would lead nowhere."""


class RoundIsOver(Exception):
    """The round is closed or archived: nobody joins it any more."""


class Standing(StrEnum):
    """What a link is good for."""

    OPEN = "open"
    USED = "used"
    REVOKED = "revoked"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class IssuedInvitation:
    """An invitation with its token. The token exists nowhere else: shown once, it cannot be shown again."""

    invitation: Invitation
    token: str


@transaction.atomic
def invite(
    role: Role,
    *,
    email: str,
    name: str,
    actor: User | None,
    at: datetime,
    review_round: ReviewRound | None = None,
) -> IssuedInvitation:
    """Issue a link for a role on the site or in one round. An open link for the same address and role is replaced.

    ``email`` empty: whoever opens the link gives theirs. ``actor`` None: the program (the first administrator).
    Raises RoleNotThere, HasRoleAlready, PersonIsDeactivated, RoleBarred.
    """
    check_scope(role, review_round)
    email = email.strip().lower()
    if email:
        _check_is_useful(email, role, review_round)
        same = Invitation.objects.filter(email=email, role=role, round=review_round)
        _revoke(_open(same, at), actor=actor, at=at)
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        token_sha256=token_sha256(token),
        email=email,
        name=name,
        role=role,
        round=review_round,
        created_by=actor,
        created_at=at,
        expires_at=at + timedelta(days=settings.INVITATION_DAYS),
    )
    facts = {"role": role.value, "round": review_round.slug if review_round else None}
    record("person.invited", actor=actor, at=at, subject=invitation, facts=facts)
    return IssuedInvitation(invitation, token)


def invite_to_round(
    review_round: ReviewRound, email: str, name: str, role: Role, actor: User, at: datetime
) -> IssuedInvitation:
    """Issue a link for a role in one round. Raises RoundIsOver, and what ``invite`` raises."""
    if review_round.state == RoundState.CLOSED or review_round.archived_at is not None:
        raise RoundIsOver
    return invite(role, email=email, name=name, review_round=review_round, actor=actor, at=at)


@transaction.atomic
def revoke(invitation: Invitation, *, actor: User, at: datetime) -> None:
    """Make a link useless. One that is used, revoked or expired stays as it is."""
    _revoke(_open(Invitation.objects.filter(pk=invitation.pk), at), actor=actor, at=at)
    invitation.refresh_from_db()


@transaction.atomic
def restore(invitation: Invitation, *, actor: User, at: datetime) -> bool:
    """Let a revoked link work again until its day; False where it is used, expired or not revoked."""
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
    return rows.filter(revoked_at__isnull=False, used_at__isnull=True, expires_at__gt=at)


def revoke_issued_by(person: User | None, *, actor: User | None, at: datetime) -> None:
    """Make the open links useless that this person (None: the program) gave out.

    Runs in the transaction of the act that needs it.
    """
    _revoke(_open(Invitation.objects.filter(created_by=person), at), actor=actor, at=at)


def find_invitation(token: str) -> Invitation | None:
    """The invitation of a token, whatever its standing; None for a token that was never given out."""
    return Invitation.objects.select_related("round", "created_by").filter(token_sha256=token_sha256(token)).first()


def standing(invitation: Invitation, at: datetime) -> Standing:
    if invitation.used_at is not None:
        return Standing.USED
    if invitation.revoked_at is not None:
        return Standing.REVOKED
    return Standing.OPEN if invitation.is_open(at) else Standing.EXPIRED


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


def _check_is_useful(email: str, role: Role, review_round: ReviewRound | None) -> None:
    person = User.objects.filter(email=email).first()
    if person is None:
        return
    if not person.is_active:
        raise PersonIsDeactivated
    if Membership.objects.filter(user=person, role=role, round=review_round).exists():
        raise HasRoleAlready
    check_not_barred(person, role, review_round)
