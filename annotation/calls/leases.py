"""Who asks an endpoint now: one worker at a time, for as long as it says so every few seconds."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from annotation.models import EndpointLease

LASTS = timedelta(seconds=30)


class LeaseLost(Exception):
    """Another worker asks this endpoint by now: this one was thought dead."""


def take_lease(endpoint: str, holder: str, *, at: datetime) -> bool:
    """False while another worker holds it."""
    with transaction.atomic():
        _lease, is_new = EndpointLease.objects.get_or_create(
            endpoint=endpoint, defaults={"holder": holder, "expires_at": at + LASTS}
        )
        over = EndpointLease.objects.filter(endpoint=endpoint, expires_at__lte=at)
        return is_new or bool(over.update(holder=holder, expires_at=at + LASTS))


def renew_lease(endpoint: str, holder: str, *, at: datetime) -> None:
    """In the transaction of the caller, which nobody else can then have begun. Raises LeaseLost."""
    own = EndpointLease.objects.filter(endpoint=endpoint, holder=holder)
    if not own.update(expires_at=at + LASTS):
        raise LeaseLost


def give_lease_back(endpoint: str, holder: str) -> None:
    """Another worker need not wait."""
    EndpointLease.objects.filter(endpoint=endpoint, holder=holder).delete()
