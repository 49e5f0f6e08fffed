"""The end of the time of a case: closed by the program, as often as it is asked, and an answer in time still counts."""

from __future__ import annotations

import pytest

from annotation.case.kernels.traces import SentEvent, Trace
from annotation.contributions import contributing_apps
from annotation.enums import EventKind
from annotation.models import AuditEvent
from readerstudy.models import Enrolment, ReaderStudy, Response
from readerstudy.reading.case_opening import close_reading, sweep_readings
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, new_key, reading_at
from tests.readerstudy.studies import later

pytestmark = pytest.mark.django_db


def test_the_deadline_stands_from_the_first_painted_on(timed: Desk) -> None:
    assert reading_at(timed.places[0]).deadline_at == later(30)
    timed.paint(timed.places[0], 20)
    timed.open(timed.places[0], 25)
    assert (reading_at(timed.places[0]).painted_at, reading_at(timed.places[0]).deadline_at) == (later(0), later(30))
    assert timed.state(12).cases[0].seconds_left == 18


def test_the_sweep_waits_for_answers_on_their_way(timed: Desk) -> None:
    assert sweep_readings(later(62)) == 0
    assert sweep_readings(later(63)) == 1
    assert sweep_readings(later(64)) == 0


def test_the_saved_choice_is_kept_unconfirmed(timed: Desk) -> None:
    timed.choose(timed.places[0], "C", 1, 10)
    sweep_readings(later(63))
    response = Response.objects.get()
    assert (response.state, response.option, response.is_confirmed) == ("unconfirmed", "C", False)
    assert (response.limit_ms, response.active_ms, response.key) == (30_000, None, "")
    assert AuditEvent.objects.get(act="reading.ran_out").actor is None


def test_without_a_choice_the_time_is_out(timed: Desk) -> None:
    sweep_readings(later(63))
    assert (Response.objects.get().state, Response.objects.get().option) == ("timed_out", "")


def test_a_case_that_was_translated_says_so_also_where_its_time_ends(timed: Desk) -> None:
    timed.tell(timed.places[0], timed.event(EventKind.TRANSLATED, 5_000), seconds=6)
    sweep_readings(later(63))
    assert Response.objects.get().time_flags == ["translated"]


def test_closing_twice_stores_once(timed: Desk) -> None:
    reading = reading_at(timed.places[0])
    assert close_reading(reading.pk, at=later(63))
    assert not close_reading(reading.pk, at=later(63))
    assert Response.objects.count() == 1


def test_the_next_case_shows_as_soon_as_the_grace_is_over_and_opening_it_closes_this_one(timed: Desk) -> None:
    assert timed.state(32).cases[0].id == timed.places[0].public_id
    shown = timed.state(33)
    assert (shown.cases[0].id, shown.position.done) == (timed.places[1].public_id, 1)
    assert not Response.objects.exists()
    timed.open(timed.places[1], 33)
    assert (Response.objects.get().state, reading_at(timed.places[0]).closed_at) == ("timed_out", later(33))


def test_no_more_is_prefetched_than_the_rules_allow_while_a_case_that_ran_out_is_not_closed(timed: Desk) -> None:
    assert [place.id for place in timed.state(33).cases] == [place.public_id for place in timed.places[1:3]]


def test_an_answer_made_in_time_takes_the_place_of_the_unconfirmed_close(timed: Desk) -> None:
    timed.choose(timed.places[0], "C", 1, 10)
    sweep_readings(later(63))
    timed.read(timed.places[1], seconds=70)
    late = timed.commit(timed.places[0], "D", seconds=100, ms=29_000)
    assert (late.state, late.option, late.is_confirmed, late.delivered_late) == ("answered", "D", True, True)
    assert [one.option for one in Response.objects.filter(reading=late.reading)] == ["C", "D"]
    assert reading_at(timed.places[0]).closed_at == later(63)


def test_an_answer_after_the_limit_is_stored_as_late_before_and_after_the_close(timed: Desk) -> None:
    late = timed.commit(timed.places[0], "D", seconds=40, ms=33_000)
    assert (late.state, late.option, late.limit_ms) == ("late", "D", 30_000)
    timed.open(timed.places[1], 50)
    timed.paint(timed.places[1], 50)
    sweep_readings(later(200))
    late = timed.commit(timed.places[1], "D", seconds=210, ms=90_000)
    assert (late.state, late.is_confirmed) == ("late", True)


def test_a_slow_network_does_not_make_an_answer_late(timed: Desk) -> None:
    response = timed.commit(timed.places[0], "B", seconds=50, ms=29_000)
    assert (response.state, response.delivered_late) == ("answered", True)


def test_the_last_case_that_runs_out_finishes_the_reading(desk_with: MakeDesk) -> None:
    desk = desk_with(n_cases=1, time_limit_s=30)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    sweep_readings(later(63))
    assert Enrolment.objects.get().finished_at == later(63)


def test_a_case_that_never_was_on_screen_does_not_run_out(desk_with: MakeDesk) -> None:
    desk = desk_with(time_limit_s=30)
    desk.open(desk.places[0], 0)
    assert sweep_readings(later(9_999)) == 0


@pytest.mark.parametrize(
    ("table", "end"),
    [
        (ReaderStudy, "closed_at"),
        (ReaderStudy, "deadline_at"),
        (Enrolment, "deadline_at"),
        (Enrolment, "withdrawn_at"),
        (Enrolment, "replaced_at"),
    ],
)
@pytest.mark.parametrize(("second", "n_closed"), [(31, 0), (32, 1), (50, 1)])
def test_a_case_that_an_end_of_reading_interrupts_does_not_run_out(
    timed: Desk, table: type[ReaderStudy | Enrolment], end: str, second: int, n_closed: int
) -> None:
    """The reader still had time for it and could not use it: it is missing, whenever the worker runs, and not wrong."""
    table._default_manager.update(**{end: later(second)})
    assert sweep_readings(later(9_999)) == Response.objects.count() == n_closed


def test_a_later_deadline_of_the_reader_counts(timed: Desk) -> None:
    ReaderStudy.objects.update(deadline_at=later(10))
    Enrolment.objects.update(deadline_at=later(9_000))
    assert sweep_readings(later(9_999)) == 1


def test_workers_run_the_sweep() -> None:
    assert sweep_readings in [one for app in contributing_apps() for one in app.waiting_work().sweeps]


def test_a_time_of_day_that_jumps_makes_no_answer_late(timed: Desk) -> None:
    """The clock of the device is set right by an hour while the case is on screen: its monotonic clock decides."""
    end = SentEvent(99, EventKind.SUBMITTED, 20_000, 1_763_000_000_000.0 + 3_600_000 + 20_000)
    response = timed.commit(timed.places[0], "B", seconds=20, trace=Trace(timed.page, (end,)))
    assert (response.option, response.state, response.delivered_late) == ("B", "answered", False)


def test_the_time_of_day_of_another_device_makes_no_answer_late(timed: Desk) -> None:
    """The second device is two minutes ahead; the server saw the case painted twenty seconds before the answer."""
    second = Desk(timed.enrolment)
    second.begin(5, take_over=True)
    ahead = 1_763_000_000_000.0 + 120_000
    kinds = ((EventKind.PAINTED, 8_000.0), (EventKind.SUBMITTED, 20_000.0))
    told = tuple(SentEvent(n, kind, ms, ahead + ms) for n, (kind, ms) in enumerate(kinds))
    response = second.commit(timed.places[0], "B", seconds=20, trace=Trace(second.page, told))
    assert (response.state, response.delivered_late) == ("answered", False)


def test_an_answer_after_the_limit_is_late_over_two_loads_of_the_page_as_well(timed: Desk) -> None:
    timed.page = new_key()
    timed.paint(timed.places[0], 20)
    assert timed.commit(timed.places[0], "B", seconds=40).state == "late"


def test_an_answer_that_was_made_in_time_after_a_reload_may_come_late(timed: Desk) -> None:
    timed.page = new_key()
    response = timed.commit(timed.places[0], "B", seconds=500, ms=25_000)
    assert (response.state, response.delivered_late) == ("answered", True)


def test_the_last_case_that_ran_out_is_closed_before_the_reader_is_told_that_all_is_done(desk_with: MakeDesk) -> None:
    desk = desk_with(n_cases=1, time_limit_s=30)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    shown = desk.state(33)
    assert (shown.cases, shown.finished, Enrolment.objects.get().finished_at) == ([], False, None)
    desk.begin(34)
    assert (desk.state(34).finished, Enrolment.objects.get().finished_at) == (True, later(34))
