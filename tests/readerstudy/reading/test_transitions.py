"""The table of places is complete, and goes one way only."""

from __future__ import annotations

import pytest

from readerstudy.reading.transitions import (
    TRANSITIONS,
    PlaceAct,
    PlaceFacts,
    PlaceRefused,
    PlaceState,
    place_state,
    state_after,
)

ORDER = list(PlaceState)


def test_no_place_moves_back() -> None:
    assert all(ORDER.index(following) >= ORDER.index(state) for (state, _act), following in TRANSITIONS.items())


def test_an_answer_is_final() -> None:
    assert {f for (s, _act), f in TRANSITIONS.items() if s == PlaceState.ANSWERED} == {PlaceState.ANSWERED}


def test_a_place_that_is_not_armed_allows_nothing_but_arming() -> None:
    assert {act for state, act in TRANSITIONS if state == PlaceState.WAITING} == {PlaceAct.ARM}
    with pytest.raises(PlaceRefused):
        state_after(PlaceState.WAITING, PlaceAct.OPEN)


def test_an_opened_place_takes_whatever_a_page_sends() -> None:
    sent = {PlaceAct.OPEN, PlaceAct.PAINT, PlaceAct.CHOOSE, PlaceAct.COMMIT}
    for state in (PlaceState.OPENED, PlaceState.PAINTED, PlaceState.RAN_OUT, PlaceState.ANSWERED):
        assert sent <= {act for one, act in TRANSITIONS if one == state}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (PlaceFacts(is_armed=False), PlaceState.WAITING),
        (PlaceFacts(is_armed=True), PlaceState.READY),
        (PlaceFacts(is_armed=True, opened=True), PlaceState.OPENED),
        (PlaceFacts(is_armed=True, opened=True, painted=True), PlaceState.PAINTED),
        (PlaceFacts(is_armed=False, opened=True, painted=True, closed=True), PlaceState.RAN_OUT),
        (PlaceFacts(is_armed=False, opened=True, closed=True, confirmed=True), PlaceState.ANSWERED),
    ],
)
def test_the_state_follows_from_what_is_stored(facts: PlaceFacts, expected: PlaceState) -> None:
    assert place_state(facts) == expected
