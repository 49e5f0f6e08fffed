"""The end of the time of a case: closed by the program with what was saved, as often as anybody asks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import and_
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from annotation.audit.recording import record
from annotation.case.kernels.time_flags import TimeFlag
from annotation.enums import EventKind
from annotation.models import User
from annotation.site.kept_queries import KeptQuery
from readerstudy.enums import ResponseState, SessionEnd
from readerstudy.models import Enrolment, Reading, ReadingSession, Response, TimingEvent
from readerstudy.reading.kernels.limits import GRACE, ON_THE_WAY, is_over, is_to_be_closed, state_without_answer
from readerstudy.reading.practice import settle_block
from readerstudy.reading.write_checks import rules_of

LEFT_AFTER = timedelta(minutes=30)  # a reader who has finished
FORGOTTEN_AFTER = timedelta(hours=12)  # a reader who has not
BY_PROGRAM = frozenset({ResponseState.UNCONFIRMED, ResponseState.TIMED_OUT, ResponseState.MISSING})
_ENDS = ("enrolment__study__closed_at", "enrolment__withdrawn_at", "enrolment__replaced_at", "until")
_AFTER_IT = reduce(and_, (Q(**{f"{end}__isnull": True}) | Q(**{f"{end}__gte": F("over")}) for end in _ENDS))
_OPEN = KeptQuery(lambda pk: Reading.objects.filter(enrolment=pk, closed_at__isnull=True), int)


def make_response(*, state: ResponseState, **columns: Any) -> Response:
    """The row of how a reading ended, here and elsewhere; not stored yet. Its state says who ended it."""
    return Response(state=state, is_confirmed=state not in BY_PROGRAM, **columns)


def sweep_readings(at: datetime) -> int:
    """Close the cases whose time ended some while ago, and end the sessions that nobody sits at.

    A case that the end of the study or of its reader's part interrupted stays open: no answer could be taken in the
    time that was left. Safe to run at any time and by several workers at once. Returns how many cases were closed.
    """
    end_left_sessions(at=at)
    due = Reading.objects.filter(closed_at__isnull=True, deadline_at__lt=at - GRACE - ON_THE_WAY)
    until = Coalesce("enrolment__deadline_at", "enrolment__study__deadline_at")
    ran_out = due.annotate(until=until, over=F("deadline_at") + GRACE).filter(_AFTER_IT)
    return sum(close_reading(pk, at=at) for pk in ran_out.values_list("pk", flat=True))


@transaction.atomic
def close_reading(pk: int, *, at: datetime) -> bool:
    """Close one reading whose time ended some while ago; False when it is closed already."""
    enrolment_id = Reading.objects.values_list("enrolment_id", flat=True).get(pk=pk)
    locked = Enrolment.objects.select_for_update(of=("self",)).select_related("study").get(pk=enrolment_id)
    reading = Reading.objects.get(pk=pk)
    if reading.closed_at is not None or not is_to_be_closed(reading.deadline_at, at):
        return False
    _close(locked, reading, actor=None, at=at)
    return True


def close_run_out(locked: Enrolment, *, actor: User, at: datetime) -> None:
    """Close the open case of this reader if its time has run out: the page asks for what comes next."""
    reading = _OPEN.first(locked.pk)
    if reading is not None and is_over(reading.deadline_at, at):
        _close(locked, reading, actor=actor, at=at)


def end_left_sessions(*, at: datetime) -> int:
    """Sessions of readers who have finished and left, and of pages that were forgotten long ago."""
    live = ReadingSession.objects.filter(ended_at__isnull=True)
    left = live.filter(enrolment__finished_at__isnull=False, seen_at__lt=at - LEFT_AFTER)
    forgotten = live.filter(seen_at__lt=at - FORGOTTEN_AFTER)
    ended = left.update(ended_at=at, end=SessionEnd.FINISHED)
    return ended + forgotten.update(ended_at=at, end=SessionEnd.LAPSED)


def end_with_choice(
    locked: Enrolment, reading: Reading, flags: Sequence[TimeFlag], *, actor: User, at: datetime
) -> None:
    """A newer choice was made in time and came after it: the case ends with it.

    Where it was closed already, that end is stored beside the first: without an answer the newest row counts.
    """
    if reading.closed_at is None:
        _close(locked, reading, flags, actor=actor, at=at)
        return
    _store_end(locked, reading, flags, delivered_late=True, at=at)
    facts = {"position": reading.position, "sequence": reading.choice_sequence}
    record("reading.choice_delivered_late", actor=actor, at=at, subject=reading, facts=facts)


def _close(
    locked: Enrolment, reading: Reading, flags: Sequence[TimeFlag] = (), *, actor: User | None, at: datetime
) -> None:
    _store_end(locked, reading, flags, at=at)
    reading.closed_at = at
    reading.save(update_fields=["closed_at"])
    record("reading.ran_out", actor=actor, at=at, subject=reading, facts={"position": reading.position})
    settle_block(locked, at=at)


def _store_end(
    locked: Enrolment, reading: Reading, flags: Sequence[TimeFlag], *, delivered_late: bool = False, at: datetime
) -> None:
    time_limit_s = rules_of(locked).time_limit_s
    was_translated = TimingEvent.objects.filter(reading=reading, kind=EventKind.TRANSLATED).exists()
    ended = make_response(
        reading=reading,
        state=state_without_answer(reading.choice),
        option=reading.choice,
        choice_sequence=reading.choice_sequence,
        delivered_late=delivered_late,
        limit_ms=time_limit_s * 1000 if time_limit_s is not None else None,
        stored_at=at,
        time_flags=[flag.value for flag in (*flags, *((TimeFlag.TRANSLATED,) if was_translated else ()))],
    )
    ended.save()
