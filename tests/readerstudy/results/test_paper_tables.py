"""Tables as the paper prints them: the best model of Table 2, Table 3 by domain, Table 6 with its means."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, BlindAnswer, ReviewRound, User
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.intervals import share
from annotation.tables.kernels.printing import printed
from readerstudy.exports.sheets import accuracy_sheets
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.accuracy_tables import accuracy_table, breakdown_tables
from readerstudy.results.cases import judged_difficulties
from readerstudy.results.kernels.comparison_tables import DOMAINS, best_model, domain_rows, mean_row
from readerstudy.results.kernels.items import accuracy_by
from readerstudy.results.kernels.stored import BreakdownTable, breakdown, order_of
from tests.annotation.review.cases import NOON, images_are_there
from tests.conftest import make_person
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.results.made import QUICK, analysed_study, small_result

CATEGORIES = [*["Heart"] * 10, *["Aorta"] * 6, *["Rib"] * 5, *["Abdomen"] * 3]


def made(models: dict[str, str], **fields: Any) -> Any:
    """24 cases in four categories, the key of each B."""
    arrays = make_arrays({"R1": "B" * 24, "R2": "A" * 24}, models, "B" * 24, tasks=["presence"] * 24, **fields)
    return computed(replace(arrays, questions=replace(arrays.questions, category=tuple(CATEGORIES))), QUICK)


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").strip()


@pytest.fixture(scope="module")
def result() -> Any:
    return made({"Good": "B" * 24, "Poor": "B" * 8 + "A" * 16})


def test_the_domains_are_those_of_the_paper(shared_data: Path) -> None:
    with (shared_data.parent / "paper/table3_categories.csv").open() as file:
        rows = [(row["group"], row["category"]) for row in csv.DictReader(file) if row["group"]]
    assert [(domain.title(), name) for domain, names in DOMAINS.items() for name in names] == rows


def test_a_domain_counts_each_of_its_questions_once(result: Any) -> None:
    rows = domain_rows(breakdown(result, "categories"))
    assert [(row.domain, row.category, row.n) for row in rows] == [
        ("Cardiovascular", "", 16),
        ("Cardiovascular", "Heart", 10),
        ("Cardiovascular", "Aorta", 6),
        ("Musculoskeletal", "", 5),
        ("Musculoskeletal", "Rib", 5),
        ("Other categories", "", 3),
    ]
    poor = order_of(result).index("Poor")
    assert [row.shares[poor]["value"] for row in rows] == [0.5, 0.8, 0.0, 0.0, 0.0, 0.0]
    assert rows[0].shares[poor] == share(8, 16).as_json()


def test_the_mean_counts_each_category_once_and_has_no_interval_with_few_questions(result: Any) -> None:
    row = mean_row(breakdown(result, "categories"))
    poor = row.shares[order_of(result).index("Poor")]
    assert poor["value"] == pytest.approx(0.2)
    assert (poor["n"], poor["ci95"], poor["flags"]) == (24, None, ["stratum_too_small"])
    large: Any = [
        {**share(8, 10).as_json(), "flags": ["post_hoc"]},
        {**share(2, 8).as_json(), "flags": ["post_hoc", "small_n"]},
    ]
    [mean] = mean_row(BreakdownTable([("Heart", 10), ("Rib", 8)], [("Late", large)])).shares
    assert mean["value"] == pytest.approx((0.8 + 0.25) / 2)
    assert mean["ci95"] is not None
    assert mean["flags"] == ["post_hoc"], "what all parts are labelled with goes with the mean"


def test_table_3_and_table_6_in_print(result: Any) -> None:
    domains, categories, _difficulties = breakdown_tables(result)
    assert domains is not None
    [(head, rows)] = printed("domains", [domains]).parts
    assert head == ["Domain and category", "R1", "R2", "Good", "Poor"]
    names = [plain(row[0]) for row in rows if row[0].strip()]
    assert names[:2] == ["Cardiovascular (n = 16)", "Heart (n = 10)"]
    assert names[-3:] == ["Other categories (n = 3)", "Mean of the categories (n = 24)", "All questions (n = 24)"]
    assert rows[-2][1:] == ["100.0", "0.0", "100.0", "33.3"]
    assert max(len(cell) for row in rows for cell in row[1:]) <= 24, "numbers leave room for eight raters"
    [(_head, rows)] = printed("categories", [categories]).parts
    assert [plain(row[0]) for row in rows if row[0]][-2:] == [
        "Mean of the categories (n = 24)",
        "All questions (n = 24)",
    ]
    [sheet] = [one for one in accuracy_sheets(result) if one.name == "domains"]
    assert len([*sheet.rows]) == 7 * 4
    assert breakdown_tables(computed(make_arrays({"R1": "BB", "R2": "BB"}, {"M": "BB"}, "BB"), QUICK))[0] is None


def test_the_best_model_is_marked_only_where_the_paired_test_says_so(result: Any) -> None:
    assert best_model(result) == "Good"
    table = accuracy_table(result)
    assert "* Significantly better than every other model" in table.caption
    [(_head, rows)] = printed("accuracy", [table]).parts
    shown = {row[0]: row[1] for row in rows if row[0] in ("Good", "Poor", "R1")}
    assert shown == {"Good": "100.0*", "Poor": "33.3", "R1": "100.0"}
    close = made({"Good": "B" * 24, "Near": "B" * 21 + "AAA"})
    assert best_model(close) is None
    assert "No model is marked as the best" in accuracy_table(close).caption
    third = made({"Good": "B" * 24, "Near": "B" * 21 + "AAA", "Poor": "A" * 24})
    assert best_model(third) is None, "better than one of two is not the best"
    alone = made({"Good": "B" * 24})
    assert best_model(alone) is None
    assert "marked as the best" not in accuracy_table(alone).caption


def test_a_late_model_is_no_best_one_and_takes_it_from_nobody() -> None:
    result = made({"Good": "B" * 24, "Poor": "A" * 24, "Late": "B" * 24})
    assert best_model(result) is None
    for one in result["raters"]:
        one["post_hoc"] = one["name"] == "Late"
    assert best_model(result) == "Good"


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
