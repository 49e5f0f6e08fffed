"""Acts from scripts: the same acts, the same people, the same refusals."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError

from annotation.enums import AssignmentState, RoundSteps
from annotation.models import AuditEvent, ReviewRound, User
from annotation.review.kernels.transitions import TRANSITIONS
from annotation.review.rounds import create_round
from rexvqa_site.management.commands.act import ACTS
from rexvqa_site.management.commands.write_states import states_document
from tests.annotation.review.cases import NOON
from tests.annotation.rounds.made import make_sample
from tests.commands import printed


def act(*words: str) -> str:
    return printed("act", *words)


def make_round(cora: User) -> ReviewRound:
    return create_round(make_sample(), name="Round", reviewers=[], actor=cora, at=NOON)


def test_an_act_is_done_under_the_name_of_a_person(cora: User) -> None:
    made = make_round(cora)
    said = act("round-due", made.slug, "--by", "CORA@example.org", "--with", "due_at=2099-03-01T09:00")
    assert said.startswith("The reviews are due by 1 Mar 2099, 09:00")
    assert ReviewRound.objects.get().due_at == datetime(2099, 3, 1, 9, tzinfo=UTC)
    assert AuditEvent.objects.get(act="round.due_changed").actor == cora


def test_what_cannot_be_done_says_why(cora: User, rita: User) -> None:
    make_round(cora)
    for words, said in {
        "round-open round --by nobody@example.org": "Nobody of this address may log in",
        "round-open none --by cora@example.org": "Not there, or not for this person: none",
        "round-open round --by rita@example.org": "Not there, or not for this person: round",
        "round-due round --by cora@example.org --with due_at": "Write NAME=VALUE",
        "round-due round --by cora@example.org --with due_at=soon": "Enter a valid date/time",
        "sample-archive any --by rita@example.org": "This is for people with the role: coordinator",
        "study-reader-pass trial --by cora@example.org": "Not there, or not for this person: trial",
    }.items():
        with pytest.raises(CommandError, match=said):
            act(*words.split())


def test_every_declared_act_has_a_name_of_its_own_and_says_what_was_done() -> None:
    assert len(ACTS) == len({kind.__name__ for kind in ACTS.values()})
    silent = [name for name, kind in ACTS.items() if not kind.done and "says" not in {*_defined(kind)}]
    assert not silent, f"give these acts `done` or `says`: {silent}"


def _defined(kind: type) -> set[str]:
    return {name for one in kind.__mro__[:-2] if one.__name__ != "Act" for name in vars(one)}


# --- the documentation of the states is what the program does, and the tables are complete ---


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
