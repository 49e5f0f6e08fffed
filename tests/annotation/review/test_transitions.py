"""The table of states, without a database."""

from __future__ import annotations

import itertools

import pytest

from annotation.enums import AssignmentState as State
from annotation.enums import RoundSteps
from annotation.review.kernels.transitions import (
    TRANSITIONS,
    UNFINISHED,
    Act,
    ReviewRefused,
    state_after,
)
from tests.refusals import refuses


@pytest.mark.parametrize("steps", list(RoundSteps))
def test_every_pair_is_either_in_the_table_or_refused(steps: RoundSteps) -> None:
    for state, act in itertools.product(State, Act):
        if (state, act) in TRANSITIONS[steps]:
            assert state_after(state, act, steps=steps) == TRANSITIONS[steps][state, act]
        else:
            with refuses(ReviewRefused, "changed") as refusal:
                state_after(state, act, steps=steps)
            assert refusal.value.facts["act"] == act


@pytest.mark.parametrize("steps", list(RoundSteps))
def test_withdrawn_is_the_end(steps: RoundSteps) -> None:
    assert not [pair for pair in TRANSITIONS[steps] if pair[0] == State.WITHDRAWN]


@pytest.mark.parametrize("steps", list(RoundSteps))
def test_a_submitted_review_only_ever_becomes_a_new_version(steps: RoundSteps) -> None:
    leaving = {
        act: state for (state_before, act), state in TRANSITIONS[steps].items() if state_before == State.SUBMITTED
    }
    assert leaving == {Act.SUBMIT: State.SUBMITTED}


@pytest.mark.parametrize("steps", list(RoundSteps))
def test_every_unfinished_state_can_be_finished_skipped_and_withdrawn(steps: RoundSteps) -> None:
    for state in UNFINISHED:
        acts = {act for (before, act) in TRANSITIONS[steps] if before == state}
        assert {Act.SKIP, Act.WITHDRAW} <= acts
        assert acts & {Act.SUBMIT, Act.ANSWER} or (steps, state) == (RoundSteps.OPEN, State.ANSWERED)


def test_a_full_round_has_no_submission_from_waiting_and_an_open_one_no_blind_answer() -> None:
    assert (State.WAITING, Act.SUBMIT) not in TRANSITIONS[RoundSteps.FULL]
    assert not [act for (_state, act) in TRANSITIONS[RoundSteps.OPEN] if act == Act.ANSWER]
