"""Explanations of models are drawn evenly, graded in a round blind to the model, and count by model alone."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from msgspec import structs

from annotation.enums import QuestionState, RoundSteps
from annotation.models import (
    Assignment,
    Question,
    QuestionBank,
    ReviewRound,
    Revision,
    SampledQuestion,
    SamplingPlan,
    SeenKey,
    Settlement,
    User,
)
from annotation.outcomes.round_figures import rates_by_model
from annotation.questionbank.validity import set_gate
from annotation.review.assigning import shown_keys, who_knows_keys
from annotation.review.calibrating import possible_calibrations
from annotation.review.ending import close_round
from annotation.review.history import life_of
from annotation.review.onlookers import rounds_in_sight
from annotation.review.round_design import RoundDesign
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import SampleRefused
from annotation.review.submitting import submit_review
from annotation.validators.validator_exams import exams_by_reviewers
from readerstudy.models import PredictionRun, ReaderStudy
from readerstudy.predictions.graded_explanations import draw_explanations
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import NOON, good_judgement, images_are_there
from tests.readerstudy.predictions.made import entry_named, give_keys, import_file, keyed_bank, lines
from tests.readerstudy.studies import make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
SECRET = ("Zeta", "Omega")


@pytest.fixture
def bank() -> QuestionBank:
    """Twelve questions, which two models explained; the second one only the first nine."""
    made = keyed_bank(12)
    images_are_there(made)
    for name, n in zip(SECRET, (12, 9), strict=True):
        said = ({"id": f"Q{one}", "pred_answer": "A", "explanation": f"Words {n} on {one}."} for one in range(1, n + 1))
        import_file(entry_named(name), Target(made), lines(*said))
    return made


def draw(bank: QuestionBank, n: int = 8, **wanted: Any) -> SamplingPlan:
    runs = list(PredictionRun.objects.filter(bank=bank).values_list("public_id", flat=True))
    given: dict[str, Any] = {"runs": runs, "seed": 1, "name": "Explanations", "actor": None, "at": NOON}
    return draw_explanations(bank, n=n, **(given | wanted))


def drawn(plan: SamplingPlan) -> list[tuple[int, str]]:
    rows = SampledQuestion.objects.filter(plan=plan).order_by("position")
    return list(rows.values_list("revision__question__number", "model"))


def test_each_question_comes_once_and_the_runs_take_turns(bank: QuestionBank) -> None:
    found = drawn(draw(bank))
    assert len({number for number, _model in found}) == 8
    assert Counter(model for _number, model in found) == {"Zeta, run 1": 4, "Omega, run 1": 4}
    assert drawn(draw(bank, name="Again")) == found
    assert drawn(draw(bank, name="Other", seed=2)) != found
    one = SampledQuestion.objects.filter(plan__name="Explanations", model="Omega, run 1").select_related("revision")[0]
    number = one.revision.question.number
    assert (one.explanation, number <= 9) == (f"The model answered A. Words 9 on {number}.", True)


@pytest.mark.parametrize(
    ("wanted", "code", "sentence"),
    [
        ({"n": 13}, "too_few", "Only 12 explanations can be drawn evenly"),
        ({"n": 1}, "out_of_range", "as many explanations as there are runs"),
        ({"runs": []}, "no_run", "Choose runs"),
        ({"runs": ["nonsense"]}, "no_run", "Choose runs"),
    ],
)
def test_what_cannot_be_drawn_says_why(bank: QuestionBank, wanted: dict[str, Any], code: str, sentence: str) -> None:
    with refuses(PredictionsRefused, code, match=sentence):
        draw(bank, **wanted)
    assert not SamplingPlan.objects.exists()


def test_a_name_that_is_taken_and_runs_of_a_secret_study_are_refused(bank: QuestionBank) -> None:
    draw(bank)
    with refuses(SampleRefused, "name_taken"):
        draw(bank)
    import_file(entry_named("Silent"), Target(bank), lines({"id": "Q1", "pred_answer": "A"}))
    with refuses(PredictionsRefused, "no_explanation", match="“Silent, run 1” explains no question that can be drawn"):
        draw(bank, name="Another")
    study = make_study(name="Secret")
    give_keys(study.bank, S1=1)
    said = lines({"id": "S1", "pred_answer": "A", "explanation": "Because."})
    import_file(entry_named("Third"), Target.of_study(study), said)
    with refuses(PredictionsRefused, "no_run", match="whose results were seen"):
        draw(study.bank, n=1, name="Another")
    ReaderStudy.objects.update(unblinded_at=NOON, state="closed")
    assert drawn(draw(study.bank, n=1, name="Another")) == [(1, "Third, run 1 (Secret)")]


def test_what_fails_the_gate_or_is_withdrawn_is_not_drawn(bank: QuestionBank) -> None:
    Question.objects.filter(bank=bank, number__lte=3).update(state=QuestionState.WITHDRAWN)
    Question.objects.filter(bank=bank, number=4).update(state=QuestionState.REJECTED)
    set_gate(bank, ["expert"], actor=None, at=NOON)
    plan = draw(bank)
    assert {number for number, _model in drawn(plan)} == set(range(5, 13))
    assert plan.frame["kept_out"] == {"parts": ["expert"], "gate": "Gate, version 1", "n": 1}


def opened(bank: QuestionBank, cora: User, *reviewers: User) -> ReviewRound:
    made = create_round(
        draw(bank),
        name="Graded",
        reviewers=reviewers,
        actor=cora,
        at=NOON,
        steps=RoundSteps.OPEN,
        design=RoundDesign(percent_repeated=20),
    )
    open_round(made, actor=cora, at=NOON)
    return made


def grade(one: Assignment, clarity: int) -> None:
    said = good_judgement(grades={**good_judgement().grades, "explanation_clarity": clarity})
    said = structs.replace(said, comment="Words.")
    submit_review(one, said, actor=one.reviewer, at=NOON, simulated=True)


def test_a_reviewer_grades_each_once_without_learning_the_model(
    bank: QuestionBank, cora: User, rita: User, client: Client
) -> None:
    made = opened(bank, cora, rita)
    mine = Assignment.objects.filter(round=made, reviewer=rita)
    assert mine.count() == 8, "no hidden repeats"
    client.force_login(rita)
    for one in mine.select_related("revision__question"):
        page = client.get(reverse("review-case", args=[one.public_id])).content.decode()
        number = one.revision.question.number
        assert "Judge this explanation, which a model gave:" in page
        assert f"on {number}.</p>" in page.replace("\n", "")
        assert not any(name in page for name in SECRET)
    assert set(shown_keys().filter(reviewer=rita).values_list("pk", flat=True)) == set(
        mine.values_list("pk", flat=True)
    )
    questions = list(Question.objects.filter(bank=bank).values_list("pk", flat=True))
    assert len(list(who_knows_keys([rita.pk], questions))) == 8
    assert not SeenKey.objects.exists()


def test_it_settles_nothing_and_counts_nowhere_else(bank: QuestionBank, cora: User, rita: User, client: Client) -> None:
    Question.objects.filter(bank=bank).update(state=QuestionState.ACCEPTED)
    made = opened(bank, cora, rita)
    for one in Assignment.objects.filter(round=made).select_related("reviewer"):
        grade(one, 2)
    close_round(made, actor=cora, at=NOON + timedelta(hours=1))
    assert set(Question.objects.filter(bank=bank).values_list("state", flat=True)) == {QuestionState.ACCEPTED}
    assert not Settlement.objects.exists()
    assert rounds_in_sight(cora, bank) == ([], 0)
    assert not possible_calibrations().exists()
    assert exams_by_reviewers(bank, "images", Question.objects.none()) == []
    question = Revision.objects.get(pk=made.plan.questions.values("revision")[0]["revision"]).question
    revisions = list(Revision.objects.filter(question=question))
    assert not [one for one in life_of(question, revisions, cora) if "was reviewed" in one.sentence]
    client.force_login(cora)
    assert (
        "None in a closed round." in client.get(reverse("question", args=[bank.slug, question.number])).content.decode()
    )


def test_rates_by_model_are_there_once_it_is_closed(
    bank: QuestionBank, cora: User, rita: User, remo: User, client: Client
) -> None:
    made = opened(bank, cora, rita, remo)
    model_of = dict(SampledQuestion.objects.filter(plan=made.plan).values_list("revision", "model"))
    for one in Assignment.objects.filter(round=made).select_related("reviewer"):
        grade(one, 5 if model_of[one.revision_id].startswith("Zeta") else 3)
    client.force_login(cora)
    address = reverse("round", args=[made.slug])
    page = client.get(address).content.decode()
    assert "This round grades explanations that models gave" in page
    assert not any(name in page for name in SECRET)
    assert rates_by_model(made) is None
    close_round(made, actor=cora, at=NOON + timedelta(hours=1))
    found = rates_by_model(ReviewRound.objects.get(pk=made.pk))
    assert found is not None
    told = {one.model: (one.n_explanations, one.n_reviews, dict(one.shares)["Explanation clarity"]) for one in found}
    zeta, omega = told["Zeta, run 1"], told["Omega, run 1"]
    assert (zeta[0], zeta[2].count, zeta[2].n) == (4, zeta[1], zeta[1])
    assert (omega[2].count, omega[2].n, omega[2].flags) == (0, omega[1], omega[2].flags)
    assert "Zeta, run 1" in client.get(address).content.decode()


def test_a_coordinator_draws_on_the_page_of_models(bank: QuestionBank, cora: User, client: Client) -> None:
    client.force_login(cora)
    page = client.get(reverse("models-compare"), {"bank": bank.slug}).content.decode()
    runs = list(PredictionRun.objects.values_list("public_id", flat=True))
    assert all(f'value="{one}"' in page for one in runs)
    sent = {"runs": runs, "n": 4, "seed": 1, "name": "Drawn"}
    response = client.post(reverse("models-compare-explanations", args=[bank.slug]), sent, follow=True)
    assert "make a round of the sample “Drawn”" in response.content.decode()
    plan = SamplingPlan.objects.get(name="Drawn")
    assert response.redirect_chain[-1][0] == reverse("sample", args=[plan.slug]), "where a round is made of it"
    assert plan.frame["explanations"] == sorted(runs)
    sample = client.get(reverse("sample", args=[plan.slug])).content.decode()
    assert not any(name in sample for name in SECRET)
