"""Kappa in the mix of the bank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from annotation.statistics.kernels.pair_intervals import bank_mix_kappa
from readerstudy.results.kernels.agreement_tables import bank_mix_of_pair
from tests.readerstudy.results.made import TASKS, small_result

CHANCE = np.random.default_rng(11)
STRATUM = np.repeat([0, 1, 2], [60, 30, 30])
FIRST: NDArray[np.int64] = CHANCE.integers(0, 4, 120)
SECOND: NDArray[np.int64] = np.where(CHANCE.random(120) < 0.3 + 0.2 * STRATUM, FIRST, CHANCE.integers(0, 4, 120))


def merging(first: Any, second: Any, sizes: tuple[int, ...], strata: Any = STRATUM, tasks: str = "abc") -> Any:
    return bank_mix_kappa(first, second, strata, np.array(sizes), list(tasks), 4, seed=7, panel="All tasks", draws=400)


def found(first: Any = FIRST, second: Any = SECOND, sizes: tuple[int, ...] = (100, 800, 100)) -> Any:
    result, merged = merging(first, second, sizes)
    assert merged == ()
    return result


def test_it_is_the_kappa_of_weighted_questions() -> None:
    share = np.array([100, 800, 100]) / 1000 / np.array([60, 30, 30])
    expected = cohen_kappa_score(FIRST, SECOND, labels=range(4), sample_weight=share[STRATUM])
    result = found()
    assert (result.value, result.n) == (pytest.approx(expected, abs=1e-12), 120)
    low, high = result.ci95
    assert low < expected < high
    assert found() == result


def test_in_proportion_to_the_bank_it_is_the_plain_kappa() -> None:
    assert found(sizes=(600, 300, 300)).value == pytest.approx(cohen_kappa_score(FIRST, SECOND), abs=1e-12)


def test_swapping_raters_and_relabelling_options_change_nothing() -> None:
    new = np.array([2, 0, 3, 1])
    assert found(SECOND, FIRST).value == pytest.approx(found().value, abs=1e-12)
    assert found(new[FIRST], new[SECOND]).value == pytest.approx(found().value, abs=1e-12)


def test_a_stratum_with_one_common_question_leaves_it_undefined() -> None:
    second = np.where((STRATUM == 2) & (np.arange(120) != 95), -1, SECOND)
    assert (found(second=second).value, found(second=second).reason) == (None, "stratum_too_small")
    assert found(second=np.full(120, -1)).reason == "no_common_questions"


def test_difficulties_of_a_task_become_one_stratum() -> None:
    """As an accuracy in the mix of the bank takes them, and the same draws as for one stratum of that size."""
    second = np.where((STRATUM == 2) & (np.arange(120) != 95), -1, SECOND)
    result, merged = merging(FIRST, second, (100, 800, 100), tasks="abb")
    as_one, _none = merging(FIRST, second, (100, 900), strata=np.minimum(STRATUM, 1), tasks="ab")
    assert (merged, result.flags) == (("b",), ("strata_merged",))
    assert (result.value, result.ci95, result.n) == (as_one.value, as_one.ci95, 91)


def test_a_stratum_without_questions_in_the_bank_is_left_out() -> None:
    second = np.where(STRATUM == 2, -1, SECOND)
    result, merged = merging(FIRST, second, (100, 900, 0))
    as_two, _none = merging(FIRST, second, (100, 900), tasks="ab")
    assert (result, merged) == (as_two, ())


def test_of_a_stored_analysis() -> None:
    result = small_result()
    assert bank_mix_of_pair(result, "R1", "R2") is None  # a list of cases
    result["strata"] = [{"task": task, "difficulty": "easy", "n_pool": 10} for task in ("presence", "location")]
    shown = bank_mix_of_pair(result, "R1", "R2")
    assert shown
    assert (shown["reason"], shown["n"]) == ("stratum_too_small", len(TASKS))
    result["items"]["task"] = ["presence", "location"] * 2
    shown = bank_mix_of_pair(result, "R1", "R2")
    assert shown
    assert (shown["n"], shown["ci95"]) == (4, None)
    result["items"]["difficulty"][0] = "hard"
    assert bank_mix_of_pair(result, "R1", "R2") is None  # a case that stands in no stratum by now
