"""A question that is nearly the same as a released one is named, and counted where its bank is to be released."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.jobs import running
from annotation.models import Finding, Gate, Job, Question, QuestionBank, Release, ReleasedQuestion, Revision
from annotation.questionbank.checking import QualityRefused
from annotation.questionbank.duplicates import check_released, find_released
from tests.annotation.exports.test_releases import chest, wanted  # noqa: F401  # a fixture
from tests.annotation.review.cases import make_bank, make_revisions
from tests.commands import printed
from tests.pages import markup
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

TWIN = "Which of these tubes is seen on the frontal radiograph of this patient"
OTHER = "On which side does the fracture of the clavicle lie"


def released(bank: QuestionBank, numbers: Sequence[int], at: datetime) -> None:
    gate = Gate.objects.create(bank=bank, number=1, name="Gate", parts=["identifiers"], set_at=at)
    made = Release.objects.create(bank=bank, gate=gate, name="First", shares={}, seed=1, counts={}, released_at=at)
    for revision in Revision.objects.filter(bank=bank, question__number__in=numbers):
        ReleasedQuestion.objects.create(release=made, revision=revision, split="train")


def near(bank: QuestionBank) -> dict[int, tuple[str, int]]:
    rows = Finding.objects.filter(bank=bank, rule="released_twin").select_related("other__bank", "other__question")
    return {one.revision.question.number: (one.other.bank.name, one.other.question.number) for one in rows if one.other}


@pytest.fixture
def bank(db: None, noon: datetime) -> QuestionBank:
    """Question 2 has a twin that another bank released, 3 has one that it did not; of two like ones 4 was released."""
    mine, other = make_bank("Mine"), make_bank("Other")
    make_revisions(mine, {1: {}, 2: {"stem": TWIN}, 3: {"stem": OTHER}, 4: {"stem": "A"}, 5: {"stem": "a."}})
    make_revisions(other, {1: {"stem": f"{TWIN}?"}, 2: {"stem": OTHER}})
    released(mine, [4], noon)
    released(other, [1], noon)
    return mine


def test_only_what_was_released_counts_and_not_the_question_itself(bank: QuestionBank, noon: datetime) -> None:
    result = check_released(bank, actor=None, at=noon)
    assert near(bank) == {2: ("Other", 1), 5: ("Mine", 4)}
    assert (result.n_questions, result.n_released, result.n_twins, result.threshold) == (5, 2, 2, 0.9)


def test_wordings_that_nothing_was_compared_with_are_not_counted(bank: QuestionBank, noon: datetime) -> None:
    for revision in Revision.objects.filter(bank=bank).exclude(question__number=4):
        ReleasedQuestion.objects.create(release=bank.releases.get(), revision=revision, split="test")
    assert check_released(bank, actor=None, at=noon).n_released == 1, "those of the other bank alone"


def test_what_is_like_no_released_one_any_more_is_no_finding(bank: QuestionBank, noon: datetime) -> None:
    check_released(bank, actor=None, at=noon)
    ReleasedQuestion.objects.filter(release__bank__name="Other").delete()
    check_released(bank, actor=None, at=noon)
    assert near(bank) == {5: ("Mine", 4)}


def test_looking_stores_nothing_and_without_a_release_there_is_nothing_to_look_at(
    bank: QuestionBank, noon: datetime
) -> None:
    result, _own, made = find_released(bank)
    assert (result.n_twins, len(made), Finding.objects.count()) == (2, 2, 0)
    ReleasedQuestion.objects.all().delete()
    Release.objects.all().delete()
    with refuses(QualityRefused, "none_released"):
        check_released(bank, actor=None, at=noon)


def test_the_page_asks_for_it_and_lists_what_was_found(bank: QuestionBank, coordinator: Client) -> None:
    coordinator.post(reverse("bank-compare", args=[bank.slug]), {"released": "yes"})
    running.run(Job.objects.get().public_id, clock=timezone.now)
    page = markup(coordinator.get(reverse("bank-near-duplicates", args=[bank.slug]) + "?rule=released_twin"))
    assert "which “Other” released" in page
    assert reverse("question", args=["other", 1]) in page


def test_the_dry_run_counts_them_and_says_how_many_it_compared(
    chest: QuestionBank,  # noqa: F811
    coordinator: Client,
    noon: datetime,
) -> None:
    other = make_bank("Other")
    mine = Revision.objects.in_bank(chest).get(question__number=1)
    make_revisions(other, {1: {"stem": mine.stem, "options": mine.options}})
    released(other, [1], noon)
    asked = {"name": "First", "train": 50, "valid": 0, "test": 0, "private": 50, "seed": 1}
    address = reverse("bank-releases", args=[chest.slug])
    assert "Not compared with the questions of other releases." in markup(coordinator.post(address, asked))

    dry = printed("release_benchmark", bank="Chest", name="x", dry_run=True, verbosity=0)
    told = json.loads(dry)["near_duplicates_of_releases"]
    assert (told["n"], told["n_compared"], told["n_released"], told["threshold"]) == (1, 8, 1, 0.9)
    assert not Finding.objects.filter(rule="released_twin").exists()

    check_released(chest, actor=None, at=noon)
    Release.objects.update(released_at=noon + timedelta(days=1))
    page = markup(coordinator.post(address, asked))
    assert "1 of 8 are nearly the same as a question of another release" in page
    assert "(similarity 0.9 or above). Compared with 1 released wordings" in page
    assert "1 release came after." in page
    assert Question.objects.filter(bank=chest).count() == 8, "it is no gate: nothing is left out"
