"""The audit log: one row per act, written in the same transaction as the act."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.db import connection, models, transaction

from annotation.models import AuditEvent, User
from annotation.site.advisory_locks import OneAtATime, lock
from annotation.site.kept_queries import KeptQuery

FIRST = "0" * 64
_NEWEST = KeptQuery(lambda: AuditEvent.objects.order_by("-id").values_list("sha256")[:1])


def record(
    act: str,
    *,
    actor: User | None,
    at: datetime,
    subject: models.Model | None = None,
    facts: dict[str, Any] | None = None,
) -> AuditEvent:
    """Append one event that carries the hash of the one before it.

    ``facts`` hold neither a tag value of an image nor an answer key. Must run inside the transaction of the act.
    """
    event = _event(act, actor, at, subject, facts, previous=_newest())
    event.save(force_insert=True)
    return event


def record_each(
    act: str,
    subjects: Iterable[models.Model],
    *,
    actor: User | None,
    at: datetime,
    facts: dict[str, Any] | None = None,
) -> None:
    """One event for each subject of an act on many, as ``record`` writes it, in few statements."""
    previous, events = _newest(), list[AuditEvent]()
    for subject in subjects:
        events.append(_event(act, actor, at, subject, facts, previous=previous))
        previous = events[-1].sha256
    AuditEvent.objects.bulk_create(events, batch_size=500)


def record_once(act: str, *, actor: User | None, at: datetime, subject: models.Model) -> None:
    """For what is looked at again and again: an event the first time that this person does this with this thing."""
    thing = {"subject_type": subject._meta.model_name or "", "subject_id": _name_of(subject)}
    if AuditEvent.objects.filter(**thing, act=act, actor=actor).exists():
        return
    with transaction.atomic():
        record(act, actor=actor, at=at, subject=subject)


def _name_of(subject: models.Model) -> str:
    return str(getattr(subject, "public_id", None) or subject.pk)


def _newest() -> str:
    """The hash of the newest event, after which nobody else writes until the transaction ends."""
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("an audit event is written in the transaction of its act")
    lock_log()
    (previous,) = _NEWEST.first() or (FIRST,)
    return str(previous)


def _event(
    act: str,
    actor: User | None,
    at: datetime,
    subject: models.Model | None,
    facts: dict[str, Any] | None,
    *,
    previous: str,
) -> AuditEvent:
    event = AuditEvent(
        at=at,
        actor=actor,
        act=act,
        subject_type=subject._meta.model_name or "" if subject is not None else "",
        subject_id=_name_of(subject) if subject is not None else "",
        facts=facts or {},
        previous_sha256=previous,
    )
    event.sha256 = event_sha256(event)
    return event


def lock_log() -> None:
    """Let nobody else write to the log until the transaction ends. An act that does this first sees, in what it asks
    then, all that was logged before it; what is logged from now on comes after it.
    """
    lock(OneAtATime.LOG)


def event_sha256(event: AuditEvent) -> str:
    """SHA-256 over the fields of an event and the hash of the one before it."""
    fields = [
        event.previous_sha256,
        event.at.astimezone(UTC).isoformat(),  # as a database gives it back
        event.actor_id,
        event.act,
        event.subject_type,
        event.subject_id,
        event.facts,
    ]
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
