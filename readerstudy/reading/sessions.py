"""Who holds the write lease: one page of one device writes for a reader, every other one looks on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.case.kernels.display import conditions_of
from annotation.models import User
from readerstudy.enrolment.inviting import has_keys_at_hand
from readerstudy.enrolment.participation import display_of
from readerstudy.enums import Block, Refusal, SessionEnd
from readerstudy.models import Enrolment, ReadingSession
from readerstudy.reading.case_opening import close_run_out
from readerstudy.reading.prefetched import (
    ReadingRefused,
    check_may_read,
    check_write_lease,
    counts_of,
    live_session,
    lock_enrolment,
    not_taken,
    rules_of,
)

LEASE = timedelta(seconds=45)  # a page that was not heard of for longer does not block another
MOST_DEVICE = 2_000  # characters of what a page says about its device


class Lease(Struct, frozen=True):
    """``session`` is the token of the page that asked; None when another page holds the write lease, ``since`` when."""

    session: str | None
    since: datetime | None = None


@transaction.atomic
def take_write_lease(
    enrolment: Enrolment,
    *,
    token: str = "",
    take_over: bool = False,
    device: dict[str, Any] | None = None,
    actor: User,
    at: datetime,
) -> Lease:
    """A new session for this page, or its own again; with ``take_over`` also from a page that is alive.

    The session of a page that was not heard of for LEASE ends here; one that nobody takes over is ended by
    ``expiring.end_left_sessions``. None begins for who could look the answers up.
    """
    locked = lock_enrolment(enrolment, actor=actor)
    check_may_read(locked, at)
    live = live_session(locked)
    if live is not None and live.public_id == token:
        ReadingSession.objects.filter(pk=live.pk).update(seen_at=at)
    elif live is not None and at - live.seen_at <= LEASE and not take_over:
        return Lease(None, live.started_at)
    else:
        if live is not None:
            _end(live, taken_over=at - live.seen_at <= LEASE, actor=actor, at=at)
        if has_keys_at_hand(actor, locked.study):
            raise not_taken(Refusal.KEYS_AT_HAND)
        told = {**(device or {}), "conditions": [*filter(None, [conditions_of(display_of(locked))])]}
        live = ReadingSession.objects.create(enrolment=locked, started_at=at, seen_at=at, device=told)
        record("reading.session_started", actor=actor, at=at, subject=live)
    close_run_out(locked, actor=actor, at=at)
    _skip_empty_practice(locked, at=at)
    return Lease(live.public_id)


def _end(live: ReadingSession, *, taken_over: bool, actor: User, at: datetime) -> None:
    live.ended_at = at
    live.end = SessionEnd.TAKEN_OVER if taken_over else SessionEnd.LAPSED
    live.save(update_fields=["ended_at", "end"])
    record(f"reading.session_{live.end}", actor=actor, at=at, subject=live)


def _skip_empty_practice(locked: Enrolment, *, at: datetime) -> None:
    """A study without practice cases begins with the main block."""
    if locked.practised_at is None and Block.PRACTICE not in counts_of(locked):
        locked.practised_at = at
        locked.save(update_fields=["practised_at"])


@transaction.atomic
def pause(enrolment: Enrolment, *, session: str, actor: User, at: datetime) -> None:
    """Twice changes nothing. Refused in a study that is read without breaks."""
    locked = lock_enrolment(enrolment, actor=actor)
    check_may_read(locked, at)
    check_write_lease(locked, session, at=at)
    rules = rules_of(locked)
    if not rules.may_pause and rules.break_every is None:
        raise ReadingRefused("no_pause", _("This study has no breaks."))
    if locked.paused_at is None:
        locked.paused_at = at
        locked.save(update_fields=["paused_at"])
        record("reading.paused", actor=actor, at=at, subject=locked)


@transaction.atomic
def resume(enrolment: Enrolment, *, session: str, actor: User, at: datetime) -> None:
    """Twice changes nothing."""
    locked = lock_enrolment(enrolment, actor=actor)
    check_may_read(locked, at)
    check_write_lease(locked, session, at=at)
    if locked.paused_at is not None:
        seconds = round((at - locked.paused_at).total_seconds())
        locked.paused_at = None
        locked.save(update_fields=["paused_at"])
        record("reading.resumed", actor=actor, at=at, subject=locked, facts={"seconds": seconds})
