"""Shares and their intervals against scipy and against worked examples that other software reproduced."""

from __future__ import annotations

import json
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from annotation.statistics.kernels.estimate import FEW_CLUSTERS, SMALL_N, STRATUM_TOO_SMALL, ZERO_TRIALS
from annotation.statistics.kernels.intervals import (
    StratumCount,
    bank_mix_share,
    clustered_share,
    median_estimate,
    share,
    wilson,
)


@pytest.fixture
def golden(shared_data: Path) -> Any:
    def read(name: str) -> Any:
        every = (shared_data.parent / "stats" / f"golden{rule}" / f"{name}.json" for rule in ("-4", ""))
        return json.loads(next(path for path in every if path.is_file()).read_text())

    return read


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_scipy(k_of_n: tuple[int, int]) -> None:
    k, n = k_of_n
    expected = binomtest(k, n).proportion_ci(method="wilson")
    low, high = wilson(k, n)
    assert isclose(low, expected.low, abs_tol=1e-12)
    assert isclose(high, expected.high, abs_tol=1e-12)
    assert 0 <= low <= k / n <= high <= 1


@pytest.mark.parametrize("name", ["proportion_newcombe_1998", "proportion_reader_study"])
def test_wilson_golden(golden: Any, name: str) -> None:
    case = golden(name)
    expected = case["expected"]["wilson_ci95"]
    for (k, n), limits in zip(case["input"]["items"], expected["value"], strict=True):
        assert wilson(k, n) == pytest.approx(limits, abs=expected["tolerance"])


def test_wilson_as_printed_by_newcombe() -> None:
    """Statistics in Medicine 17 (1998) 857-872, Table I."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)


def test_a_share_of_nothing_is_undefined_and_of_few_is_flagged() -> None:
    assert (share(0, 0).value, share(0, 0).reason) == (None, ZERO_TRIALS)
    assert share(3, 9).flags == (SMALL_N,)
    assert share(3, 10).flags == ()


def test_clusters_golden(golden: Any) -> None:
    case = golden("cluster_accuracy")
    found = clustered_share(case["input"]["clusters"])
    assert found is not None
    expected = {name: entry["value"] for name, entry in case["expected"].items()}
    assert found.estimate.value == pytest.approx(expected["accuracy"], abs=1e-6)
    assert found.standard_error == pytest.approx(expected["accuracy_cluster_se"], abs=1e-8)
    assert found.design_effect == pytest.approx(expected["design_effect"], abs=1e-6)
    assert found.estimate.ci95 == pytest.approx(expected["accuracy_cluster_ci95"], abs=1e-6)


def test_single_trials_are_clusters_that_change_nothing_but_the_small_sample_factor() -> None:
    found = clustered_share([[1]] * 30 + [[0]] * 70)
    assert found is not None
    assert found.design_effect == pytest.approx(100 / 99)
    assert found.estimate.ci95 == wilson(30, 100)
    few = clustered_share([[1], [0], [1]])
    assert few is not None
    assert (few.estimate.ci95, few.estimate.method, few.estimate.flags) == (wilson(2, 3), "wilson", ())


def test_few_clusters_get_no_interval_and_equal_answers_wilson_of_the_clusters() -> None:
    few = clustered_share([[1, 0], [1, 1]])
    assert few is not None
    assert (few.estimate.ci95, few.estimate.flags) == (None, (FEW_CLUSTERS,))
    none = clustered_share([[0, 0, 0]] * 12)
    assert none is not None
    assert none.estimate.ci95 == wilson(0, 12)
    assert clustered_share([]) is None


def test_bank_mix_weighs_the_strata_by_the_bank() -> None:
    """By hand: 0.9 * 1/10 + 0.1 * 5/10 = 0.14; shares shrunken to the 6/20 of all."""
    found = bank_mix_share({"easy": StratumCount(900, 10, 1), "hard": StratumCount(100, 10, 5)})
    easy, hard = 1.6 / 12, 5.6 / 12
    variance = 0.81 * easy * (1 - easy) / 10 * (1 - 10 / 900) + 0.01 * hard * (1 - hard) / 10 * 0.9
    mean = 0.9 * easy + 0.1 * hard
    n_effective = mean * (1 - mean) / variance
    assert found.n_effective == pytest.approx(n_effective)
    assert found.estimate.value == pytest.approx(0.14)
    assert found.estimate.ci95 == pytest.approx(wilson(0.14 * n_effective, n_effective))
    assert found.estimate.n == 20


@given(st.lists(st.tuples(st.integers(2, 50), st.integers(0, 50), st.integers(0, 100)), min_size=1, max_size=6))
def test_bank_mix_lies_in_its_interval(strata: list[tuple[int, int, int]]) -> None:
    counts = {str(i): StratumCount(n + more, n, min(k, n)) for i, (n, k, more) in enumerate(strata)}
    found = bank_mix_share(counts).estimate
    assert found.value is not None
    assert found.ci95 is not None
    assert 0 <= found.ci95[0] <= found.value + 1e-12
    assert found.value - 1e-12 <= found.ci95[1] <= 1


def test_bank_mix_needs_two_of_every_stratum() -> None:
    found = bank_mix_share({"easy": StratumCount(900, 10, 1), "hard": StratumCount(100, 1, 0)})
    assert (found.estimate.value, found.estimate.reason) == (None, STRATUM_TOO_SMALL)
    assert bank_mix_share({"easy": StratumCount(900, 0, 0)}).estimate.reason == ZERO_TRIALS
    assert bank_mix_share({}).estimate.reason == ZERO_TRIALS


def test_a_stratum_that_gave_no_issue_is_not_taken_as_free_of_issues() -> None:
    """Two questions stand for nearly all of the bank: the interval says how little that is."""
    found = bank_mix_share({"common": StratumCount(40_000, 2, 0), "rare": StratumCount(800, 50, 0)})
    assert found.estimate.value == 0
    assert found.estimate.high is not None
    assert found.estimate.high > 0.6


# --- the median -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("n", "lower"), [(5, None), (6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (30, 10), (50, 18), (100, 40)]
)
def test_the_median_has_the_tabulated_interval(n: int, lower: int | None) -> None:
    """Ranks of the sign-test interval, as in Conover's and every other table of it."""
    found = median_estimate(list(range(n, 0, -1)))
    assert found.value == (n + 1) / 2
    assert found.ci95 == (None if lower is None else (lower, n + 1 - lower))


@given(st.integers(1, 5000))
def test_the_ranks_equal_scipy(n: int) -> None:
    rank = int(binom.ppf(0.025, n, 0.5))
    assert median_estimate(range(1, n + 1)).ci95 == ((rank, n + 1 - rank) if rank else None)


def test_no_values_have_no_median() -> None:
    assert (median_estimate([]).value, median_estimate([]).reason) == (None, ZERO_TRIALS)
