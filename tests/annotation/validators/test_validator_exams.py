"""The exams of validators: against reviewers of closed rounds, and against planted defects."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.endpoints.kernels.simulated_models import JUDGES
from annotation.enums import AssignmentState, RoundState
from annotation.model_calls.request_bodies import contents_of
from annotation.models import (
    Assignment,
    Finding,
    ModelCall,
    Question,
    QuestionBank,
    Review,
    ReviewRound,
    Revision,
    User,
    ValidatorRun,
)
from annotation.review.onlookers import withheld_questions
from annotation.statistics.kernels.intervals import wilson
from annotation.validators.kernels.planted_defects import Defect
from annotation.validators.kernels.validator_exam import JudgedTwice, examine, has_fault, says_fault
from annotation.validators.taking_verdicts import take_verdicts
from annotation.validators.validator_exams import exams_by_defects, exams_by_reviewers
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.cases import make_round
from tests.annotation.validators.test_validator_pages import check, hold_for_good, send
from tests.annotation.validators.validated import answer_calls, begun, judged, judged_bank, verdict_json

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
        ("c1", {"needs_image": "no"}, True),
        ("c1", {"needs_image": "partly"}, False),
        ("c1", {"needs_image": "cannot_judge"}, None),
        ("c1", {}, None),
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
    client: Client, cora: User, reviewed: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(cora)
    judged(reviewed, "fail")
    with django_assert_max_num_queries(40):
        page = client.get(reverse("bank-validator", args=[reviewed.slug, "c3"])).content.decode()
    assert "Against reviewers of closed rounds" in page
    assert "1 / 2" in page
    assert "not tested" not in page.split("Questions that fail")[1]
    ReviewRound.objects.update(state=RoundState.OPEN)
    page = client.get(reverse("bank-validator", args=[reviewed.slug, "c3"])).content.decode()
    assert "Not tested: no question of a closed round" in page
    assert page.split("Questions that fail")[1].count("not tested") == 3


def test_not_tested_is_beside_a_verdict_on_the_page_of_a_question(
    client: Client, cora: User, reviewed: QuestionBank
) -> None:
    client.force_login(cora)
    address = reverse("question", args=[reviewed.slug, 1])
    assert "validator not tested" not in client.get(address).content.decode()
    ReviewRound.objects.update(state=RoundState.OPEN)
    assert client.get(address).content.decode().count("validator not tested") == 1


# --- against planted defects ---
OPTIONS = ["Left effusion", "Pneumothorax", "Nodule", "Cardiomegaly"]


def exam_of(bank: QuestionBank, n: int = 3, validator: str = "c3", **fields: Any) -> ValidatorRun:
    return begun(bank, validator, n_planted=n, seed=5, **fields)


def calls_of(run: ValidatorRun) -> list[ModelCall]:
    return list(ModelCall.objects.filter(batch=run.batch).select_related("revision", "batch").order_by("number"))


def test_each_question_is_asked_as_it_is_and_with_every_defect() -> None:
    bank = judged_bank(5, options=OPTIONS)
    n_before = Revision.objects.count()
    run = exam_of(bank)
    calls = calls_of(run)
    assert [(call.values or {})["defect"] for call in calls] == [
        one for one in Defect.values() if one != "side_swapped"
    ] * 3
    assert len({call.revision_id for call in calls}) == 3
    texts = [content.text for content in contents_of(run.batch, calls)]
    assert len(set(texts[:5])) == 5
    assert "Compared with the previous radiographs" in texts[3]
    assert texts == [content.text for content in contents_of(run.batch, calls_of(run))]
    assert Revision.objects.count() == n_before  # no copy is stored for anybody to meet


def test_the_share_found_of_each_kind_is_kept_and_no_question_is_judged() -> None:
    bank = judged_bank(4, options=OPTIONS)
    run = exam_of(bank, n=4)
    texts = {"none": "pass", "key_swapped": "fail", "second_true": "undecided", "recall_item": "fail"}
    said = [verdict_json(texts[d]) if (d := (call.values or {})["defect"]) in texts else "?" for call in calls_of(run)]
    answer_calls(run.batch, *said)
    take_verdicts(run, at=NOON)
    assert not Finding.objects.exists()
    [found] = exams_by_defects(bank, "c3")
    rows = {row.defect: row for row in found.rows}
    assert (rows[Defect.NONE].failed.value, rows[Defect.NONE].failed.n) == (0, 4)
    assert (rows[Defect.KEY_SWAPPED].failed.value, rows[Defect.KEY_SWAPPED].failed.ci95) == (1, wilson(4, 4))
    assert (rows[Defect.SECOND_TRUE].failed.value, rows[Defect.SECOND_TRUE].n_undecided) == (0, 4)
    assert (rows[Defect.PRIOR_MENTIONED].failed.n, rows[Defect.PRIOR_MENTIONED].n_unread) == (4, 4)
    assert rows[Defect.SIDE_SWAPPED].failed.value is None  # the key "Pneumothorax" has no side
    assert rows[Defect.KEY_SWAPPED].is_meant
    assert not rows[Defect.RECALL_ITEM].is_meant


def test_an_exam_and_a_run_do_not_stand_in_each_others_way() -> None:
    bank = judged_bank(2)
    run = exam_of(bank, n=2)
    answer_calls(run.batch, verdict_json("fail"))
    take_verdicts(run, at=NOON)
    assert judged(bank, "pass", validator="c3").taken_at is not None
    assert exam_of(bank, n=2).is_exam


def test_the_command_plants_and_prints_what_was_found(client: Client, cora: User) -> None:
    bank = judged_bank(3, options=OPTIONS)
    hold_for_good()
    dry = json.loads(check("--check=c2", "--planted=2", "--dry-run", "--json"))["checks"][0]
    assert (dry["planted"], dry["questions"], dry["calls"]) == (2, 2, 10)
    check("--check=c2", "--planted=2")
    run = ValidatorRun.objects.get()
    answer_calls(run.batch, verdict_json("fail"))
    take_verdicts(run, at=NOON)
    out = io.StringIO()
    call_command("check_questions", bank=bank.slug, results=True, stdout=out)
    told = json.loads(out.getvalue())
    [planted] = told["exams"]["c2"]["planted"]
    assert (planted["model"], planted["seed"]) == (JUDGES, 1)
    assert planted["rows"]["recall_item"]["failed"]["n"] == 2
    assert told["parts"]["c2"]["not_examined"] == 3
    client.force_login(cora)
    page = client.get(reverse("bank-validator", args=[bank.slug, "c2"])).content.decode()
    assert "question of recall in its place" in page
    assert "false alarms" in page


def test_the_page_starts_an_exam(client: Client, cora: User) -> None:
    bank = judged_bank(3)
    hold_for_good()
    client.force_login(cora)
    assert send(client, bank, check="c1", planted="2", seed="9").status_code == 302
    run = ValidatorRun.objects.select_related("batch").get()
    assert (run.is_exam, run.batch.seed, run.batch.n_calls) == (True, 9, 10)
    assert send(client, bank, check="c1", planted="5000").status_code == 422
    with override_settings(MODEL_ENDPOINTS=()):
        assert "no model endpoint" in client.get(reverse("bank-validators", args=[bank.slug])).content.decode()
