"""Opening a case: only the next one of the order, once."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.case.kernels.parsing import SentEvent
from annotation.case.kernels.traces import SERVER
from annotation.enums import EventKind
from annotation.models import User
from annotation.site.kept_queries import KeptInsert
from readerstudy.design.kernels.rules import Rules
from readerstudy.enums import RemarkKind, ResponseState
from readerstudy.models import Enrolment, PresentedCase, Reading, ReadingSession, Remark, Response
from readerstudy.reading.expiring import close_run_out
from readerstudy.reading.prefetched import last_place, named_place, reading_of, standing_of
from readerstudy.reading.timing_events import insert_events
from readerstudy.reading.write_checks import (
    ReadingRefused,
    check_may_read,
    check_write_lease,
    lock_enrolment,
    not_prefetched,
    rules_of,
)

_insert = KeptInsert(Reading)


@transaction.atomic
def open_place(enrolment: Enrolment, public_id: str, *, session: str, actor: User, at: datetime) -> Reading:
    """The reading of a presented case, made now if it is the next one. Opening again changes nothing.

    Refused: ``not_yet`` (prefetched, and an earlier one is not answered), ``paused``, ``guess_missing``,
    ``confidence_missing``.
    """
    held = lock_enrolment(enrolment, actor=actor)
    check_may_read(held, at)
    lease = check_write_lease(held, session, at=at)
    close_run_out(held, actor=actor, at=at)
    place = named_place(held, public_id)
    reading = reading_of(place)
    if reading is not None:
        return reading
    _check_turn(held, place, at=at)
    if held.paused_at is not None:
        raise ReadingRefused("paused", _("You are on a break. End it to continue."))
    return _open(held, place, lease, at=at)


def open_answered(held: Enrolment, place: PresentedCase, lease: ReadingSession, *, at: datetime) -> Reading:
    """Open the place of an answer whose opening was lost; during a break too, since the answer may be older."""
    _check_turn(held, place, at=at)
    return _open(held, place, lease, at=at)


def _check_turn(held: Enrolment, place: PresentedCase, *, at: datetime) -> None:
    """Refused unless it is the next case."""
    standing = standing_of(held, rules_of(held), at=at)
    if place not in standing.prefetched:
        raise not_prefetched()
    if place != standing.current:
        raise ReadingRefused("not_yet", _("A case before this one is not answered yet."))


def _open(held: Enrolment, place: PresentedCase, lease: ReadingSession, *, at: datetime) -> Reading:
    _check_remarks(held, rules_of(held))
    reading = Reading(
        enrolment=held,
        case_id=place.case_id,
        arm_id=place.order.arm_id,
        presented=place,
        position=place.position,
        opened_at=at,
    )
    _insert(reading)
    insert_events(reading, SERVER, [SentEvent(0, EventKind.OPENED, 0.0)], session=lease, at=at)
    return reading


def _check_remarks(held: Enrolment, rules: Rules) -> None:
    """Refused while the last answer waits for a best guess, or for how sure the reader is of it."""
    last = last_place(held) if rules.asks_after_the_answer else None
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
    said = set(Remark.objects.filter(reading=reading).values_list("kind", flat=True))
    if state == ResponseState.DECLINED and RemarkKind.GUESS not in said:
        return RemarkKind.GUESS
    return RemarkKind.CONFIDENCE if rules.confidence and RemarkKind.CONFIDENCE not in said else None
