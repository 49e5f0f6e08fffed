"""The table of steps: what comes next, from every stand."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from readerstudy.enrolment.kernels.steps import SHOWN, Facts, Step, done_steps, next_step
from readerstudy.enums import StudyState

NEW = Facts()
READY = Facts(consented=True, has_given_facts=True, instructed=True, display_checked=True)
DONE = replace(READY, practised=True, finished=True, declared=True)
FLAGS = (
    "has_left",
    "has_practice",
    "is_past_deadline",
    "consented",
    "has_given_facts",
    "instructed",
    "display_checked",
)


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({}, Step.CONSENT),
        ({"consented": True}, Step.FACTS),
        ({"consented": True, "has_given_facts": True}, Step.INSTRUCTIONS),
        ({"consented": True, "has_given_facts": True, "instructed": True}, Step.DISPLAY),
        ({"display_checked": True, "instructed": True, "has_given_facts": True}, Step.CONSENT),  # the first
        ({"state": StudyState.FROZEN}, Step.CONSENT),  # before the study opens
        ({"state": StudyState.CLOSED}, Step.OVER),
        ({"is_past_deadline": True}, Step.OVER),
        ({"has_left": True}, Step.LEFT),
    ],
)
def test_somebody_new(changes: dict[str, Any], step: Step) -> None:
    assert next_step(replace(NEW, **changes)) is step


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({}, Step.PRACTICE),
        ({"practised": True}, Step.MAIN),
        ({"has_practice": False}, Step.MAIN),
        ({"state": StudyState.FROZEN}, Step.NOT_YET),
        ({"state": StudyState.FROZEN, "practised": True}, Step.NOT_YET),
        ({"state": StudyState.CLOSED, "practised": True}, Step.OVER),
        ({"state": StudyState.ANALYSED, "practised": True}, Step.OVER),
        ({"is_past_deadline": True, "practised": True}, Step.OVER),
        ({"finished": True, "practised": True}, Step.DECLARATION),
        ({"finished": True, "practised": True, "state": StudyState.CLOSED}, Step.DECLARATION),
        ({"finished": True, "practised": True, "is_past_deadline": True}, Step.DECLARATION),
        ({"finished": True, "declared": True, "practised": True}, Step.DONE),
        ({"has_left": True, "practised": True}, Step.LEFT),
    ],
)
def test_somebody_who_is_ready(changes: dict[str, Any], step: Step) -> None:
    assert next_step(replace(READY, **changes)) is step


def test_nobody_reads_without_every_step_before_it() -> None:
    """Over all stands: reading needs an open study, a deadline ahead, and everything before it."""
    for values in product((False, True), repeat=len(FLAGS)):
        for state in StudyState:
            facts = Facts(state=state, **dict(zip(FLAGS, values, strict=True)))
            if next_step(facts) in {Step.PRACTICE, Step.MAIN}:
                assert facts.state == StudyState.OPEN
                assert not facts.has_left
                assert not facts.is_past_deadline
                assert all((facts.consented, facts.has_given_facts, facts.instructed, facts.display_checked))


def test_the_steps_that_are_behind() -> None:
    assert done_steps(NEW) == set()
    assert done_steps(replace(READY, has_practice=False)) == {*SHOWN[:4], Step.PRACTICE}
    assert done_steps(DONE) == set(SHOWN)
