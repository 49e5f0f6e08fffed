"""Opening a case: only the next one of the order, once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.case.kernels.parsing import SentEvent
from annotation.case.kernels.traces import SERVER
from annotation.enums import EventKind
from annotation.models import User
from readerstudy.design.kernels.rules import Rules
from readerstudy.enums import RemarkKind, ResponseState
from readerstudy.models import Enrolment, PresentedCase, Reading, ReadingSession, Remark, Response
from readerstudy.reading.expiring import close_run_out
from readerstudy.reading.prefetched import last_presented, position_of, presented_case, reading_of
from readerstudy.reading.timing_events import insert_events
from readerstudy.reading.write_checks import (
    ReadingRefused,
    check_may_read,
    check_write_lease,
    lock_enrolment,
    not_prefetched,
    rules_of,
)


@transaction.atomic
def open_case(enrolment: Enrolment, public_id: str, *, session: str, actor: User, at: datetime) -> Reading:
    """The reading of a presented case, made now if it is the next one. Opening again changes nothing.

    Refused: ``not_yet`` (prefetched, and an earlier one is not answered), ``paused``, ``guess_missing``,
    ``confidence_missing``.
    """
    locked = lock_enrolment(enrolment, actor=actor)
    check_may_read(locked, at)
    lease = check_write_lease(locked, session, at=at)
    close_run_out(locked, actor=actor, at=at)
    presented = presented_case(locked, public_id)
    reading = reading_of(presented)
    if reading is not None:
        return reading
    _check_is_next(locked, presented, at=at)
    if locked.paused_at is not None:
        raise ReadingRefused("paused", _("You are on a break. End it to continue."))
    return _open(locked, presented, lease, at=at)


def open_answered(locked: Enrolment, presented: PresentedCase, lease: ReadingSession, *, at: datetime) -> Reading:
    """Open the place of an answer whose opening was lost; during a break too, since the answer may be older."""
    _check_is_next(locked, presented, at=at)
    return _open(locked, presented, lease, at=at)


def _check_is_next(locked: Enrolment, presented: PresentedCase, *, at: datetime) -> None:
    """Refused unless it is the next case."""
    position = position_of(locked, rules_of(locked), at=at)
    if presented not in position.prefetched:
        raise not_prefetched()
    if presented != position.current:
        raise ReadingRefused("not_yet", _("A case before this one is not answered yet."))


def _open(locked: Enrolment, presented: PresentedCase, lease: ReadingSession, *, at: datetime) -> Reading:
    _check_remarks(locked, rules_of(locked))
    place = presented.case_id, presented.order.arm_id, presented.position
    reading = make_reading(locked, *place, presented=presented, opened_at=at)
    reading.save(force_insert=True)
    insert_events(reading, SERVER, [SentEvent(0, EventKind.OPENED, 0.0)], session=lease, at=at)
    return reading


def make_reading(enrolment: Enrolment, case: int, arm: int, position: int | None, **columns: Any) -> Reading:
    """The row of one reader on one case, read here or elsewhere; not stored yet."""
    return Reading(enrolment=enrolment, case_id=case, arm_id=arm, position=position, **columns)


def _check_remarks(locked: Enrolment, rules: Rules) -> None:
    """Refused while the last answer waits for a best guess, or for how sure the reader is of it."""
    last = last_presented(locked) if rules.asks_after_the_answer else None
    asked = still_asked(reading_of(last), rules) if last is not None else None
    if asked == RemarkKind.GUESS:
        raise ReadingRefused("guess_missing", _("First choose your best guess for the last case."))
    if asked == RemarkKind.CONFIDENCE:
        sentence = _("First rate how likely your last answer is to be correct.")
        raise ReadingRefused("confidence_missing", sentence)


def still_asked(reading: Reading | None, rules: Rules) -> RemarkKind | None:
    """What the reader has yet to say about an answer before the next case opens.

    After "cannot tell" a best guess; then, of an option or of the guess, how likely it is right. Nothing about an
    answer that came too late.
    """
    if reading is None or not rules.asks_after_the_answer:
        return None
    in_time = Response.objects.filter(reading=reading, is_confirmed=True).exclude(state=ResponseState.LATE)
    state = in_time.values_list("state", flat=True).first()
    if state is None:
        return None
    stored = set(Remark.objects.filter(reading=reading).values_list("kind", flat=True))
    if state == ResponseState.DECLINED and RemarkKind.GUESS not in stored:
        return RemarkKind.GUESS
    return RemarkKind.CONFIDENCE if rules.confidence and RemarkKind.CONFIDENCE not in stored else None
