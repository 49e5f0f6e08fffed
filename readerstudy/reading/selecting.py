"""The choice before it is confirmed: saved at once, so that a crash or the end of the time does not lose it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.db import transaction

from annotation.case.kernels.durations import durations
from annotation.case.kernels.parsing import NO_TRACE, Trace
from annotation.enums import EventKind
from annotation.models import User
from readerstudy.models import Enrolment, PresentedCase, Reading, ReadingSession, Response
from readerstudy.reading.expiring import close_with_newer_choice
from readerstudy.reading.kernels.limits import is_in_time, is_over, taken_ms
from readerstudy.reading.prefetched import named_place
from readerstudy.reading.timing_events import add_trace, opened_reading
from readerstudy.reading.write_checks import (
    check_may_read,
    check_still_open,
    check_write_lease,
    lock_enrolment,
    malformed,
    rules_of,
)


@transaction.atomic
def save_choice(
    enrolment: Enrolment,
    public_id: str,
    option: str,
    sequence: int,
    *,
    trace: Trace = NO_TRACE,
    session: str,
    actor: User,
    at: datetime,
) -> bool:
    """Keep the option that is chosen now, empty for none; False when this changes nothing.

    An older choice than the stored one changes nothing, nor does one after the answer. One that arrives after the end
    of the case is judged by the clock of its page, as an answer is: made in time, the case ends with it, also where the
    program has closed it meanwhile; what it tells is kept in any case.
    """
    held = lock_enrolment(enrolment, actor=actor)
    place = named_place(held, public_id)
    reading = opened_reading(place)
    check_may_read(held, at)
    lease = check_write_lease(held, session, at=at)
    if option:
        check_option(place, option)
    if sequence <= reading.choice_sequence or _is_answered(reading):
        return False
    if is_over(reading.deadline_at, at) and not _is_made_in_time(held, reading, trace, lease, at=at):
        return False
    if reading.closed_at is not None:
        check_still_open(held)
    before, reading.choice, reading.choice_sequence = reading.choice, option, sequence
    reading.save(update_fields=["choice", "choice_sequence"])
    if reading.closed_at is not None and option != before:
        close_with_newer_choice(held, reading, actor=actor, at=at)
    return True


def _is_answered(reading: Reading) -> bool:
    return reading.closed_at is not None and Response.objects.filter(reading=reading, is_confirmed=True).exists()


def _is_made_in_time(held: Enrolment, reading: Reading, trace: Trace, lease: ReadingSession, *, at: datetime) -> bool:
    """Judged as if it had been submitted when it was made; a page that tells no time is judged by the server."""
    told = add_trace(reading, trace, session=lease, at=at).seen.events
    chosen = {(trace.page, event.sequence) for event in trace.events if event.kind == EventKind.SELECTED}
    others = [event for event in told if event.kind != EventKind.SUBMITTED]
    events = [replace(event, kind=EventKind.SUBMITTED) if event.key in chosen else event for event in others]
    taken = taken_ms(events, durations(events).elapsed_ms, painted_at=reading.painted_at, at=at)
    return is_in_time(taken, rules_of(held).time_limit_s)


def check_option(place: PresentedCase, option: str) -> None:
    """Refused where the case has no option of that name."""
    if len(option) != 1 or option not in place.options[: len(place.case.revision.options)]:
        raise malformed()
