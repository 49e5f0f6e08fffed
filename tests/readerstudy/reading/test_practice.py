"""The practice block: feedback after the final answer, and the way into the main block."""

from __future__ import annotations

import pytest

from annotation.models import AuditEvent, User
from readerstudy.enums import Block
from readerstudy.models import Enrolment, Response
from readerstudy.reading.case_opening import Feedback, feedback_of, let_pass, n_right
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import SECRETS
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk
from tests.readerstudy.studies import later, places_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def practising(desk_with: MakeDesk) -> MakeDesk:
    """Rita before her two practice cases."""

    def make(**rules: object) -> Desk:
        desk = desk_with(n_cases=2, n_practice=2, **rules)
        Enrolment.objects.update(practised_at=None)
        desk.places = places_of(desk.enrolment, Block.PRACTICE)
        return desk

    return make


def feedback(desk: Desk, number: int = 0) -> Feedback | None:
    """What the stored answer to a case gives, if there is one."""
    response = Response.objects.filter(reading__presented=desk.places[number]).first()
    return feedback_of(response) if response is not None else None


def test_key_and_explanation_come_with_the_final_answer(practising: MakeDesk) -> None:
    desk = practising()
    desk.open(desk.places[0], 1)
    desk.choose(desk.places[0], "B", 1, 2)
    assert feedback(desk) is None
    desk.paint(desk.places[0], 2)
    desk.commit(desk.places[0], "A", seconds=5)
    assert feedback(desk) == Feedback(correct=False, key="B", explanation=SECRETS["explanation"])
    desk.read(desk.places[1], "B", seconds=10)
    assert feedback(desk, 1) == Feedback(correct=True, key="B", explanation=SECRETS["explanation"])


def test_a_case_that_ran_out_tells_nothing(practising: MakeDesk) -> None:
    desk = practising(time_limit_s=30)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    desk.open(desk.places[1], 40)
    assert feedback(desk) is None


def test_the_main_block_tells_nothing(desk: Desk) -> None:
    desk.read(desk.places[0], "B", seconds=1)
    assert feedback(desk) is None


def test_an_answer_that_is_not_stored_tells_nothing(practising: MakeDesk) -> None:
    desk = practising()
    reading = desk.open(desk.places[0], 1)
    assert feedback_of(Response(reading=reading, is_confirmed=True, option="B", state="answered")) is None


def test_the_main_block_follows_the_last_practice_case(practising: MakeDesk) -> None:
    desk = practising()
    for place in desk.places:
        assert Enrolment.objects.get().practised_at is None
        desk.read(place, seconds=place.position * 20)
    assert Enrolment.objects.get().practised_at == later(48)
    shown = desk.state(50)
    assert (shown.position.block, shown.position.n, shown.position.done, len(shown.cases)) == ("main", 2, 0, 2)
    assert shown.last is not None
    assert shown.last.id == desk.places[1].public_id


@pytest.mark.parametrize(("second", "passes"), [("B", True), ("A", False)])
def test_a_study_can_ask_for_right_answers(practising: MakeDesk, second: str, passes: bool) -> None:
    desk = practising(practice_pass=2)
    desk.read(desk.places[0], "B", seconds=1)
    desk.read(desk.places[1], second, seconds=20)
    assert (Enrolment.objects.get().practised_at is not None) == passes
    shown = desk.state(30)
    assert (shown.position.is_undecided, shown.finished) == (not passes, not passes)
    assert bool(shown.cases) == passes


def test_a_coordinator_lets_a_reader_go_on(practising: MakeDesk, cora: User) -> None:
    desk = practising(practice_pass=2)
    with pytest.raises(StudyRefused):
        let_pass(desk.enrolment, "too early", actor=cora, at=later(0))
    assert Enrolment.objects.get().practised_at is None
    for place in desk.places:
        desk.read(place, "A", seconds=place.position * 20)
    assert n_right(desk.enrolment) == 0
    let_pass(desk.enrolment, "pressed the wrong keys", actor=cora, at=later(99))
    let_pass(desk.enrolment, "again", actor=cora, at=later(100))
    assert Enrolment.objects.get().practised_at == later(99)
    assert AuditEvent.objects.get(act="enrolment.practice_let_pass").facts == {"reason": "pressed the wrong keys"}
    assert desk.state(101).position.block == "main"
