"""The numbers of an edition: what is told of them, how they are rounded, and what their order depends on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from annotation.statistics.kernels.ranking import rank_bands, ranked_pairs
from readerstudy.analysis.kernels.bank_comparison import BankArrays, Entrant
from readerstudy.leaderboard.benchmarks import SCORING
from readerstudy.leaderboard.kernels.board import RULE, Board, Options, ReadStudy, numbers_of, options_from, score_board
from readerstudy.leaderboard.kernels.release_rule import ToldCell

TASKS = ("presence", "negation", "differential", "location", "geometric")


def board_of(
    option: NDArray[np.int8],
    key: NDArray[np.int8],
    *,
    cells: Sequence[ToldCell] | None = None,
    cluster: NDArray[np.int32] | None = None,
    edition: int = 1,
    n_editions: int = 1,
    without_images: Mapping[str, Options] | None = None,
    studies: Sequence[ReadStudy] = (),
    **about: Any,
) -> Board:
    """Tasks take turns; the entrants are called m0, m1, ..."""
    n = len(key)
    arrays = BankArrays(
        bank="Bank",
        slug="bank",
        simulated=True,
        cluster_level="patient",
        n_without_key=0,
        entrants=tuple(Entrant(f"m{row}", {"answers_sha256": f"{row}", **about}) for row in range(len(option))),
        key=key,
        task=(np.arange(n) % 5).astype(np.int8),
        category=("Heart",) * n,
        cluster=np.arange(n, dtype=np.int32) if cluster is None else cluster,
        option=option,
    )
    told = cells if cells is not None else (ToldCell("all", "All questions", n, tuple(range(1, n_editions + 1))),)
    return Board(
        arrays=arrays,
        difficulty=("easy",) * n,
        cells=tuple(told),
        edition=edition,
        n_editions=n_editions,
        without_images=without_images or {},
        studies=tuple(studies),
    )


def answered(key: NDArray[np.int8], shares: Sequence[float], rng: np.random.Generator) -> NDArray[np.int8]:
    """Of each share one row of answers that are right so often in the long run; the others are the next letter."""
    right = rng.random((len(shares), len(key))) < np.array(shares)[:, None]
    return np.where(right, key, (key + 1) % 4).astype(np.int8)


def _key(n: int, rng: np.random.Generator) -> NDArray[np.int8]:
    return rng.integers(4, size=n).astype(np.int8)


def scored(shares: Sequence[float], n: int, **about: Any) -> dict[str, Any]:
    """A board whose models are right so often in the long run."""
    rng = np.random.default_rng(5)
    key = _key(n, rng)
    return score_board(board_of(answered(key, shares, rng), key, **about))


def test_letters_become_options() -> None:
    assert options_from("ABCD?-").tolist() == [0, 1, 2, 3, -1, -2]


def test_accuracy_is_that_of_scikit_learn_to_a_tenth_of_a_point() -> None:
    rng = np.random.default_rng(3)
    key = _key(700, rng)
    option = answered(key, [0.4, 0.9], rng)
    option[0, :7] = -1
    option[0, 7:10] = -2
    for entry in score_board(board_of(option, key))["entries"]:
        own = option[int(entry["entry"][1:])]
        told = entry["numbers"]["all"]
        assert told["value"] == pytest.approx(100 * accuracy_score(key, own), abs=0.0501)
        assert told["low"] < told["value"] < told["high"]
        assert told["n"] == 700
    assert (entry["n_failed"], entry["n_missing"]) == (7, 3)


def test_pairs_are_those_of_statsmodels() -> None:
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    rng = np.random.default_rng(4)
    key = _key(400, rng)
    correct = (answered(key, [0.6, 0.65, 0.7], rng) == key).astype(np.int8)
    for pair in ranked_pairs(correct, np.arange(400), clustered=False):
        first, second = correct[pair.first], correct[pair.second]
        table = [[int(((first == a) & (second == b)).sum()) for b in (1, 0)] for a in (1, 0)]
        assert pair.p == pytest.approx(contingency.mcnemar(table, exact=True).pvalue)


def test_a_cell_that_is_not_told_is_nowhere_in_the_result() -> None:
    cells = [ToldCell("all", "All", 500, (1, 2)), *(ToldCell(f"task:{one}", one, 100, (2,)) for one in TASKS)]
    result, last = (scored([0.5, 0.8], 500, cells=cells, edition=edition, n_editions=2) for edition in (1, 2))
    assert [one["next"] for one in result["cells"]] == [2, 2, 2, 2, 2, 2]
    for entry in result["entries"]:
        assert [name for name, one in entry["numbers"].items() if one] == ["all"]
        assert entry["task_mean"] is None
    assert all(entry["numbers"]["task:presence"]["n"] == 100 for entry in last["entries"])
    assert all(entry["task_mean"]["value"] for entry in last["entries"])


def test_without_all_questions_nothing_depends_on_the_keys() -> None:
    """Neither order, nor rank, nor difference, nor the commonest letter: with any keys the same bytes."""
    rng = np.random.default_rng(6)
    option = answered(_key(320, rng), [0.3, 0.9, 0.6], rng)
    cells = [ToldCell("all", "All", 320, (2,)), ToldCell("task:presence", "Presence", 64, (2,))]
    blind = {"m1": option[0]}
    results = [
        score_board(board_of(option, _key(320, rng), cells=cells, n_editions=2, without_images=blind))
        for _keys in range(4)
    ]
    assert len({json.dumps(one) for one in results}) == 1
    assert [one["entry"] for one in results[0]["entries"]] == ["m0", "m1", "m2"]


def test_a_cell_below_thirty_is_never_told_whatever_the_plan_says() -> None:
    cells = [ToldCell("all", "All", 300, (1,)), ToldCell("category:Heart", "Heart", 29, (1,))]
    result = scored([0.5], 300, cells=cells)
    assert result["entries"][0]["numbers"]["category:Heart"] is None
    assert not result["cells"][1]["is_told"]


def test_the_mean_of_tasks_needs_every_task() -> None:
    cells = [ToldCell("all", "All", 300, (1,)), *(ToldCell(f"task:{one}", one, 60, (1,)) for one in TASKS[:4])]
    result = scored([0.5], 300, cells=cells)
    assert not result["is_task_mean_told"]
    assert result["entries"][0]["task_mean"] is None


def test_every_number_has_one_decimal_and_limits_are_rounded_outwards() -> None:
    cluster = np.random.default_rng(9).integers(0, 300, 1009).astype(np.int32)
    result = scored([0.5, 0.7, 0.71], 1009, cluster=cluster)
    assert not re.search(r"\d\.\d\d", json.dumps(result))
    assert result["is_by_cluster"]
    assert result["n_clusters"] == len(set(cluster.tolist()))


def test_models_with_the_same_rounded_accuracy_come_by_their_ids() -> None:
    key = np.zeros(4000, dtype=np.int8)
    option = np.zeros((2, 4000), dtype=np.int8)
    option[0, :1001] = 1  # 74.975 %, rounded as the other
    option[1, :1000] = 1
    result = score_board(board_of(option, key))
    assert [one["entry"] for one in result["entries"]] == ["m0", "m1"]


def test_the_difference_is_to_the_lowest_model_that_is_better() -> None:
    result = scored([0.5, 0.9, 0.7, 0.7], 3000)
    first, *_others, last = result["entries"]
    assert (first["entry"], first["band"], first["above"]) == ("m1", [1, 1], None)
    assert (last["entry"], last["band"]) == ("m0", [4, 4])
    assert last["above"]["entry"] == result["entries"][2]["entry"]
    assert last["above"]["low"] < last["above"]["value"] < last["above"]["high"] < 0


def test_readers_stand_beside_the_models_on_the_same_questions() -> None:
    rng = np.random.default_rng(11)
    key = _key(300, rng)
    read = np.full((3, 300), -1, dtype=np.int8)
    read[:, :40] = 1
    read[:, :10] = 0
    few = np.full((2, 300), -1, dtype=np.int8)
    few[:, 250:279] = 1  # 29 questions: never
    studies = [ReadStudy("a" * 64, read), ReadStudy("b" * 64, few)]
    option = answered(key, [1.0], rng)
    first = score_board(board_of(option, key, studies=studies, n_editions=2))
    readers = first["readers"]
    assert (readers["value"], readers["n"], readers["n_readers"], readers["n_questions"]) == (75.0, 120, 3, 40)
    assert [one["study"] for one in readers["studies"]] == ["a" * 64]
    assert first["entries"][0]["on_read"] is None  # which questions are read may change: told once, at the end
    often = score_board(board_of(option, key, studies=studies, edition=2, n_editions=2))
    assert often["entries"][0]["on_read"] is None  # all questions were told before: files can differ in these alone
    cells = [ToldCell("all", "All questions", 300, (2,))]
    last = score_board(board_of(option, key, studies=studies, cells=cells, edition=2, n_editions=2))
    assert (last["entries"][0]["on_read"]["value"], last["entries"][0]["on_read"]["n"]) == (100.0, 40)


def test_the_same_model_without_images_and_the_commonest_letter() -> None:
    rng = np.random.default_rng(12)
    key = np.array([2] * 200 + [0] * 150, dtype=np.int8)
    blind = np.full(350, 2, dtype=np.int8)
    result = score_board(board_of(answered(key, [0.9], rng), key, without_images={"m0": blind}))
    assert result["commonest"]["letter"] == "C"
    assert result["commonest"]["value"] == result["entries"][0]["without_images"]["value"] == 57.1


def test_the_ledger_has_a_row_for_every_number() -> None:
    rows = list(numbers_of(scored([0.5, 0.9], 600)))
    assert [(one.entry, one.what) for one in rows] == [
        ("", "commonest"),
        *(("m1", what) for what in ("n_failed", "n_missing", "all", "band")),
        *(("m0", what) for what in ("n_failed", "n_missing", "all", "band", "above")),
    ]
    assert rows[-1].among == ("m0", "m1")


@pytest.mark.check
def test_rank_bands_hold_the_true_order_in_95_of_100_boards() -> None:
    """1,000 boards of six models: each true rank lies in its band, of all models of a board at once."""
    rng = np.random.default_rng(20261129)
    shares = np.array([0.80, 0.78, 0.74, 0.74, 0.66, 0.60])
    held = 0
    for _board in range(1000):
        patient = np.repeat(rng.normal(0, 0.05, 200), 2)  # questions of one patient are alike
        correct = (rng.random((6, 400)) < np.clip(shares[:, None] + patient, 0, 1)).astype(np.int8)
        pairs = ranked_pairs(correct, np.arange(400) // 2, clustered=True)
        bands = rank_bands(6, pairs)
        best, worst = (shares[:, None] < shares).sum(axis=1) + 1, (shares[:, None] <= shares).sum(axis=1)
        held += all(one.best <= a and one.worst >= b for one, a, b in zip(bands, best, worst, strict=True))
    assert held >= 950


def test_a_protocol_names_the_rule_that_scores() -> None:
    assert SCORING == RULE
