"""What a reading counts as, without a database."""

from __future__ import annotations

import pytest

from readerstudy.enums import ResponseState
from readerstudy.study.kernels.states import (
    CASE_TRANSITIONS,
    CHOSEN,
    WRONG,
    CaseAct,
    CaseState,
    counted_state,
    is_correct,
    shown_letter,
)


def test_every_state_counts_in_one_way() -> None:
    assert CHOSEN | WRONG | {ResponseState.MISSING} == set(ResponseState)
    assert not CHOSEN & WRONG


@pytest.mark.parametrize(
    ("state", "option", "correct"),
    [
        (ResponseState.ANSWERED, "B", True),
        (ResponseState.ANSWERED, "A", False),
        (ResponseState.UNCONFIRMED, "B", True),
        (ResponseState.UNCONFIRMED, "C", False),
        (ResponseState.DECLINED, "", False),
        (ResponseState.TIMED_OUT, "", False),
        (ResponseState.LATE, "B", False),
        (ResponseState.MISSING, "", None),
        (ResponseState.MISSING, "B", None),
    ],
)
def test_right_and_wrong_when_the_key_is_b(state: ResponseState, option: str, correct: bool | None) -> None:
    assert is_correct(state, option, "B") is correct


def test_no_response_is_missing() -> None:
    assert counted_state("") == counted_state(None) == ResponseState.MISSING
    assert counted_state("late") == ResponseState.LATE


def test_the_letter_on_screen_follows_the_order_shown() -> None:
    assert [shown_letter("CBDA", option) for option in "ABCD"] == ["D", "B", "A", "C"]
    assert shown_letter("CBDA", "") == shown_letter("", "A") == ""


ORDER = list(CaseState)


def test_no_place_moves_back() -> None:
    assert all(ORDER.index(following) >= ORDER.index(state) for (state, _act), following in CASE_TRANSITIONS.items())


def test_an_answer_is_final() -> None:
    assert {f for (s, _act), f in CASE_TRANSITIONS.items() if s == CaseState.ANSWERED} == {CaseState.ANSWERED}


def test_a_place_that_is_not_armed_allows_nothing_but_arming() -> None:
    assert {act for state, act in CASE_TRANSITIONS if state == CaseState.WAITING} == {CaseAct.ARM}


def test_an_opened_place_takes_whatever_a_page_sends() -> None:
    sent = {CaseAct.OPEN, CaseAct.PAINT, CaseAct.CHOOSE, CaseAct.COMMIT}
    for state in (CaseState.OPENED, CaseState.PAINTED, CaseState.RAN_OUT, CaseState.ANSWERED):
        assert sent <= {act for one, act in CASE_TRANSITIONS if one == state}
