"""Breaks: after the case that is open, until the reader ends them."""

from __future__ import annotations

import pytest

from annotation.models import AuditEvent
from readerstudy.models import Enrolment
from readerstudy.reading.prefetched import ReadingRefused
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk
from tests.readerstudy.studies import later
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def test_the_open_case_can_still_be_answered(desk: Desk) -> None:
    desk.open(desk.places[0], 1)
    desk.pause(2)
    desk.paint(desk.places[0], 3)
    assert desk.commit(desk.places[0], seconds=9).state == "answered"
    assert desk.state(10).paused


@pytest.mark.logs("reading.session_started", "reading.paused")
def test_pausing_twice_keeps_the_first_moment(desk: Desk) -> None:
    desk.pause(2)
    desk.pause(9)
    assert Enrolment.objects.get().paused_at == later(2)
    desk.resume(62)
    desk.resume(70)
    assert Enrolment.objects.get().paused_at is None
    assert AuditEvent.objects.get(act="reading.resumed").facts == {"seconds": 60}


def test_a_study_can_do_without_breaks(desk_with: MakeDesk) -> None:
    desk = desk_with(may_pause=False)
    with refuses(ReadingRefused, "no_pause"):
        desk.pause(1)


def test_a_study_with_breaks_of_its_own_lets_readers_take_them(desk_with: MakeDesk) -> None:
    desk = desk_with(may_pause=False, break_every=2)
    desk.pause(1)
    assert desk.state(2).paused


def breaks_before(desk: Desk, seconds: float) -> list[int]:
    """The positions before which the page knows of a break."""
    return [case.position for case in desk.state(seconds).cases if case.break_before]


def test_the_page_knows_of_a_break_before_it_asks_for_the_case_after_it(desk_with: MakeDesk) -> None:
    desk = desk_with(n_cases=5, break_every=2)
    known = [breaks_before(desk, 0)]
    for place in desk.places[:4]:
        desk.read(place, seconds=place.position * 20)
        known.append(breaks_before(desk, place.position * 20 + 10))
    assert known == [[3], [3], [3, 5], [5], [5]]
    desk.open(desk.places[4], 100)
    assert breaks_before(desk, 101) == []


def test_no_break_in_the_practice_block(desk_with: MakeDesk) -> None:
    desk = desk_with(n_practice=3, break_every=1)
    Enrolment.objects.update(practised_at=None)
    assert desk.state(0).position.block == "practice"
    assert breaks_before(desk, 0) == []


def test_only_the_page_with_the_pen_begins_a_break(desk: Desk) -> None:
    Desk(desk.enrolment).begin(1, take_over=True)
    with refuses(ReadingRefused, "not_the_writer"):
        desk.pause(2)
    with refuses(ReadingRefused, "not_the_writer"):
        desk.resume(2)
