"""Accuracy of readers and models by how difficult reviewers found the cases before they saw the key."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, BlindAnswer, ReviewRound, User
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.cases import judged_difficulties
from readerstudy.results.kernels.items import accuracy_by
from tests.annotation.review.cases import NOON, images_are_there
from tests.conftest import make_person
from tests.readerstudy.results.made import analysed_study, small_result

GROUPS = ("easy", "medium", "hard")


def test_accuracy_by_groups_of_cases() -> None:
    """Keys B: R1 BBBA, R2 BBCA, Good BBBB, Poor CxBA; an answer without an option is wrong."""
    result = small_result()
    ids = result["items"]["case_id"]
    found = accuracy_by(result, {ids[0]: "easy", ids[1]: "easy", ids[2]: "hard", "another": "medium"}, GROUPS)
    assert found.values == [("easy", 2), ("hard", 1)]
    shares = {name: [(one["value"], one["n"]) for one in of_one] for name, of_one in found.rows}
    assert shares == {
        "R1": [(1.0, 2), (1.0, 1)],
        "R2": [(1.0, 2), (0.0, 1)],
        "Good": [(1.0, 2), (1.0, 1)],
        "Poor": [(0.0, 2), (1.0, 1)],
    }
    assert found.rows[0][1][0]["ci95"] is not None
    result["settings"]["failed_in_accuracy"] = "exclude"
    left_out = dict(accuracy_by(result, {ids[1]: "easy"}, GROUPS).rows)
    assert left_out["Poor"][0]["n"] == 0


def test_all_cases_in_one_group_give_the_accuracy_over_all() -> None:
    result = small_result()
    found = accuracy_by(result, dict.fromkeys(result["items"]["case_id"], "easy"), GROUPS)
    whole = {one["name"]: one["accuracy"] for one in result["panels"]["All tasks"]["raters"]}
    for name, [one] in found.rows:
        assert (one["value"], one["n"], one["ci95"]) == tuple(whole[name][part] for part in ("value", "n", "ci95"))


@pytest.fixture
def analysis(db: None) -> Analysis:
    made = analysed_study()
    ReaderStudy.objects.update(unblinded_at=NOON)
    return made


def judge(study: ReaderStudy, cora: User, noon: datetime) -> ReviewRound:
    """Two reviewers on each question of the bank: easy and hard of the first, easy alone of the second."""
    images_are_there(study.bank)
    plan = draw_sample(study.bank, per_thousand=1000, actor=None, at=noon)
    people = [make_person("Expert one"), make_person("Expert two")]
    made = create_round(plan, name="Experts", reviewers=people, reviewers_per_question=2, actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    revisions = list(study.cases.order_by("number").values_list("revision", flat=True))
    for revision, said in zip(revisions, (("easy", "hard"), ("easy",)), strict=False):
        for one, difficulty in zip(Assignment.objects.filter(round=made, revision=revision), said, strict=False):
            BlindAnswer.objects.create(assignment=one, best="B", difficulty=difficulty, answered_at=noon)
            Assignment.objects.filter(pk=one.pk).update(state="submitted")
    return made


def test_it_stands_on_the_page_of_categories_once_the_round_is_closed(
    client: Client, cora: User, analysis: Analysis, noon: datetime
) -> None:
    made = judge(analysis.study, cora, noon)
    address = reverse("study-categories", args=["trial", analysis.public_id])
    client.force_login(cora)
    assert judged_difficulties(analysis.study) == {}
    assert b"as reviewers judged it" not in client.get(address).content
    ReviewRound.objects.filter(pk=made.pk).update(state="closed")
    first, second = analysis.study.cases.order_by("number")[:2]
    assert judged_difficulties(analysis.study) == {first.public_id: "hard", second.public_id: "easy"}
    page = client.get(address)
    assert [(row[0].text, row[0].n) for row in page.context["judged"].rows] == [("easy", 1), ("hard", 1)]
    assert b"Difficulty as reviewers judged it" in page.content
