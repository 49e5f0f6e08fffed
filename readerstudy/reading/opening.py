"""Opening a case: only the next one of the order, once."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.enums import EventKind
from annotation.kept_queries import KeptInsert
from annotation.models import User
from annotation.timing.parsing import SentEvent
from annotation.timing.witnessed import SERVER
from readerstudy.enums import RemarkKind, ResponseState
from readerstudy.models import Enrolment, PresentedCase, Reading, ReadingSession, Remark, Response
from readerstudy.reading.armed import last_place, named_place, reading_of, standing_of
from readerstudy.reading.events import insert_events
from readerstudy.reading.expiring import close_run_out
from readerstudy.reading.holding import NotArmed, NotYet, check_may_read, hold_enrolment, hold_pen, rules_of

_insert = KeptInsert(Reading)


class ReadingPaused(Exception):
    """The reader takes a break; no case opens before it ends."""


class ConfidenceMissing(Exception):
    """The study asks how sure the reader was of the last answer before the next case opens."""


@transaction.atomic
def open_place(enrolment: Enrolment, public_id: str, *, session: str, actor: User, at: datetime) -> Reading:
    """The reading of a place, made now if it is the next one. Opening again changes nothing.

    Raises NotArmed, NotYet (armed, and an earlier one is not answered), ReadingPaused, ConfidenceMissing,
    ReadingRefused, NotTheReader.
    """
    held = hold_enrolment(enrolment, actor=actor)
    check_may_read(held, at)
    pen = hold_pen(held, session, at=at)
    close_run_out(held, actor=actor, at=at)
    place = named_place(held, public_id)
    return reading_of(place) or open_next(held, place, pen, at=at)


def open_next(held: Enrolment, place: PresentedCase, pen: ReadingSession, *, at: datetime) -> Reading:
    """Make the reading of a place that was never opened. Raises what open_place raises."""
    rules = rules_of(held)
    standing = standing_of(held, rules, at=at)
    if place not in standing.armed:
        raise NotArmed(f"place {place.public_id} is not armed")
    if place != standing.current:
        raise NotYet(f"place {place.public_id} is not the next one")
    if held.paused_at is not None:
        raise ReadingPaused(f"enrolment {held.public_id} is paused")
    if rules.confidence and (last := last_place(held)) is not None and needs_confidence(reading_of(last)):
        raise ConfidenceMissing(f"place {last.public_id} has no confidence")
    reading = Reading(
        enrolment=held,
        case_id=place.case_id,
        arm_id=place.order.arm_id,
        presented=place,
        position=place.position,
        opened_at=at,
    )
    _insert(reading)
    insert_events(reading, SERVER, [SentEvent(0, EventKind.OPENED, 0.0)], session=pen, at=at)
    return reading


def needs_confidence(reading: Reading | None) -> bool:
    """Whether this reading has an option that was chosen, and no word about how sure the reader was."""
    if reading is None:
        return False
    answered = Response.objects.filter(reading=reading, is_confirmed=True).exclude(option="")
    said = Remark.objects.filter(reading=reading, kind=RemarkKind.CONFIDENCE)
    return answered.exclude(state=ResponseState.LATE).exists() and not said.exists()
