"""What the page of a case tells of its clock: stored within bounds, the first painted frame noted, a time computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import replace

from annotation.case.kernels.durations import ClockEvent, Durations, TimeFlag, durations
from annotation.case.kernels.traces import (
    ROW,
    SERVER,
    Row,
    SentEvent,
    Trace,
    TraceSoFar,
    event_columns,
    is_room_for,
    new_events,
    row_of,
    trace_so_far,
)
from annotation.enums import EventKind
from annotation.models import User
from annotation.site.sorted_tables import KeptQuery
from readerstudy.models import Enrolment, PresentedCase, Reading, ReadingSession, Response, TimingEvent
from readerstudy.reading.kernels.visibility import (
    Heard,
    Taken,
    deadline_after,
    is_in_doubt,
    most_elapsed_ms,
    since_opening_ms,
    time_taken,
)
from readerstudy.reading.prefetched import (
    ReadingRefused,
    check_may_read,
    check_write_lease,
    lock_enrolment,
    presented_case,
    reading_of,
    rules_of,
)

_STORED: KeptQuery[tuple[*Row, int | None]] = KeptQuery(
    lambda reading: TimingEvent.objects.filter(reading=reading).values_list(*(*ROW, "session_id")), int
)


class CaseTrace(Struct, frozen=True):
    """All that is known of the clock of a case, and the sittings in which it was opened or something was reported."""

    seen: TraceSoFar
    sessions: frozenset[int]


@transaction.atomic
def record_events(
    enrolment: Enrolment, public_id: str, trace: Trace, *, session: str, actor: User, at: datetime
) -> None:
    """Store events that come on their own; after the final answer nothing more is. Refused once the log is full."""
    locked = lock_enrolment(enrolment, actor=actor)
    presented = presented_case(locked, public_id)
    reading = opened_reading(presented)
    check_may_read(locked, at)
    lease = check_write_lease(locked, session, at=at)
    if reading.closed_at is not None and Response.objects.filter(reading=reading, is_confirmed=True).exists():
        return
    if not is_room_for(TimingEvent.objects.filter(reading=reading).count(), trace.events):
        sentence = _("Too many timing events were sent for this case; further ones are not stored.")
        raise ReadingRefused("too_many_events", sentence, status=422)
    insert_events(reading, trace.page, trace.events, session=lease, at=at)
    if set_painted(locked, reading, trace, at=at):
        reading.save(update_fields=["painted_at", "deadline_at"])


def opened_reading(presented: PresentedCase) -> Reading:
    """Refused where nobody has opened it."""
    reading = reading_of(presented)
    if reading is None:
        raise ReadingRefused("not_opened", _("This case was not opened."))
    return reading


def add_trace(reading: Reading, trace: Trace, *, session: ReadingSession, at: datetime) -> CaseTrace:
    """Store the events that came with an answer, and return all that there are."""
    rows = _STORED(reading.pk)
    stored = [row for row in rows if row[0] != SERVER]
    new = new_events(trace, {(row[0], row[1]) for row in stored})
    insert_events(reading, trace.page, new, session=session, at=at)
    seen = [*(row[:7] for row in stored), *(row_of(trace.page, event, at=at) for event in new)]
    return CaseTrace(
        trace_so_far(seen, is_damaged=trace.is_damaged),
        frozenset({session.pk, *(row[7] for row in rows if row[7] is not None)}),
    )


def set_painted(locked: Enrolment, reading: Reading, trace: Trace, *, at: datetime) -> bool:
    """The first painted frame starts the clock on the server, once: a deadline that is set is never moved.

    True when the row has changed; the caller saves it.
    """
    if reading.painted_at is not None or not any(event.kind == EventKind.PAINTED for event in trace.events):
        return False
    reading.painted_at = at
    reading.deadline_at = deadline_after(at, rules_of(locked).time_limit_s)
    return True


def time_of(reading: Reading, trace_so_far: CaseTrace, *, at: datetime) -> Durations:
    """First painted to the commit. A clock that cannot be read and a second sitting are flagged."""
    measured = durations(trace_so_far.seen.events, server_elapsed_ms=since_opening_ms(reading.opened_at, at))
    if TimeFlag.ABOVE_SERVER in measured.flags:  # opened while the network was away: ask what is known of the page
        measured = durations(trace_so_far.seen.events, server_elapsed_ms=_most_elapsed_ms(reading, trace_so_far, at=at))
    more = {TimeFlag.MALFORMED} if trace_so_far.seen.is_damaged else set()
    if len(trace_so_far.sessions) > 1:
        more |= {TimeFlag.RESUMED}
    flags = tuple(flag for flag in TimeFlag if flag in more or flag in measured.flags)
    if trace_so_far.seen.is_damaged:
        return Durations(None, None, None, flags)
    return replace(measured, flags=flags)


def time_within_limit(
    locked: Enrolment, reading: Reading, trace_so_far: CaseTrace, measured: Durations, *, at: datetime
) -> tuple[Taken, tuple[TimeFlag, ...]]:
    """What an answer is judged by, with its flags; of a case with a time limit they may say that it is in doubt."""
    events, known = trace_so_far.seen.events, {"opened_at": reading.opened_at, "painted_at": reading.painted_at}
    taken = time_taken(events, measured.elapsed_ms, **known, at=at)
    is_limited = rules_of(locked).time_limit_s is not None
    if not is_limited or not is_in_doubt(taken, _round_trips_ms(reading, trace_so_far.sessions)):
        return taken, measured.flags
    return taken, tuple(flag for flag in TimeFlag if flag == TimeFlag.APART or flag in measured.flags)


def _round_trips_ms(reading: Reading, sessions: frozenset[int]) -> Iterator[float]:
    """Of the other cases that were opened in these sittings, from giving out to hearing that all was on screen."""
    opened = TimingEvent.objects.filter(page=SERVER, session__in=sessions).exclude(reading=reading)
    for opened_at, painted_at in opened.values_list("reading__opened_at", "reading__painted_at"):
        if opened_at is not None and painted_at is not None:
            yield (painted_at - opened_at).total_seconds() * 1000


def insert_events(
    reading: Reading, page: str, events: Sequence[SentEvent], *, session: ReadingSession, at: datetime
) -> None:
    """One statement; an event that is there already stays as it is."""
    if events:
        of_case = {"reading": reading, "session": session}
        rows = [TimingEvent(**of_case, **event_columns(page, event, at=at)) for event in events]
        TimingEvent.objects.bulk_create(rows, ignore_conflicts=True)


def _most_elapsed_ms(reading: Reading, trace_so_far: CaseTrace, *, at: datetime) -> float | None:
    """What the server can say about a case whose opening reached it late; see kernels/visibility.py."""
    pages = {event.page for event in trace_so_far.seen.events}
    before = TimingEvent.objects.filter(
        reading__enrolment=reading.enrolment_id, page__in=pages, received_at__lt=reading.opened_at
    )
    earlier = [Heard(*row) for row in before.values_list("page", "client_ms", "received_at")]
    started = ReadingSession.objects.filter(pk__in=trace_so_far.sessions).order_by("started_at").first()
    return most_elapsed_ms(
        _painted(trace_so_far.seen.events), earlier, begun_at=started.started_at if started else None, at=at
    )


def _painted(events: Sequence[ClockEvent]) -> ClockEvent | None:
    painted = [event for event in events if event.kind == EventKind.PAINTED]
    return min(painted, key=lambda event: event.client_ms, default=None)
