"""Accounts that come, rest and come back. None is ever deleted: reviews and the audit log name them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import IntegrityError, transaction

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import User
from annotation.people.granting import OwnRoles, check_is_not_last_administrator, grant
from annotation.people.inviting import revoke_issued_by


class AddressTaken(Exception):
    """Another account has this e-mail address."""


@transaction.atomic
def add_person(*, email: str, name: str, time_zone: str, roles: Collection[Role], actor: User, at: datetime) -> User:
    """An account without a password: its owner sets one with a one-time link. Raises AddressTaken."""
    person = new_account(email, None, name=name, time_zone=time_zone)
    record("person.added", actor=actor, at=at, subject=person)
    for role in roles:
        grant(person, role, actor=actor, at=at)
    return person


def new_account(email: str, password: str | None, *, name: str, time_zone: str) -> User:
    """The row of a new person, in the transaction of the act that needs it. Raises AddressTaken, also in a race."""
    try:
        with transaction.atomic():
            return User.objects.create_user(email, password, name=name, time_zone=time_zone)
    except IntegrityError as reason:
        raise AddressTaken from reason


@transaction.atomic
def deactivate(person: User, *, actor: User, at: datetime) -> None:
    """Log the person out for good and revoke the open links that they gave out; roles and work stay.

    Doing it twice changes nothing. Raises OwnRoles for oneself, LastAdministrator.
    """
    if person.pk == actor.pk:
        raise OwnRoles
    check_is_not_last_administrator(person)
    if not User.objects.filter(pk=person.pk, is_active=True).update(is_active=False):
        return
    person.is_active = False
    revoke_issued_by(person, actor=actor, at=at)
    record("person.deactivated", actor=actor, at=at, subject=person)


@transaction.atomic
def reactivate(person: User, *, actor: User, at: datetime) -> None:
    """Let the person log in again, with the roles and the password they had. Doing it twice changes nothing."""
    if not User.objects.filter(pk=person.pk, is_active=False).update(is_active=True):
        return
    person.is_active = True
    record("person.reactivated", actor=actor, at=at, subject=person)


@transaction.atomic
def change_profile(person: User, *, name: str, time_zone: str, at: datetime) -> None:
    """What people say about themselves."""
    person.name = name
    person.time_zone = time_zone
    person.save(update_fields=["name", "time_zone"])
    record("profile.changed", actor=person, at=at, subject=person, facts={"time_zone": time_zone})
