"""The table of states, without a database."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from annotation.enums import AssignmentState as State
from annotation.enums import RoundSteps
from annotation.review.kernels.transitions import TRANSITIONS, UNFINISHED, ReviewAct, ReviewRefused, state_after
from annotation.review.kernels.visibility import CasePart, CaseProgress, Step, current_step, visible_parts
from tests.refusals import refuses


@pytest.mark.parametrize("steps", list(RoundSteps))
def test_every_pair_is_either_in_the_table_or_refused(steps: RoundSteps) -> None:
    for state, act in itertools.product(State, ReviewAct):
        if (state, act) in TRANSITIONS[steps]:
            assert state_after(state, act, steps=steps) == TRANSITIONS[steps][state, act]
        else:
            with refuses(ReviewRefused, "changed") as refusal:
                state_after(state, act, steps=steps)
            assert refusal.value.facts["act"] == act


@pytest.mark.parametrize("steps", list(RoundSteps))
def test_what_is_finished_stays_and_what_is_not_can_be_finished_skipped_and_withdrawn(steps: RoundSteps) -> None:
    leaving = {
        state: {act: to for (before, act), to in TRANSITIONS[steps].items() if before == state} for state in State
    }
    assert leaving[State.WITHDRAWN] == {}
    assert leaving[State.SUBMITTED] == {ReviewAct.SUBMIT: State.SUBMITTED}
    for state in UNFINISHED:
        acts = set(leaving[state])
        assert {ReviewAct.SKIP, ReviewAct.WITHDRAW} <= acts
        assert acts & {ReviewAct.SUBMIT, ReviewAct.ANSWER} or (steps, state) == (RoundSteps.OPEN, State.ANSWERED)


def test_a_full_round_has_no_submission_from_waiting_and_an_open_one_no_blind_answer() -> None:
    assert (State.WAITING, ReviewAct.SUBMIT) not in TRANSITIONS[RoundSteps.FULL]
    assert not [act for (_state, act) in TRANSITIONS[RoundSteps.OPEN] if act == ReviewAct.ANSWER]


# --- What a reviewer may see, and when: every combination of how far they are, without a database ---
BOOLS = (False, True)
EVERY_STANDING = [
    CaseProgress(steps=steps, answered=answered, report_opened=report, submitted=submitted, round_open=is_open)
    for steps, answered, report, submitted, is_open in itertools.product(RoundSteps, BOOLS, BOOLS, BOOLS, BOOLS)
]
HIDDEN_AT_FIRST = {
    CasePart.KEY,
    CasePart.EXPLANATION,
    CasePart.TASK,
    CasePart.CATEGORY,
    CasePart.REPORT,
    CasePart.STATED_DIFFICULTY,
    CasePart.OWN_ANSWER,
}
ALWAYS = {CasePart.IMAGES, CasePart.METADATA, CasePart.STEM, CasePart.OPTIONS}


START = CaseProgress(steps=RoundSteps.FULL, answered=False, report_opened=False, submitted=False, round_open=True)


def standing(**changes: Any) -> CaseProgress:
    return replace(START, **changes)


def test_the_two_lists_of_this_test_name_every_part() -> None:
    assert set(CasePart) == HIDDEN_AT_FIRST | ALWAYS
    assert len(EVERY_STANDING) == 32


def test_what_a_case_is_about_is_always_visible_and_at_step_one_nothing_else() -> None:
    assert visible_parts(standing()) == ALWAYS
    assert [where for where in EVERY_STANDING if not visible_parts(where) >= ALWAYS] == []


def test_nothing_hidden_is_visible_before_the_blind_answer_whatever_else_is_stored() -> None:
    for where in EVERY_STANDING:
        if where.steps == RoundSteps.FULL and not where.answered:
            assert not visible_parts(where) & HIDDEN_AT_FIRST, where
            assert current_step(where) == Step.BLIND, where


def test_key_explanation_task_and_category_come_together_with_step_two() -> None:
    together = {CasePart.KEY, CasePart.EXPLANATION, CasePart.TASK, CasePart.CATEGORY}
    for where in EVERY_STANDING:
        shown = visible_parts(where) & together
        assert shown == (together if current_step(where) == Step.JUDGE else set()), where


def test_the_report_needs_its_own_moment_and_the_stated_difficulty_the_submission() -> None:
    for where in EVERY_STANDING:
        if CasePart.REPORT in visible_parts(where):
            assert (where.report_opened, current_step(where)) == (True, Step.JUDGE), where
        if CasePart.STATED_DIFFICULTY in visible_parts(where):
            assert (where.submitted, current_step(where)) == (True, Step.JUDGE), where


def test_closing_the_round_shows_nothing_more_and_going_on_hides_nothing() -> None:
    for where in EVERY_STANDING:
        assert visible_parts(where) == visible_parts(replace(where, round_open=True)), where
        for step in ("answered", "report_opened", "submitted"):
            assert visible_parts(replace(where, **{step: True})) >= visible_parts(where), where


def test_the_steps_of_a_full_round_one_after_the_other() -> None:
    step_two = ALWAYS | {CasePart.KEY, CasePart.EXPLANATION, CasePart.TASK, CasePart.CATEGORY, CasePart.OWN_ANSWER}
    assert visible_parts(standing(answered=True)) == step_two
    assert visible_parts(standing(answered=True, report_opened=True)) == step_two | {CasePart.REPORT}
    assert visible_parts(standing(answered=True, submitted=True)) == step_two | {CasePart.STATED_DIFFICULTY}
    assert visible_parts(standing(answered=True, report_opened=True, submitted=True)) == set(CasePart)


def test_an_open_round_starts_at_the_judgement() -> None:
    where = standing(steps=RoundSteps.OPEN)
    assert current_step(where) == Step.JUDGE
    assert visible_parts(where) == ALWAYS | {CasePart.KEY, CasePart.EXPLANATION, CasePart.TASK, CasePart.CATEGORY}
