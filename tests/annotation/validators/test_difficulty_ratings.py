"""Difficulty as the bank states it, a model rates it, reviewers judge it and readers meet it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.enums import Difficulty, RoundState
from annotation.models import Finding, Question, QuestionBank, Revision, User
from annotation.questionbank.kernels.question_checks import MODEL_NOT_EASY, NOT_EASY
from annotation.questionbank.validity import count_parts
from annotation.review.onlookers import withheld_questions
from annotation.review.samples import SampleRefused, draw_sample, preview_sample
from annotation.statistics.kernels.sampling import RatedBy, StratifyBy
from annotation.validators.validator_exams import compare_sources, difficulty_of_share
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.cases import images_are_there, make_bank, make_revisions, make_round
from tests.annotation.validators.validated import answered_blind, judged_bank, rated
from tests.contributing import contribute
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
NOBODY = Question.objects.none()
LEVELS = ("easy", "medium", "hard")


@pytest.fixture
def bank() -> QuestionBank:
    """Twelve questions whose stated difficulties go round easy, medium, hard."""
    made = judged_bank(12)
    for number in range(1, 13):
        Revision.objects.filter(question__number=number).update(difficulty=LEVELS[number % 3])
    return made


def pair(bank: QuestionBank, first: str, second: str) -> Any:
    return next(one for one in compare_sources(bank, NOBODY).pairs if (one.first, one.second) == (first, second))


def test_a_model_rates_and_judges_nothing(bank: QuestionBank) -> None:
    run = rated(bank, "easy", "hard", "no level")
    assert run.n_unread == 4
    assert sorted(Finding.objects.values_list("rule", "verdict")) == [("rating", "easy")] * 4 + [("rating", "hard")] * 4
    assert not Finding.objects.against().exists()
    found = {one.part.code: one.told["fail"] for one in count_parts(bank, NOBODY) if one.told["fail"]}
    assert found == {NOT_EASY: 4, MODEL_NOT_EASY: 4}, "only a gate that asks for more than easy goes by it"


def test_each_two_sources_are_compared_with_n_and_interval(bank: QuestionBank) -> None:
    rated(bank, "medium", "hard", "easy")  # as stated
    found = pair(bank, "stated", "model")
    assert (found.same, found.kappa.n, found.kappa.value) == (12, 12, 1)
    assert sum(map(sum, found.table)) == sum(found.table[level][level] for level in range(3)) == 12
    rated(bank, "medium", "hard", "hard", model="another")
    found = pair(bank, "stated", "model")
    assert (found.same, found.kappa.n) == (8, 12)
    # rows stated, columns rated: easy 4 -> hard; medium 4 -> medium; hard 4 -> hard; weights 1 - (d/2)^2
    observed, expected = (0 + 4 + 4) / 12, (4 * (4 * 0.75 + 8 * 0) + 4 * (4 + 8 * 0.75) + 4 * (4 * 0.75 + 8)) / 144
    assert found.kappa.value == pytest.approx((observed - expected) / (1 - expected))
    low, high = found.kappa.ci95 or (2.0, -2.0)
    assert low < found.kappa.value < high


def test_reviewers_of_closed_rounds_count_and_what_is_hidden_does_not(bank: QuestionBank, rita: User) -> None:
    asked = make_round(n_questions=0, state=RoundState.CLOSED, bank=bank)
    revisions = list(Revision.objects.filter(bank=bank).order_by("pk"))
    answered_blind(asked, rita, revisions, *(one.difficulty for one in revisions))
    assert pair(bank, "stated", "reviewers").kappa.value == 1
    asked.state = RoundState.OPEN
    asked.save()
    assert pair(bank, "stated", "reviewers").kappa.n == 0
    assert sum(compare_sources(bank, withheld_questions(rita)).counts[RatedBy.STATED].values()) == 0


@pytest.mark.parametrize(
    ("right", "n", "level"),
    [
        (9, 10, "easy"),
        (8, 10, "medium"),
        (6, 10, "medium"),
        (5, 10, "hard"),
        (3, 3, "easy"),
        (2, 3, "medium"),
        (1, 3, "hard"),
    ],
)
def test_the_share_of_readers_right_on_the_scale_of_reviewers(right: int, n: int, level: str) -> None:
    assert difficulty_of_share(right, n) == Difficulty(level)


def test_readers_are_asked_of_the_app_above(bank: QuestionBank, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = list(Revision.objects.filter(bank=bank).values_list("pk", flat=True))
    contribute(monkeypatch, readers_right=(lambda _bank: {ids[0]: (3, 3), ids[1]: (0, 3), ids[2]: (0, 0)},))
    assert compare_sources(bank, NOBODY).counts[RatedBy.READERS] == {"easy": 1, "medium": 0, "hard": 1}


def test_the_page_tells_agreement_and_no_single_rating(
    coordinator: Client, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    rated(bank, "medium", "hard", "hard")
    with django_assert_max_num_queries(20):
        page = coordinator.get(reverse("bank-difficulties", args=[bank.slug])).content.decode()
    assert "stated in the bank, rated by a model" in page
    assert "not defined: no question that two of them judged" in page
    assert Finding.objects.values_list("detail", flat=True)[0] not in page
    empty = make_bank("Unrated")
    make_revisions(empty, {1: {"difficulty": ""}})
    assert coordinator.get(reverse("bank-difficulties", args=[empty.slug])).status_code == 200


# --- a draw by another source ---
def strata(bank: QuestionBank, rated_by: RatedBy, by: StratifyBy = StratifyBy.DIFFICULTY) -> dict[str, int]:
    found = preview_sample(bank, by=by, per_thousand=1000, seed=1, rated_by=rated_by)
    return {one.stratum: one.n_frame for one in found.strata if one.n_frame}


def test_the_draw_takes_the_source_that_is_named(bank: QuestionBank) -> None:
    images_are_there(bank)
    rated(bank, "easy", "easy", "hard", "no level")
    assert strata(bank, RatedBy.STATED) == {"easy": 4, "medium": 4, "hard": 4}
    assert strata(bank, RatedBy.MODEL) == {"easy": 6, "hard": 3, "unknown": 3}
    assert strata(bank, RatedBy.MODEL, StratifyBy.NONE) == {"all": 12}
    plan = draw_sample(bank, rated_by=RatedBy.MODEL, per_thousand=1000, actor=None, at=NOON)
    assert plan.frame["rated_by"] == "model"


def test_a_source_without_ratings_is_refused(bank: QuestionBank) -> None:
    images_are_there(bank)
    for source in (RatedBy.MODEL, RatedBy.REVIEWERS, RatedBy.READERS):
        with refuses(SampleRefused, "no_ratings"):
            strata(bank, source)


def test_the_page_draws_by_it_and_says_so(coordinator: Client, bank: QuestionBank) -> None:
    images_are_there(bank)
    rated(bank, "easy", "hard")
    asked: dict[str, str | int] = {"bank": bank.slug, "by": "difficulty", "per_thousand": 1000, "seed": 1}
    page = coordinator.get(reverse("sample-new"), asked | {"rated_by": "model"})
    found = page.context["found"]
    assert [(one.stratum, one.n_frame) for one in found.strata if one.n_frame] == [("easy", 6), ("hard", 6)]
    sent = asked | {"rated_by": "model", "name": "By a model", "frame_sha256": found.frame_sha256}
    stored = coordinator.post(reverse("sample-new"), sent, follow=True)
    assert "(rated by a model)" in stored.content.decode()
    refused = coordinator.get(reverse("sample-new"), asked | {"rated_by": "readers"})
    assert "No question of the frame has a difficulty" in refused.content.decode()
    assert "found" not in refused.context
