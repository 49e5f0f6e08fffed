"""What models answer right without the images, beside c1: which runs count, and where it stands."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags
from pytest_django.fixtures import Settings

from annotation.call_enums import CallOutcome, SentImages
from annotation.contributions import without_images
from annotation.models import Assignment, ModelCall, QuestionBank, Revision, User
from readerstudy.enums import StudyState
from readerstudy.models import ModelEntry, ReaderStudy
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import NOON, images_are_there, make_round
from tests.readerstudy.comparison.variant_runs import blind_run, complete, reading, right_on
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import make_prompt, name_endpoints, planned
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _endpoints(settings: Settings) -> None:
    name_endpoints(settings)


@pytest.fixture
def bank() -> QuestionBank:
    """Twelve questions; the key of each is B."""
    made = make_questions(12, pixels=False)
    images_are_there(made)
    return made


def told(bank: QuestionBank, *numbers: int) -> list[tuple[str, int, int]]:
    asked = Revision.objects.filter(bank=bank, **({"question__number__in": numbers} if numbers else {}))
    return [(one.model, one.n_right, one.n) for one in without_images(bank, asked)]


def test_the_newest_complete_run_without_images_of_each_listed_model_counts(bank: QuestionBank) -> None:
    blind_run(bank, *range(1, 13))
    complete(Target(bank), right_on(*range(1, 13)))
    complete(Target(bank), right_on(*range(1, 13)), images=SentImages.BLANK)
    assert told(bank) == [("Model 1", 12, 12)]
    blind_run(bank, 1, 2, 3)
    planned(Target(bank), prompt=reading(), images=SentImages.NONE)
    other = complete(Target(bank), right_on(1, 11, 12), images=SentImages.NONE, version="2")
    for number, outcome in ((11, CallOutcome.CUT), (12, CallOutcome.BROKEN)):
        call = ModelCall.objects.filter(batch=other.batch, revision__question__number=number)
        call.update(outcome=outcome, option="")
    assert told(bank) == [("Model 1", 3, 12), ("Model 2", 1, 11)]
    assert told(bank, 1, 2) == [("Model 1", 2, 2), ("Model 2", 1, 2)]
    ModelEntry.objects.filter(version="2").update(state="withdrawn")
    assert told(bank, 2) == [("Model 1", 1, 1)]


def test_nothing_is_told_of_what_a_study_asks_before_its_results_are_seen() -> None:
    study = make_study()
    complete(Target.of_study(study), right_on(1), prompt=make_prompt("text"), images=SentImages.NONE, version="2")
    n_there = study.cases.count()
    blind_run(study.bank, 1)
    n_bank = Revision.objects.filter(bank=study.bank).count()
    assert [n for _model, _right, n in told(study.bank)] == ([n_bank - n_there] if n_bank > n_there else [])
    ReaderStudy.objects.filter(pk=study.pk).update(state=StudyState.CLOSED, unblinded_at=NOON)
    assert [n for _model, _right, n in told(study.bank)] == [n_there, n_bank]


def test_it_stands_beside_c1_and_over_the_bank(bank: QuestionBank, client: Client, cora: User) -> None:
    blind_run(bank, 1, 2, 3)
    complete(Target(bank), right_on(2), images=SentImages.NONE, version="2")
    client.force_login(cora)
    assert "1 of 2 models answered it right without the images (by chance 25&nbsp;% of them)" in words(client, bank, 1)
    assert "Model 1 right, Model 2 wrong" in words(client, bank, 1)
    page = client.get(reverse("bank-validators", args=[bank.slug]))
    [(one, right), _other] = page.context["without_images"]
    assert (one.model, right.count, right.n, right.method) == ("Model 1", 3, 12, "wilson")
    assert "By chance 25&nbsp;% are right." in page.content.decode()


def test_who_reviews_a_question_learns_nothing_of_it(bank: QuestionBank, client: Client, cora: User) -> None:
    blind_run(bank, 1, 2, 3)
    revision = Revision.objects.get(bank=bank, question__number=1)
    Assignment.objects.create(round=make_round(n_questions=0, bank=bank), reviewer=cora, revision=revision, position=1)
    client.force_login(cora)
    assert "answered it right" not in words(client, bank, 1)
    [(one, _right)] = client.get(reverse("bank-validators", args=[bank.slug])).context["without_images"]
    assert (one.n_right, one.n) == (2, 11)


def words(client: Client, bank: QuestionBank, number: int) -> str:
    page = client.get(reverse("question", args=[bank.slug, number])).content.decode()
    return " ".join(strip_tags(page).split())
