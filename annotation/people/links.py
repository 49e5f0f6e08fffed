"""One-time links and what they give: a password, an invitation, the first administrator of a site."""

from __future__ import annotations

from datetime import datetime

from axes.utils import reset as lift_lock
from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import Membership, User
from annotation.people.inviting import Grant, invite, revoke_issued_by


def invitation_link(token: str) -> str:
    return f"{settings.PUBLIC_URL}{reverse('invitation', args=[token])}"


def password_link(uid: str, token: str) -> str:
    return f"{settings.PUBLIC_URL}{reverse('password-reset-confirm', args=[uid, token])}"


@transaction.atomic
def set_password(person: User, password: str, *, at: datetime) -> None:
    """Store a password that its owner chose. Ends every other session of theirs and lifts a lock after wrong tries."""
    person.set_password(password)
    person.save(update_fields=["password"])
    lift_lock(username=person.email)
    record("password.set", actor=person, at=at, subject=person)


@transaction.atomic
def issue_password_link(person: User, *, actor: User, at: datetime) -> tuple[str, str]:
    """The two parts of a link with which the person sets a password; good once, for PASSWORD_RESET_TIMEOUT.

    Recorded: who holds such a link can log in as the person.
    """
    record("password.link_issued", actor=actor, at=at, subject=person)
    return urlsafe_base64_encode(force_bytes(person.pk)), default_token_generator.make_token(person)


@transaction.atomic
def first_administrator_link(at: datetime) -> str | None:
    """A one-time link that makes an administrator; None while an active administrator exists.

    Asking again makes a new link and revokes the one before: only its hash is kept, so it cannot be shown again.
    """
    held = Membership.objects.filter(role=Role.ADMINISTRATOR, round__isnull=True, user__is_active=True)
    if held.exists():
        return None
    revoke_issued_by(None, actor=None, at=at)
    issued = invite(Grant(Role.ADMINISTRATOR), email="", name="", actor=None, at=at)
    return invitation_link(issued.token)
