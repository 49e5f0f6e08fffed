"""How good validators are, against reviewers of closed rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.enums import AssignmentState, RoundState
from annotation.models import Assignment, Question, QuestionBank, Review, ReviewRound, Revision, User
from annotation.review.onlookers import withheld_questions
from annotation.statistics.kernels.intervals import wilson
from annotation.validators.kernels.validator_exam import JudgedTwice, examine, has_fault, says_fault
from annotation.validators.validator_exams import exams_by_reviewers
from tests.annotation.endpoints.simulated_models import JUDGES
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.cases import make_round
from tests.annotation.validators.validated import judged, judged_bank

pytestmark = pytest.mark.django_db
NOBODY = Question.objects.none()


# --- the arithmetic ---
def table(found: int, missed: int, alarms: int, cleared: int, undecided: int = 0) -> list[JudgedTwice]:
    cells = ((found, "fail", True), (missed, "pass", True), (alarms, "fail", False), (cleared, "pass", False))
    rows = [(verdict, fault) for n, verdict, fault in cells for _ in range(n)] + [("undecided", True)] * undecided
    return [JudgedTwice(verdict, fault, f"exam {place}") for place, (verdict, fault) in enumerate(rows)]


def test_sensitivity_specificity_and_kappa() -> None:
    exam = examine(table(8, 2, 3, 27), validator="c1")
    assert (exam.n, exam.n_faulty) == (40, 10)
    assert (exam.sensitivity.value, exam.sensitivity.ci95) == (0.8, wilson(8, 10))
    assert (exam.specificity.value, exam.specificity.ci95) == (0.9, wilson(27, 30))
    expected = (11 * 10 + 29 * 30) / 40**2
    assert exam.kappa.value == pytest.approx((35 / 40 - expected) / (1 - expected))
    low, high = exam.kappa.ci95 or (2.0, -2.0)
    assert low < (exam.kappa.value or 0) < high


def test_undecided_finds_nothing_and_enters_no_kappa() -> None:
    exam = examine(table(8, 2, 3, 27, undecided=10), validator="c1")
    assert (exam.sensitivity.value, exam.sensitivity.n, exam.n_undecided) == (0.4, 20, 10)
    assert exam.kappa.n == 40


def test_nothing_to_examine_gives_no_number() -> None:
    exam = examine([], validator="c2")
    assert exam.sensitivity.value is exam.specificity.value is exam.kappa.value is None


@pytest.mark.parametrize(
    ("validator", "review", "says"),
    [
        ("images", {"needs_image": "no"}, True),
        ("images", {"needs_image": "partly"}, False),
        ("images", {"needs_image": "cannot_judge"}, None),
        ("images", {}, None),
        ("c1", {"needs_image": "no", "grades": {"educational_value": 2}}, True),
        ("c1", {"needs_image": "no", "grades": {"educational_value": 3}}, False),
        ("c1", {"needs_image": "no"}, None),
        ("c2", {"grades": {"clinical_quality": 3}}, True),
        ("c2", {"grades": {"clinical_quality": 1}}, False),
        ("c2", {"grades": {"clinical_quality": "cannot_judge"}}, None),
        ("c3", {"flags": ["unsound"]}, True),
        ("c3", {"flags": ["key_wrong", "other"]}, True),
        ("c3", {"flags": ["needs_prior"]}, False),
        ("c3", {"asked": ["needs_prior"]}, None),
    ],
)
def test_what_a_review_says_of_the_fault(validator: str, review: dict[str, Any], says: bool | None) -> None:
    given: dict[str, Any] = {"needs_image": "", "grades": {}, "flags": []} | review
    assert says_fault(validator, **given) is says


@pytest.mark.parametrize(
    ("opinions", "fault"), [([], None), ([None], None), ([True, False], False), ([True, None], True)]
)
def test_more_than_half_of_those_who_say(opinions: Sequence[bool | None], fault: bool | None) -> None:
    assert has_fault(opinions) is fault


# --- against reviewers ---
def review(asked: ReviewRound, reviewer: User, number: int, **fields: Any) -> None:
    revision = Revision.objects.get(bank=asked.plan.bank, question__number=number)
    assignment = Assignment.objects.create(
        round=asked, reviewer=reviewer, revision=revision, position=number, state=AssignmentState.SUBMITTED
    )
    given = {"verdict": "accept", "needs_image": "yes", "grades": {"clinical_quality": 5}, "submitted_at": NOON}
    Review.objects.create(assignment=assignment, **given | fields)


@pytest.fixture
def reviewed(rita: User, remo: User) -> QuestionBank:
    """c3 fails 1, 2 and 3 of 6; reviewers flag 1 and 4, and disagree on 2."""
    bank = judged_bank(6)
    asked = make_round(n_questions=0, state=RoundState.CLOSED, bank=bank)
    for number in range(1, 7):
        review(asked, rita, number, flags=["unsound"] if number in (1, 2, 4) else [])
    for number in (1, 2):
        review(asked, remo, number, flags=["key_wrong"] if number == 1 else [])
    judged(bank, "fail", "fail", "fail", "pass", "pass", "pass", validator="c3")
    return bank


def test_verdicts_meet_the_reviews_of_closed_rounds(reviewed: QuestionBank) -> None:
    [found] = exams_by_reviewers(reviewed, "c3", NOBODY)
    assert (found.model, str(found.prompt)) == (JUDGES, "c3 sound and key right v1")
    exam = found.exam
    assert (exam.n, exam.n_faulty) == (6, 2)
    assert (exam.sensitivity.count, exam.sensitivity.n) == (1, 2)
    assert (exam.specificity.count, exam.specificity.n) == (2, 4)


def test_another_model_has_an_exam_of_its_own(reviewed: QuestionBank) -> None:
    judged(reviewed, "fail", "pass", "pass", "fail", "pass", "pass", validator="c3", model="another")
    found = {one.model: one.exam for one in exams_by_reviewers(reviewed, "c3", NOBODY)}
    assert found["another"].sensitivity.value == found["another"].specificity.value == 1
    assert found[JUDGES].sensitivity.value == 0.5


def test_open_rounds_calibration_and_hidden_questions_do_not_count(reviewed: QuestionBank, rita: User) -> None:
    again = make_round(n_questions=0, name="Again", bank=reviewed)
    question = Question.objects.filter(bank=reviewed, number=1)
    revision = Revision.objects.get(question=question.get())
    Assignment.objects.create(round=again, reviewer=rita, revision=revision, position=1)
    assert exams_by_reviewers(reviewed, "c3", withheld_questions(rita))[0].exam.n == 5
    ReviewRound.objects.filter(name="Round").update(state=RoundState.OPEN)
    assert exams_by_reviewers(reviewed, "c3", NOBODY) == []


def test_the_page_shows_the_exam_or_says_that_there_is_none(
    coordinator: Client, reviewed: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    judged(reviewed, "fail")
    with django_assert_max_num_queries(40):
        page = coordinator.get(reverse("bank-validator", args=[reviewed.slug, "c3"])).content.decode()
    assert "Against reviewers of closed rounds" in page
    assert "1 / 2" in page
    assert "not tested" not in page.split("Questions that fail")[1]
    ReviewRound.objects.update(state=RoundState.OPEN)
    page = coordinator.get(reverse("bank-validator", args=[reviewed.slug, "c3"])).content.decode()
    assert "Not tested: no question of a closed round" in page
    assert page.split("Questions that fail")[1].count("not tested") == 3


def test_not_tested_is_beside_a_verdict_on_the_page_of_a_question(coordinator: Client, reviewed: QuestionBank) -> None:
    address = reverse("question", args=[reviewed.slug, 1])
    assert "validator not tested" not in coordinator.get(address).content.decode()
    ReviewRound.objects.update(state=RoundState.OPEN)
    assert coordinator.get(address).content.decode().count("validator not tested") == 1
