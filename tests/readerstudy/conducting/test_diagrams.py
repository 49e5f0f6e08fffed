"""The table of places is complete, and goes one way only."""

from __future__ import annotations

from readerstudy.study.kernels.states import CASE_TRANSITIONS, CaseAct, CaseState

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
