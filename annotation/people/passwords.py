"""Passwords: set, and the one-time link with which a person sets one."""

from __future__ import annotations

from datetime import datetime

from axes.utils import reset as lift_lock
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from annotation.audit.recording import record
from annotation.models import User


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
