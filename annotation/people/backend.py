"""Logging in: passwords and active accounts as Django checks them, and when none is looked at any more."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db.models import QuerySet, Sum

from annotation.models import User
from annotation.people.second_factors import IS_DUE
from annotation.site.sorted_tables import KeptQuery

_BY_ID = KeptQuery(lambda pk: User.objects.filter(pk=pk), int)
_BY_ID_AND_FACTOR = KeptQuery(lambda pk: User.objects.filter(pk=pk).annotate(factor_is_due=IS_DUE), int)


class PersonHasher(Argon2PasswordHasher):
    """Argon2id with the least that OWASP recommends (19 MiB, two passes, one thread): see docs/decisions/0026."""

    time_cost, memory_cost, parallelism = 2, 19 * 1024, 1


class PersonBackend(ModelBackend):
    """Every request asks for its person, so that query is compiled once."""

    def get_user(self, user_id: int) -> User | None:
        person = (_BY_ID_AND_FACTOR if settings.SECOND_FACTOR_REQUIRED else _BY_ID).first(user_id)
        return person if person is not None and self.user_can_authenticate(person) else None


def failures_before_lock(request: object, credentials: Mapping[str, Any] | None) -> int:
    """What axes asks: of one account at one network address. Who named no account is known by the address alone."""
    has_name = bool((credentials or {}).get("username"))
    return int(settings.FAILURES_OF_ACCOUNT_THERE if has_name else settings.FAILURES_OF_ADDRESS)


def has_failed_too_often(account: str, address: str, *, at: datetime) -> bool:
    """Whether so many wrong passwords came for this account, or from this address, that none is looked at now.

    An empty account, as of a passkey that says nothing, is nobody: it would be everybody's.
    Beside the lock of an account at one address, which axes holds: asked before anything is hashed.
    """
    since = at - timedelta(hours=settings.AXES_COOLOFF_TIME)
    attempts = AccessAttempt.objects.filter(attempt_time__gte=since)
    return (
        account != "" and _failures(attempts.filter(username=account)) >= settings.FAILURES_OF_ACCOUNT
    ) or _failures(attempts.filter(ip_address=address)) >= settings.FAILURES_OF_ADDRESS


def _failures(attempts: QuerySet[AccessAttempt]) -> int:
    return attempts.aggregate(n=Sum("failures_since_start"))["n"] or 0
