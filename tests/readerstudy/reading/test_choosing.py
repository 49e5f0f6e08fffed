"""The choice that is saved before it is confirmed."""

from __future__ import annotations

import pytest

from readerstudy.reading.choosing import NoSuchOption
from readerstudy.reading.holding import NotOpened
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, reading_at

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
    with pytest.raises(NotOpened):
        desk.choose(desk.places[0], "A", 1, 1)


@pytest.mark.parametrize("option", ["E", "a", "AB", "\x00", "é"])
def test_there_are_four_options(desk: Desk, option: str) -> None:
    desk.open(desk.places[0], 1)
    with pytest.raises(NoSuchOption):
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
