"""Models on one bank, compared: order, ranks, what counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from annotation.enums import Task
from annotation.statistics.kernels.comparing import PairedTable, mcnemar_exact_p, paired_table
from annotation.statistics.kernels.ranking import RankBand, rank_bands, ranked_pairs
from annotation.tables.kernels.printing import printed
from annotation.tables.kernels.table import Counted
from readerstudy.analysis.kernels.bank_comparison import (
    EARLIER,
    FAILED,
    MISSING,
    NOT_ASKED,
    BankArrays,
    Entrant,
    compare,
)
from readerstudy.analysis.kernels.result import LETTERS
from readerstudy.results.comparison_job import tables_of_bank
from readerstudy.results.kernels.comparison_tables import FILE_COLUMNS, band_rows, file_rows

SIGNS = {"x": FAILED, ".": MISSING, "-": NOT_ASKED, "~": EARLIER}


def made(said: dict[str, str], *, clusters: list[int] | None = None, n_tasks: int = 2) -> BankArrays:
    """The key of every question is B; x: failed, a full stop: missing, -: not asked, ~: asked otherwise."""
    option = [[SIGNS.get(sign, LETTERS.find(sign)) for sign in row] for row in said.values()]
    n = len(option[0])
    return BankArrays(
        bank="Bank",
        slug="bank",
        simulated=True,
        cluster_level="exam",
        n_without_key=0,
        entrants=tuple(
            Entrant(name, {"model": name.lower(), "version": "", "run": name, "number": 1, "n_elsewhere": 0})
            for name in said
        ),
        key=np.ones(n, dtype=np.int8),
        task=np.array([place % n_tasks for place in range(n)], dtype=np.int8),
        category=tuple("Lungs" if place % 3 else "Heart" for place in range(n)),
        cluster=np.array(clusters or range(n), dtype=np.int32),
        option=np.array(option, dtype=np.int8),
    )


def test_models_stand_by_accuracy_with_failed_and_missing_as_wrong() -> None:
    result = compare(made({"Poor": "AxA.BB", "Good": "BBBBBA"}))
    good, poor = result["models"]
    assert [one["name"] for one in result["models"]] == ["Good", "Poor"]
    assert (good["accuracy"]["value"], good["accuracy"]["n"]) == (5 / 6, 6)
    assert (poor["accuracy"]["value"], poor["accuracy"]["n"]) == (2 / 6, 6)
    assert (poor["n_failed"], poor["n_missing"]) == (1, 1)
    assert good["accuracy"]["flags"] == ["small_n"]
    assert [one["n"] for one in result["tasks"]] == [3, 3]
    assert [one["n"] for one in poor["tasks"]] == [3, 3]
    assert poor["accuracy_task_mean"]["value"] == pytest.approx((0 / 3 + 2 / 3) / 2)
    assert [(one["category"], one["n"]) for one in result["categories"]] == [("Lungs", 4), ("Heart", 2)]
    assert "accuracy_cluster" not in good
    pair = result["pairs"][0]
    assert pair["table"] == {"both": 1, "first_only": 4, "second_only": 1, "neither": 0}
    assert pair["p"] == mcnemar_exact_p(PairedTable(1, 4, 1, 0))


@pytest.mark.parametrize("clusters", [None, [place // 2 for place in range(40)]], ids=["questions", "exams"])
def test_the_best_of_a_bank_is_marked_only_where_every_pair_says_so(clusters: list[int] | None) -> None:
    said = {"Best": "B" * 40, "Near": "B" * 36 + "A" * 4, "Worst": "A" * 40}
    [table, domains, categories] = tables_of_bank(compare(made(said, clusters=clusters)))
    assert "No model is marked as the best" in " ".join(table.caption.split())
    assert [one.name for one in (domains, categories)] == ["domains", "categories"]
    said["Near"] = "B" * 20 + "A" * 20
    [table, *_rest] = tables_of_bank(compare(made(said, clusters=clusters)))
    [(head, rows)] = printed("models", [table]).parts
    assert head[:2] == ["Model", "Over questions (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}40)"]
    assert [row[1] for row in rows if row[0] in said] == ["100.0*", "50.0", "0.0"]
    assert any("by patient or exam" in row[0] for row in rows) == (clusters is not None)


def test_bands_say_what_the_pairs_leave_open() -> None:
    near = "B" * 29 + "A" * 11
    result = compare(made({"Best": "B" * 40, "Near": near, "Same": near[::-1], "Worst": "A" * 40}))
    bands = {one.name: (one.best, one.worst) for one in band_rows(result)}
    assert bands == {"Best": (1, 1), "Near": (2, 3), "Same": (2, 3), "Worst": (4, 4)}
    assert band_rows(result)[1].ranks == [False, True, True, False]
    assert result["rules"]["pairs"] == "mcnemar_exact"
    assert rank_bands(3, []) == [RankBand(1, 3)] * 3


def test_holm_runs_over_all_pairs() -> None:
    correct = np.array([[1] * 12, [1] * 6 + [0] * 6, [1] * 7 + [0] * 5], dtype=np.int8)
    pairs = ranked_pairs(correct, np.arange(12), clustered=False)
    smallest = min(pair.p for pair in pairs if pair.p is not None)
    assert smallest == mcnemar_exact_p(paired_table(correct[0], correct[1])) == 2 / 64
    assert next(pair for pair in pairs if pair.p == smallest).p_holm == pytest.approx(3 * smallest)
    assert [pair.better for pair in pairs] == [None, None, None]


def test_swapping_rows_swaps_the_bands() -> None:
    chance = np.random.default_rng(7)
    correct = (chance.random((5, 120)) < np.linspace(0.4, 0.9, 5)[:, None]).astype(np.int8)
    cluster = np.repeat(np.arange(60), 2)
    for clustered in (False, True):
        bands = rank_bands(5, ranked_pairs(correct, cluster, clustered=clustered))
        order = [3, 0, 4, 1, 2]
        swapped = rank_bands(5, ranked_pairs(correct[order], cluster, clustered=clustered))
        assert swapped == [bands[row] for row in order]
        assert all(one.best <= one.worst for one in bands)


def test_by_cluster_once_questions_share_one_and_open_with_few() -> None:
    said = {"Best": "B" * 40, "Worst": "A" * 40}
    result = compare(made(said, clusters=[place // 2 for place in range(40)]))
    assert (result["rules"]["pairs"], result["rules"]["difference"]) == ("obuchowski_1998", "cluster_t")
    assert result["models"][0]["accuracy_cluster"]["n"] == 40
    assert result["pairs"][0]["better"] == "Best"
    few = compare(made(said, clusters=[place // 10 for place in range(40)]))
    assert (few["pairs"][0]["p"], few["pairs"][0]["better"]) == (None, None)
    assert [(one.best, one.worst) for one in band_rows(few)] == [(1, 2), (1, 2)]


def test_nobody_chooses_the_questions_on_which_a_model_counts() -> None:
    result = compare(made({"First": "BBB...", "Second": "...AAA", "None": "......"}))
    assert [(one["accuracy"]["value"], one["accuracy"]["n"]) for one in result["models"]] == [(0.5, 6), (0, 6), (0, 6)]
    assert [pair["table"]["first_only"] for pair in result["pairs"]] == [3, 3, 0]


def test_what_a_study_leaves_out_is_not_counted() -> None:
    arrays = replace(made({"First": "BBB...", "Second": "...AAA"}), missing_is_wrong=False)
    assert [one["accuracy"]["n"] for one in compare(arrays)["models"]] == [3, 3]
    assert compare(arrays)["pairs"][0]["p"] is None


def test_the_file_says_every_accuracy_once() -> None:
    result = compare(made({"One": "BBBBBA", "Two": "ABBBBA"}))
    rows = list(file_rows(result))
    assert {len(row) for row in rows} == {len(FILE_COLUMNS)}
    assert [tuple(row[3:5]) for row in rows[:6]] == [
        ("all questions", ""),
        ("mean of tasks", ""),
        ("task", Task.values()[0]),
        ("task", Task.values()[1]),
        ("category", "Lungs"),
        ("category", "Heart"),
    ]
    assert rows[0][-6:] == [0, 0, 1, 2, 0, 0]
    for model in result["models"]:  # as comparisons by earlier rules were stored
        del model["n_not_asked"], model["n_earlier"]
    assert next(file_rows(result))[-6:] == [0, 0, 1, 2, None, None]


def test_what_a_model_was_not_asked_counts_neither_for_it_nor_against_it() -> None:
    result = compare(made({"All": "BBBABB", "Some": "BA.-~~"}))
    every, some = result["models"]
    assert [one["accuracy"]["n"] for one in (every, some)] == [6, 3], "n is what the run was asked in this wording"
    assert some["accuracy"]["value"] == 1 / 3
    assert (some["n_missing"], some["n_not_asked"], some["n_earlier"]) == (1, 1, 2)
    assert sum(result["pairs"][0]["table"].values()) == 3
    models: Any = tables_of_bank(result)[0]
    assert models.rows[1][5] == Counted(0, 2), "failed of the answers that it gave"
    categories = tables_of_bank(result)[-1]
    assert "over the questions that the run was asked; failed and missing answers are wrong." in categories.caption
    assert "did not miss" not in categories.caption
