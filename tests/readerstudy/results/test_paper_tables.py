"""Tables as the paper prints them: the best model of Table 2, Table 3 by domain, Table 6 with its means."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annotation.statistics.kernels.intervals import share
from annotation.tables.kernels.printing import printed
from readerstudy.exports.sheets import accuracy_sheets
from readerstudy.results.accuracy_tables import accuracy_table, breakdown_tables
from readerstudy.results.kernels.comparison_tables import DOMAINS, best_model, domain_rows, mean_row
from readerstudy.results.kernels.stored import BreakdownTable, breakdown, order_of
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.results.made import QUICK

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
    assert {row[0]: row[1] for row in rows if row[0] in ("Good", "Poor", "R1")} == {
        "Good": "100.0*",
        "Poor": "33.3",
        "R1": "100.0",
    }
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
