"""Opening a case: only the next one of the order, once."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

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
    NotPrefetched,
    NotYet,
    check_may_read,
    check_write_lease,
    lock_enrolment,
    rules_of,
)

_insert = KeptInsert(Reading)


class ReadingPaused(Exception):
    """The reader takes a break; no case opens before it ends."""


class GuessMissing(Exception):
    """The reader could not tell, and the next case waits for their best guess."""


class ConfidenceMissing(Exception):
    """The study asks how sure the reader was of the last answer before the next case opens."""


@transaction.atomic
def open_place(enrolment: Enrolment, public_id: str, *, session: str, actor: User, at: datetime) -> Reading:
    """The reading of a place, made now if it is the next one. Opening again changes nothing.

    Raises NotPrefetched, NotYet (prefetched, and an earlier one is not answered), ReadingPaused, GuessMissing,
    ConfidenceMissing, ReadingRefused, NotTheReader.
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
        raise ReadingPaused(f"enrolment {held.public_id} is paused")
    return _open(held, place, lease, at=at)


def open_answered(held: Enrolment, place: PresentedCase, lease: ReadingSession, *, at: datetime) -> Reading:
    """Open the place of an answer whose opening was lost; during a break too, since the answer may be older.

    Raises NotPrefetched, NotYet, GuessMissing, ConfidenceMissing.
    """
    _check_turn(held, place, at=at)
    return _open(held, place, lease, at=at)


def _check_turn(held: Enrolment, place: PresentedCase, *, at: datetime) -> None:
    """Raises NotPrefetched and NotYet."""
    standing = standing_of(held, rules_of(held), at=at)
    if place not in standing.prefetched:
        raise NotPrefetched(f"place {place.public_id} is not prefetched")
    if place != standing.current:
        raise NotYet(f"place {place.public_id} is not the next one")


def _open(held: Enrolment, place: PresentedCase, lease: ReadingSession, *, at: datetime) -> Reading:
    """Raises GuessMissing and ConfidenceMissing."""
    _check_said(held, rules_of(held))
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


def _check_said(held: Enrolment, rules: Rules) -> None:
    """Raises GuessMissing and ConfidenceMissing."""
    last = last_place(held) if rules.asks_after_the_answer else None
    asked = still_asked(reading_of(last), rules) if last is not None else None
    if last is not None and asked == RemarkKind.GUESS:
        raise GuessMissing(f"place {last.public_id} has no guess")
    if last is not None and asked == RemarkKind.CONFIDENCE:
        raise ConfidenceMissing(f"place {last.public_id} has no confidence")


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
