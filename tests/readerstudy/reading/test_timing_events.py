"""The clock of a case: what is stored, the first painted, and the time that comes of it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from annotation.case.kernels import traces
from annotation.case.kernels.traces import Trace
from annotation.enums import EventKind
from readerstudy.models import ReadingSession, TimingEvent
from readerstudy.reading.prefetched import ReadingRefused
from tests.readerstudy.reading.desk import Desk, new_key, reading_at
from tests.readerstudy.studies import later
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def told() -> list[tuple[str, int]]:
    return list(TimingEvent.objects.exclude(page="server").order_by("pk").values_list("kind", "sequence"))


def test_events_are_stored_once_with_their_session(desk: Desk) -> None:
    place = desk.places[0]
    desk.open(place, 1)
    events = (desk.painted(place, 1_000), desk.event(EventKind.HEARTBEAT, 6_000))
    for seconds in (6, 7):
        desk.tell(place, *events, seconds=seconds)
    assert told() == [("painted", 1), ("heartbeat", 2)]
    stored = TimingEvent.objects.get(kind="heartbeat")
    assert (stored.session, stored.received_at) == (ReadingSession.objects.get(), later(6))


def test_only_the_first_painted_counts_for_the_server(desk: Desk) -> None:
    place = desk.places[0]
    desk.open(place, 1)
    desk.tell(place, desk.event(EventKind.HEARTBEAT, 1_000), seconds=2)
    assert reading_at(place).painted_at is None
    desk.paint(place, 3)
    desk.paint(place, 9)
    assert reading_at(place).painted_at == later(3)


def test_a_case_that_was_not_opened_has_no_clock(desk: Desk) -> None:
    with refuses(ReadingRefused, "not_opened"):
        desk.paint(desk.places[0], 1)


def test_a_case_that_is_not_there_has_none_either(desk: Desk) -> None:
    desk.places[0].public_id = "nothing"
    with refuses(ReadingRefused, "not_prefetched"):
        desk.paint(desk.places[0], 1)


def test_only_the_page_with_the_pen_tells(desk: Desk) -> None:
    desk.open(desk.places[0], 1)
    Desk(desk.enrolment).begin(2, take_over=True)
    with refuses(ReadingRefused, "not_the_writer"):
        desk.paint(desk.places[0], 3)
    assert told() == []


def test_nothing_is_added_after_the_final_answer(desk: Desk) -> None:
    desk.read(desk.places[0], seconds=1)
    before = told()
    desk.tell(desk.places[0], desk.event(EventKind.SUBMITTED, 99_000), seconds=99)
    assert told() == before


def test_a_full_log_takes_no_more_but_lets_an_answer_through(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MOST_STORED", 3)
    place = desk.places[0]
    desk.open(place, 1)
    desk.paint(place, 1)
    beats = tuple(desk.event(EventKind.HEARTBEAT, ms) for ms in (2_000.0, 3_000.0))
    with refuses(ReadingRefused, "too_many_events"):
        desk.tell(place, *beats, seconds=3)
    assert desk.commit(place, events=beats, seconds=4).active_ms == 3_000
    assert [kind for kind, _sequence in told()] == ["painted", "submitted"]


def test_a_time_that_the_server_cannot_believe_is_stored_and_flagged(desk: Desk) -> None:
    desk.open(desk.places[0], 1)
    desk.paint(desk.places[0], 1)
    response = desk.commit(desk.places[0], seconds=5, ms=14_000)
    assert (response.active_ms, response.time_flags) == (13_000, ["above_server", "doubtful"])


def test_a_clock_that_runs_backwards_is_flagged(desk: Desk) -> None:
    desk.open(desk.places[0], 1)
    desk.paint(desk.places[0], 10)
    back = desk.event(EventKind.HEARTBEAT, 4_000)
    assert "clock_backwards" in desk.commit(desk.places[0], events=(back,), seconds=20).time_flags


def test_a_time_of_day_that_was_set_back_before_a_reload_costs_no_time(desk: Desk) -> None:
    """By the time of day, what the first load told lies after the answer."""
    desk.open(desk.places[0], 1)
    desk.paint(desk.places[0], 10)
    desk.tell(desk.places[0], desk.event(EventKind.HEARTBEAT, 15_000), seconds=15)
    desk.tell(desk.places[0], desk.event(EventKind.HIDDEN, 20_000), seconds=20)
    desk.page, hour = new_key(), 3_600_000.0
    told = [desk.painted(desk.places[0], 1_000), desk.event(EventKind.SUBMITTED, 9_000)]
    back = tuple(replace(event, wall_ms=(event.wall_ms or 0) + 20_000 - hour) for event in told)
    response = desk.commit(desk.places[0], seconds=30, trace=Trace(desk.page, back))
    assert (response.active_ms, response.time_flags) == (18_000, ["reloaded"])
    assert response.time_parts == {"gap": 2_000}


def test_cases_that_were_read_offline_keep_their_times(desk: Desk) -> None:
    """Case 1 is answered online; cases 2 and 3 are read without a network, and all is sent a minute later at once."""
    first, second, third, _last = desk.places
    desk.read(first, seconds=0, takes=10)
    responses = []
    for place, start, end in ((second, 10, 35), (third, 35, 60)):
        desk.open(place, 70)
        painted, beats = desk.painted(place, start * 1000), []
        for ms in range(start * 1000 + 5_000, end * 1000, 5_000):
            beats.append(desk.event(EventKind.HEARTBEAT, ms))
        responses.append(desk.commit(place, events=(painted, *beats), seconds=70, ms=end * 1000))
    assert [(one.active_ms, one.time_flags) for one in responses] == [(25_000, []), (25_000, [])]


def test_a_fast_clock_is_found_out_offline_too(desk: Desk) -> None:
    first, second, *_rest = desk.places
    desk.read(first, seconds=0, takes=10)
    desk.open(second, 40)
    painted = desk.painted(second, 12_000)
    beats = tuple(desk.event(EventKind.HEARTBEAT, ms) for ms in range(17_000, 72_000, 5_000))
    response = desk.commit(second, events=(painted, *beats), seconds=40, ms=72_000)
    assert (response.active_ms, response.time_flags) == (60_000, ["above_server"])
