"""Opening a case: the next one, once, in the order that was drawn."""

from __future__ import annotations

import pytest

from annotation.models import User
from readerstudy.models import Reading, TimingEvent
from readerstudy.reading.prefetched import ReadingRefused
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, reading_at
from tests.readerstudy.studies import enrol, later
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def test_opening_makes_the_reading_and_the_event_of_the_server(desk: Desk) -> None:
    reading = desk.open(desk.places[0], 1)
    assert (reading.opened_at, reading.position, reading.case_id) == (later(1), 1, desk.places[0].case_id)
    event = TimingEvent.objects.get()
    assert (event.page, event.kind, event.received_at) == ("server", "opened", later(1))


def test_opening_again_changes_nothing(desk: Desk) -> None:
    first = desk.open(desk.places[0], 1)
    assert desk.open(desk.places[0], 9) == first
    assert (reading_at(desk.places[0]).opened_at, TimingEvent.objects.count()) == (later(1), 1)


def test_an_armed_case_waits_for_those_before_it(desk: Desk) -> None:
    with refuses(ReadingRefused, "not_yet"):
        desk.open(desk.places[1], 1)
    desk.open(desk.places[0], 1)
    with refuses(ReadingRefused, "not_yet"):
        desk.open(desk.places[1], 2)
    desk.paint(desk.places[0], 2)
    desk.commit(desk.places[0], seconds=3)
    assert desk.open(desk.places[1], 4).position == 2


def test_a_case_further_on_is_not_there(desk: Desk) -> None:
    with refuses(ReadingRefused, "not_prefetched"):
        desk.open(desk.places[3], 1)
    assert not Reading.objects.exists()


def test_how_many_are_armed_is_a_rule_of_the_study(desk_with: MakeDesk) -> None:
    desk = desk_with(n_cases=8, n_ready=5)
    assert [place.position for place in desk.state().position.prefetched] == [1, 2, 3, 4, 5, 6]
    with refuses(ReadingRefused, "not_yet"):
        desk.open(desk.places[5], 1)
    with refuses(ReadingRefused, "not_prefetched"):
        desk.open(desk.places[6], 1)


def test_a_place_of_another_reader_is_not_there(desk: Desk, remo: User) -> None:
    theirs = Desk(enrol(desk.enrolment.study, remo)).places[0]
    with refuses(ReadingRefused, "not_prefetched"):
        desk.open(theirs, 1)


def test_nothing_opens_during_a_break(desk: Desk) -> None:
    desk.pause(1)
    with refuses(ReadingRefused, "paused"):
        desk.open(desk.places[0], 2)
    desk.resume(3)
    desk.open(desk.places[0], 4)


def test_the_next_case_waits_for_the_confidence_of_the_last(desk_with: MakeDesk) -> None:
    desk = desk_with(confidence=True)
    desk.read(desk.places[0], seconds=1)
    with refuses(ReadingRefused, "confidence_missing"):
        desk.open(desk.places[1], 10)
    desk.say(desk.places[0], "confidence", "80", seconds=11)
    desk.open(desk.places[1], 12)


def test_the_next_case_waits_for_the_best_guess_of_who_cannot_tell(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True)
    desk.decline(desk.places[0], seconds=1)
    with refuses(ReadingRefused, "guess_missing"):
        desk.open(desk.places[1], 10)
    desk.say(desk.places[0], "guess", "C", seconds=11)
    assert desk.open(desk.places[1], 12).position == 2


def test_the_guess_comes_first_and_then_how_sure_it_is(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True, confidence=True)
    desk.decline(desk.places[0], seconds=1)
    with refuses(ReadingRefused, "guess_missing"):
        desk.open(desk.places[1], 10)
    desk.say(desk.places[0], "guess", "C", seconds=11)
    with refuses(ReadingRefused, "confidence_missing"):
        desk.open(desk.places[1], 12)
    desk.say(desk.places[0], "confidence", "40", seconds=13)
    assert desk.open(desk.places[1], 14).position == 2


def test_nothing_is_asked_of_an_option_where_one_may_decline(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True)
    desk.read(desk.places[0], seconds=1)
    assert desk.open(desk.places[1], 10).position == 2


def test_nothing_is_asked_of_who_could_not_tell_too_late(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True, confidence=True, time_limit_s=5)
    assert desk.decline(desk.places[0], seconds=1, takes=20).state == "late"
    assert desk.open(desk.places[1], 30).position == 2


def test_practice_comes_before_the_main_block(desk_with: MakeDesk) -> None:
    desk = desk_with(n_practice=2)
    desk.enrolment.practised_at = None
    desk.enrolment.save()
    with refuses(ReadingRefused, "not_prefetched"):
        desk.open(desk.places[0], 1)
    assert [place.block for place in desk.state().position.prefetched] == ["practice", "practice"]
