"""The documentation of the states is what the program does, and the tables are complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.enums import AssignmentState, RoundSteps
from annotation.review.kernels.transitions import TRANSITIONS
from rexvqa_site.management.commands.write_states import states_document

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "states.md"


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text() == states_document(), "run: manage.py write_states"


def test_reader_studies_stand_beside_reviews() -> None:
    assert "## A reader study" in states_document()


@pytest.mark.parametrize("steps", list(RoundSteps))
def test_every_state_but_the_last_one_can_be_left_and_reached(steps: RoundSteps) -> None:
    left = {state for state, _act in TRANSITIONS[steps]}
    reached = {str(following) for following in TRANSITIONS[steps].values()}
    expected = {str(state) for state in AssignmentState}
    if steps == RoundSteps.OPEN:
        expected -= {str(AssignmentState.ANSWERED)}
    assert expected - {str(AssignmentState.WITHDRAWN)} <= left
    assert expected - {str(AssignmentState.WAITING)} <= reached
