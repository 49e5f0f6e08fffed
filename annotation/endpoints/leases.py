"""Who asks an endpoint now: one worker or probe at a time, for as long as it says so every few seconds."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from annotation.models import EndpointLease


class LeaseLost(Exception):
    """Another worker asks this endpoint by now: this one was thought dead."""


def lease_until(at: datetime) -> datetime:
    """As long as a job of a silent worker is left alone."""
    return at + timedelta(seconds=settings.JOB_STALE_SECONDS)


def is_leased(endpoint: str, *, at: datetime) -> bool:
    return EndpointLease.objects.filter(endpoint=endpoint, expires_at__gt=at).exists()


def take_lease(endpoint: str, holder: str, *, at: datetime) -> bool:
    """False while somebody else holds it."""
    with transaction.atomic():
        _lease, is_new = EndpointLease.objects.get_or_create(
            endpoint=endpoint, defaults={"holder": holder, "expires_at": lease_until(at)}
        )
        over = EndpointLease.objects.filter(endpoint=endpoint, expires_at__lte=at)
        return is_new or bool(over.update(holder=holder, expires_at=lease_until(at)))


def lock_lease(endpoint: str, holder: str, *, at: datetime) -> None:
    """Nobody else can take it until the transaction of the caller ends; renewed where a third of it is over.

    Raises LeaseLost.
    """
    own = EndpointLease.objects.select_for_update().filter(endpoint=endpoint, holder=holder).first()
    if own is None:
        raise LeaseLost
    if own.expires_at - at < timedelta(seconds=settings.JOB_STALE_SECONDS * 2 / 3):
        renew_lease(endpoint, holder, at=at)


def renew_lease(endpoint: str, holder: str, *, at: datetime) -> None:
    """Raises LeaseLost."""
    own = EndpointLease.objects.filter(endpoint=endpoint, holder=holder)
    if not own.update(expires_at=lease_until(at)):
        raise LeaseLost


def give_lease_back(endpoint: str, holder: str) -> None:
    """Another worker need not wait."""
    EndpointLease.objects.filter(endpoint=endpoint, holder=holder).delete()
