"""The choice that is saved before it is confirmed."""

from __future__ import annotations

import pytest

from annotation.models import AuditEvent
from readerstudy.models import Response, TimingEvent
from readerstudy.reading.case_opening import sweep_readings
from readerstudy.reading.committing import save_choice
from readerstudy.reading.prefetched import ReadingRefused
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, new_key, reading_at
from tests.readerstudy.studies import later
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def test_the_newest_choice_stands(desk: Desk) -> None:
    place = desk.places[0]
    desk.open(place, 1)
    assert desk.choose(place, "B", 1, 2)
    assert desk.choose(place, "C", 3, 3)
    assert not desk.choose(place, "A", 2, 4)
    assert not desk.choose(place, "D", 3, 5)
    assert (reading_at(place).choice, reading_at(place).choice_sequence) == ("C", 3)


def test_a_choice_can_be_taken_back(desk: Desk) -> None:
    place = desk.places[0]
    desk.open(place, 1)
    desk.choose(place, "B", 1, 2)
    assert desk.choose(place, "", 2, 3)
    assert reading_at(place).choice == ""


def test_a_choice_needs_an_open_case(desk: Desk) -> None:
    with refuses(ReadingRefused, "not_opened"):
        desk.choose(desk.places[0], "A", 1, 1)


@pytest.mark.parametrize("option", ["E", "a", "AB", "\x00", "é"])
def test_there_are_four_options(desk: Desk, option: str) -> None:
    desk.open(desk.places[0], 1)
    with refuses(ReadingRefused, "malformed"):
        desk.choose(desk.places[0], option, 1, 2)


def test_nothing_changes_after_the_answer(desk: Desk) -> None:
    place = desk.places[0]
    desk.read(place, "A", seconds=1)
    assert not desk.choose(place, "B", 9, 10)
    assert reading_at(place).choice == ""


def test_nothing_changes_after_the_end_of_the_time(desk_with: MakeDesk) -> None:
    desk = desk_with(time_limit_s=30)
    place = desk.places[0]
    desk.open(place, 0)
    desk.paint(place, 0)
    assert desk.choose(place, "B", 1, 31)
    assert not desk.choose(place, "C", 2, 33)
    assert reading_at(place).choice == "B"


def ends() -> list[tuple[str, str, int, bool]]:
    """How the program closed the cases, the newest row last."""
    rows = Response.objects.filter(is_confirmed=False).order_by("pk")
    return [(row.state, row.option, row.choice_sequence, row.delivered_late) for row in rows]


def test_a_choice_made_in_time_that_comes_after_the_limit_is_the_one_with_which_the_case_ends(timed: Desk) -> None:
    assert timed.choose(timed.places[0], "B", 1, 50, ms=20_000)
    sweep_readings(later(63))
    assert ends() == [("unconfirmed", "B", 1, False)]


def test_a_choice_made_in_time_stands_beside_timed_out_where_the_case_is_closed_already(timed: Desk) -> None:
    sweep_readings(later(63))
    assert timed.choose(timed.places[0], "B", 1, 100, ms=20_000)
    assert ends() == [("timed_out", "", 0, False), ("unconfirmed", "B", 1, True)]
    assert reading_at(timed.places[0]).closed_at == later(63)
    told = AuditEvent.objects.get(act="reading.choice_delivered_late")
    assert (told.at, told.facts) == (later(100), {"position": 1, "sequence": 1})
    assert not timed.choose(timed.places[0], "B", 1, 101, ms=20_000)
    assert len(ends()) == 2


def test_the_newest_choice_counts_and_all_stay(timed: Desk) -> None:
    timed.choose(timed.places[0], "B", 1, 10)
    sweep_readings(later(63))
    assert timed.choose(timed.places[0], "C", 3, 100, ms=25_000)
    assert not timed.choose(timed.places[0], "A", 2, 101, ms=20_000)
    assert timed.choose(timed.places[0], "", 4, 102, ms=26_000)
    assert ends() == [("unconfirmed", "B", 1, False), ("unconfirmed", "C", 3, True), ("timed_out", "", 4, True)]


def test_the_same_choice_again_makes_no_second_row(timed: Desk) -> None:
    timed.choose(timed.places[0], "B", 1, 10)
    sweep_readings(later(63))
    assert timed.choose(timed.places[0], "B", 2, 100, ms=25_000)
    assert ends() == [("unconfirmed", "B", 1, False)]


@pytest.mark.parametrize(("ms", "is_taken"), [(32_000, True), (32_001, False)])
def test_a_choice_is_judged_by_the_clock_of_its_page_with_the_grace_of_an_answer(
    timed: Desk, ms: float, is_taken: bool
) -> None:
    sweep_readings(later(63))
    assert timed.choose(timed.places[0], "B", 1, 100, ms=ms) == is_taken
    assert len(ends()) == 1 + is_taken


def test_a_choice_that_was_made_too_late_is_kept_among_the_events(timed: Desk) -> None:
    timed.choose(timed.places[0], "B", 1, 60, ms=50_000)
    kept = TimingEvent.objects.get(kind="selected")
    assert (kept.client_ms, kept.details) == (50_000, {"option": "B"})


def test_a_page_that_tells_no_time_is_judged_by_the_server(timed: Desk) -> None:
    assert not save_choice(timed.enrolment, timed.places[0].public_id, "B", 1, at=later(33), **timed.who)


def test_a_choice_of_another_load_of_the_page_is_no_longer_ago_than_the_server_knows(timed: Desk) -> None:
    """Both loads have only the time of day in common, and that says twenty seconds."""
    timed.page = new_key()
    assert timed.choose(timed.places[0], "B", 1, 40, ms=20_000)


def test_an_answer_takes_the_place_of_every_choice(timed: Desk) -> None:
    sweep_readings(later(63))
    timed.choose(timed.places[0], "B", 1, 100, ms=20_000)
    timed.commit(timed.places[0], "D", seconds=101, ms=29_000)
    assert not timed.choose(timed.places[0], "C", 2, 102, ms=21_000)
    assert [row.option for row in Response.objects.order_by("is_confirmed", "pk")] == ["", "B", "D"]
