"""Accuracy: against scipy and statsmodels, by hand, and where it is undefined; worked cases: ``golden_proportions``."""

from __future__ import annotations

from math import isclose, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, binomtest
from statsmodels.regression.linear_model import OLS

from annotation.statistics.kernels.estimate import FEW_CLUSTERS, SMALL_N, STRATUM_TOO_SMALL, ZERO_TRIALS
from annotation.statistics.kernels.intervals import (
    StratumCount,
    bank_mix_share,
    clustered_share,
    median_estimate,
    share,
    wilson,
)
from annotation.statistics.kernels.proportions import (
    ShareInterval,
    accuracy,
    accuracy_bank_mix,
    accuracy_task_mean,
    clopper_pearson,
    clustered_accuracy,
    proportion,
    run_spread,
)

of_counts = st.tuples(st.integers(0, 100), st.sampled_from([1, 7, 198, 41_007])).map(
    lambda drawn: (round(drawn[0] * drawn[1] / 100), drawn[1])
)
scored = st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 14)), min_size=1, max_size=60)


@given(of_counts)
def test_exact_limits_equal_those_of_scipy(k_of_n: tuple[int, int]) -> None:
    expected = binomtest(*k_of_n).proportion_ci(method="exact")
    assert clopper_pearson(*k_of_n) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(scored)
def test_cluster_errors_equal_those_of_statsmodels(questions: list[tuple[int, int]]) -> None:
    correct, cluster = np.array(questions).T
    counted = correct >= 0
    assume(len(set(cluster[counted])) > 1 and len(set(correct[counted])) > 1)
    model = OLS(correct[counted].astype(float), np.ones(counted.sum()))
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": cluster[counted]}).bse[0]
    found = clustered_accuracy(correct, cluster)
    assert found.accuracy_cluster_se == pytest.approx(theirs, abs=1e-9)
    assert found.design_effect is not None
    assert (found.accuracy.ci95 is None) == (found.n_clusters < min(10, int(counted.sum())))


@given(scored, st.integers(0, 60))
def test_a_question_that_does_not_count_changes_nothing(questions: list[tuple[int, int]], place: int) -> None:
    correct, cluster = np.array(questions).T
    at = min(place, len(correct))
    more, cluster_of_more = np.insert(correct, at, -1), np.insert(cluster, at, 3)
    assert accuracy(more) == accuracy(correct)
    assert clustered_accuracy(more, cluster_of_more) == clustered_accuracy(correct, cluster)


def test_accuracy_of_nothing_is_undefined_and_of_few_is_flagged() -> None:
    nothing: NDArray[np.int64] = np.array([-1, -1])
    for interval in ShareInterval:
        assert accuracy(nothing, interval).reason == "zero_trials"
    assert clustered_accuracy(nothing, np.array([0, 1])).accuracy.reason == "zero_trials"
    assert accuracy(np.ones(9, dtype=int)).flags == ("small_n",)
    assert proportion(3, 10, ShareInterval.CLOPPER_PEARSON).method == "clopper_pearson"


def test_one_exam_has_no_error_and_equal_answers_have_no_design_effect() -> None:
    one = clustered_accuracy(np.array([1, 0, 1]), np.array([7, 7, 7]))
    assert (one.accuracy_cluster_se, one.design_effect, one.accuracy.flags) == (None, None, ("few_clusters", "small_n"))
    equal = clustered_accuracy(np.ones(24, dtype=int), np.repeat(np.arange(12), 2))
    assert equal.as_json() == {
        **equal.accuracy.as_json(),
        "accuracy_cluster_se": 0.0,
        "design_effect": None,
        "n_clusters": 12,
    }
    assert equal.accuracy.ci95 == wilson(12, 12)


def test_the_bank_mix_weighs_strata_by_the_bank() -> None:
    """By hand, with the shares 9/10 and 6/11 shrunken to the 15/21 of all."""
    correct = np.array([1] * 9 + [0] + [1] * 6 + [0] * 5 + [-1])
    stratum = np.array([0] * 10 + [1] * 11 + [1])
    found = accuracy_bank_mix(correct, stratum, np.array([900, 100]), ["presence", "location"])
    shrunken = np.array([(9 + 30 / 21) / 12, (6 + 30 / 21) / 13])
    variance = np.array([0.81 / 10 * (1 - 10 / 900), 0.01 / 11 * (1 - 11 / 100)]) @ (shrunken * (1 - shrunken))
    mean = np.array([0.9, 0.1]) @ shrunken
    p, n_effective = 0.9 * 0.9 + 0.1 * 6 / 11, mean * (1 - mean) / variance
    assert found.accuracy.value == pytest.approx(p)
    assert found.n_effective == pytest.approx(n_effective)
    assert found.accuracy.ci95 == pytest.approx(wilson(p * n_effective, n_effective))
    assert (found.accuracy.n, found.accuracy.flags, found.merged_tasks) == (21, (), ())


def test_difficulties_of_a_task_become_one_stratum_where_one_is_not_known() -> None:
    correct, stratum = np.array([1] * 10 + [1, 0, 0]), np.array([0] * 10 + [1, 2, 2])
    sizes = np.array([900, 60, 40])
    merged = accuracy_bank_mix(correct, stratum, sizes, ["presence", "location", "location"])
    as_one = accuracy_bank_mix(correct, np.minimum(stratum, 1), np.array([900, 100]), ["presence", "location"])
    assert (merged.merged_tasks, merged.accuracy.flags) == (("location",), ("strata_merged",))
    assert (merged.accuracy.value, merged.accuracy.ci95) == (as_one.accuracy.value, as_one.accuracy.ci95)
    apart = accuracy_bank_mix(correct, stratum, sizes, ["presence", "location", "negation"])
    assert (apart.accuracy.reason, apart.merged_tasks, apart.n_effective) == ("stratum_too_small", (), None)


def test_a_stratum_without_questions_in_the_bank_is_left_out_and_a_bank_that_was_seen_has_no_doubt() -> None:
    correct, stratum = np.array([1] * 8 + [0] * 4), np.repeat([0, 1], 6)
    found = accuracy_bank_mix(correct, stratum, np.array([6, 6, 0]), ["presence", "location", "location"])
    assert (found.accuracy.value, found.accuracy.ci95, found.n_effective) == (8 / 12, (8 / 12, 8 / 12), None)


def test_the_task_mean_is_the_plain_mean_of_the_tasks() -> None:
    correct, task = np.array([1, 1, 1, 0, 1, 1, 0, 0, 0, 0, -1]), np.array([0] * 5 + [1] * 6)
    found = accuracy_task_mean(correct, task, 2)
    shrunken = np.array([(4 + 1) / 7, (1 + 1) / 7])  # of 5 in 10
    mean, variance = shrunken.mean(), (shrunken * (1 - shrunken)).sum() / 4 / 4
    n_effective = mean * (1 - mean) / variance
    assert found.value == pytest.approx(0.5)
    assert found.ci95 == pytest.approx(wilson(0.5 * n_effective, n_effective))
    assert (found.n, found.flags) == (10, ())


def test_an_interval_that_does_not_allow_for_shared_exams_says_so() -> None:
    correct, task = np.array([1] * 9 + [0] * 3), np.repeat([0, 1], 6)
    assert accuracy_task_mean(correct, task, 2, clustered=True).flags == ("clusters_ignored",)
    mix = accuracy_bank_mix(correct, task, np.array([60, 40]), ["presence", "location"], clustered=True)
    assert mix.accuracy.flags == ("clusters_ignored",)


def test_the_task_mean_of_four_questions_has_no_interval_and_of_none_no_value() -> None:
    correct, task = np.array([1] * 12 + [0] * 4), np.array([0] * 12 + [1] * 4)
    four = accuracy_task_mean(correct, task, 2)
    assert (four.value, four.ci95, four.flags) == (0.5, None, ("stratum_too_small",))
    assert accuracy_task_mean(correct, task, 3).reason == "zero_trials"


def test_the_design_effect_of_exams_answered_alike_is_their_size() -> None:
    """All four questions of an exam are right or wrong together: the error is that of the exams."""
    correct = np.repeat([1] * 12 + [0] * 8, 4)
    found = clustered_accuracy(correct, np.repeat(np.arange(20), 4))
    assert found.accuracy_cluster_se == pytest.approx(sqrt(0.6 * 0.4 / 19))
    assert found.design_effect == pytest.approx(4 * 20 / 19)


# --- shares and their intervals -------------------------------------------------------------------


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_scipy(k_of_n: tuple[int, int]) -> None:
    k, n = k_of_n
    expected = binomtest(k, n).proportion_ci(method="wilson")
    low, high = wilson(k, n)
    assert isclose(low, expected.low, abs_tol=1e-12)
    assert isclose(high, expected.high, abs_tol=1e-12)
    assert 0 <= low <= k / n <= high <= 1


def test_a_share_of_few_is_flagged() -> None:
    assert [share(3, n).flags for n in (9, 10)] == [(SMALL_N,), ()]


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
def test_the_median_has_the_tabulated_interval() -> None:
    """Ranks of the sign-test interval, as in Conover's and every other table of it."""
    lowers = {5: None, 6: 1, 8: 1, 9: 2, 10: 2, 15: 4, 20: 6, 30: 10, 50: 18, 100: 40}
    for n, lower in lowers.items():
        found = median_estimate(list(range(n, 0, -1)))
        assert found.value == (n + 1) / 2
        assert found.ci95 == (None if lower is None else (lower, n + 1 - lower)), n
    assert median_estimate([]).value is None
    assert median_estimate([]).reason == ZERO_TRIALS


@given(st.integers(0, 5000))
def test_the_ranks_equal_scipy(n: int) -> None:
    found, rank = median_estimate(range(1, n + 1)), int(binom.ppf(0.025, n, 0.5)) if n else 0
    assert found.ci95 == ((rank, n + 1 - rank) if rank else None)
    assert found.reason == (None if n else ZERO_TRIALS)


def test_one_run_has_no_spread_and_a_run_without_a_question_leaves_both_open() -> None:
    assert run_spread([0.8]).sd.reason == "too_few"
    nothing = run_spread([0.8, None])
    assert (nothing.n_runs, nothing.mean.reason, nothing.sd.reason) == (2, "zero_trials", "zero_trials")
