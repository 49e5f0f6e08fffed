"""Comparisons of raters: against statsmodels and scipy, and what must not change them."""

from __future__ import annotations

import gc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom
from scipy.stats import t as stats_t
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import cochrans_q, mcnemar
from statsmodels.stats.multitest import multipletests

from annotation.statistics.kernels.comparing import (
    DifferenceInterval,
    Mover,
    PairedTable,
    cluster_mcnemar_chi2,
    clustered_difference,
    cochran_q,
    difference,
    difference_limits,
    differences,
    equivalence_p,
    holm_adjusted,
    is_equivalent,
    is_non_inferior,
    is_superior,
    mcnemar_chi2,
    mcnemar_exact_p,
    mcnemar_midp,
    noninferiority_p,
    paired_table,
)
from annotation.statistics.kernels.intervals import wilson
from annotation.statistics.kernels.proportions import clustered_accuracy
from annotation.statistics.kernels.ranking import ranked_pairs

cells = st.integers(0, 120)
tables = st.builds(PairedTable, cells, cells, cells, cells).filter(lambda table: table.n > 0)
questions = st.lists(
    st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.integers(-1, 1), st.integers(0, 14)), min_size=1, max_size=50
)


@given(tables)
def test_mcnemar_equals_that_of_statsmodels(table: PairedTable) -> None:
    square = [[table.both, table.first_only], [table.second_only, table.neither]]
    assert mcnemar_exact_p(table) == pytest.approx(mcnemar(square, exact=True).pvalue, rel=1e-9)
    if table.first_only + table.second_only:
        theirs, ours = mcnemar(square, exact=False, correction=False), mcnemar_chi2(table)
        assert ours.chi2 == pytest.approx(theirs.statistic)
        assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)


@given(tables)
def test_the_mid_p_counts_the_observed_table_half(table: PairedTable) -> None:
    discordant = table.first_only + table.second_only
    assume(discordant)
    as_likely = binom.pmf(min(table.first_only, table.second_only), discordant, 0.5)
    half = as_likely if table.first_only != table.second_only else as_likely / 2
    assert mcnemar_midp(table) == pytest.approx(mcnemar_exact_p(table) - half)


@given(tables)
def test_who_comes_first_turns_the_difference_round(table: PairedTable) -> None:
    swapped = PairedTable(table.both, table.second_only, table.first_only, table.neither)
    assert mcnemar_exact_p(swapped) == mcnemar_exact_p(table)
    for interval in DifferenceInterval:
        here, there = difference(table, interval), difference(swapped, interval)
        assert here.ci95 is not None
        assert there.ci95 is not None
        assert here.value == -(there.value or 0.0)
        assert here.ci95 == pytest.approx((-there.ci95[1], -there.ci95[0]), abs=1e-12)
        assert -1 <= here.ci95[0] <= (here.value or 0.0) + 1e-12
        assert (here.value or 0.0) - 1e-12 <= here.ci95[1] <= 1


@given(tables, st.sampled_from([0.90, 0.95]))
def test_tango_limits_are_where_the_score_test_rejects(table: PairedTable, confidence: float) -> None:
    """The likelihood with the difference fixed at a limit is maximised by trying shares, not by a formula."""
    z = {0.90: 1.6448536269514722, 0.95: 1.959963984540054}[confidence]
    for limit in difference_limits(table, DifferenceInterval.TANGO, confidence):
        if abs(limit) > 0.99:
            continue
        second_only = np.linspace(max(0.0, -limit), (1 - limit) / 2, 20_001)[1:-1]
        likelihood = (
            table.first_only * np.log(second_only + limit)
            + table.second_only * np.log(second_only)
            + (table.both + table.neither) * np.log(1 - 2 * second_only - limit)
        )
        share = second_only[np.argmax(likelihood)]
        variance = table.n * (2 * share + limit - limit**2)
        score = (table.first_only - table.second_only - table.n * limit) / np.sqrt(variance)
        assert abs(score) == pytest.approx(z, abs=5e-3)


@given(questions)
def test_cluster_errors_equal_those_of_statsmodels(rows: list[tuple[int, int, int, int]]) -> None:
    first, second, _third, cluster = np.array(rows).T
    counted = (first >= 0) & (second >= 0)
    assume(len(set(cluster[counted])) > 1)
    model = OLS((first - second)[counted].astype(float), np.ones(counted.sum()))
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": cluster[counted]}).bse[0]
    assert clustered_difference(first, second, cluster).difference_cluster_se == pytest.approx(theirs, abs=1e-9)


@given(questions)
def test_single_questions_are_clusters_of_mcnemar(rows: list[tuple[int, int, int, int]]) -> None:
    first, second, _third, _cluster = np.array(rows).T
    plain = mcnemar_chi2(paired_table(first, second))
    clustered = cluster_mcnemar_chi2(first, second, np.arange(len(first)))
    if plain.chi2 is None or plain.n < 2:
        assert clustered.chi2 is None
    else:
        assert clustered.chi2 == pytest.approx(plain.chi2 * (plain.n - 1) / plain.n)


@given(questions, st.tuples(*[st.integers(0, 1)] * 2))
def test_a_question_missing_for_one_changes_nothing(
    rows: list[tuple[int, int, int, int]], scores: tuple[int, int]
) -> None:
    correct, cluster = np.array(rows).T[:3], np.array(rows).T[3]
    more = np.column_stack([correct, [scores[0], -1, scores[1]]])
    assert paired_table(more[0], more[1]) == paired_table(correct[0], correct[1])
    assert cochran_q(more) == cochran_q(correct)
    assert clustered_difference(more[0], more[1], np.append(cluster, 5)) == clustered_difference(
        correct[0], correct[1], cluster
    )


@given(questions)
def test_cochran_equals_that_of_statsmodels(rows: list[tuple[int, int, int, int]]) -> None:
    correct = np.array(rows).T[:3]
    found = cochran_q(correct)
    complete = correct[:, (correct >= 0).all(axis=0)]
    if found.chi2 is None:
        assert found.reason == ("no_variation" if complete.size else "no_common_questions")
        assert (complete == complete[0]).all()
    else:
        theirs = cochrans_q(complete.T)
        assert found.chi2 == pytest.approx(theirs.statistic)
        assert found.p == pytest.approx(theirs.pvalue, abs=1e-12)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=30))
def test_holm_equals_that_of_statsmodels(hundredths: list[int]) -> None:
    p_values = [p / 100 for p in hundredths]
    gc.freeze()  # theirs collects garbage at each call: seconds where other tests have filled the memory
    theirs = multipletests(p_values, method="holm")[1].tolist()
    assert holm_adjusted(p_values) == pytest.approx(theirs, abs=1e-12)


def test_a_p_value_that_is_undefined_is_no_member_of_the_family() -> None:
    assert holm_adjusted([None, 0.01, None, 0.04]) == [None, 0.02, None, 0.04]
    assert holm_adjusted([]) == []


def test_what_cannot_be_compared_says_why() -> None:
    nobody = PairedTable(0, 0, 0, 0)
    assert difference(nobody).reason == "no_common_questions"
    assert mcnemar_chi2(nobody).reason == "no_common_questions"
    assert mcnemar_chi2(PairedTable(3, 0, 0, 3)).reason == "no_variation"
    assert mcnemar_midp(PairedTable(3, 0, 0, 3)) == 1.0
    assert cochran_q(np.array([[1, 0, 1]])).reason == "one_rater"
    apart: NDArray[np.int64] = np.array([1, -1])
    assert clustered_difference(apart, apart[::-1], np.array([0, 1])).difference.reason == "no_common_questions"
    one_exam = cluster_mcnemar_chi2(np.array([1, 1]), np.array([0, 1]), np.array([4, 4]))
    assert (one_exam.chi2, one_exam.reason) == (None, "few_clusters")


def test_exams_that_do_not_differ_have_no_interval() -> None:
    first, cluster = np.tile([1, 0], 12), np.repeat(np.arange(12), 2)
    found = clustered_difference(first, 1 - first, cluster).difference
    assert (found.value, found.ci95, found.flags) == (0.0, None, ("no_variation",))


def test_exams_that_do_not_differ_are_not_told_apart_by_rounding() -> None:
    """Each exam has 9 of 14 questions, or twice or three times that: the error is 0, not about 1e-17."""
    times = np.arange(12) % 3 + 1
    cluster = np.repeat(np.arange(12), 14 * times)
    first = np.concatenate([np.repeat([1, 0], [9 * one, 5 * one]) for one in times.tolist()])
    found = clustered_difference(first, np.zeros_like(first), cluster)
    assert found.difference.value == pytest.approx(9 / 14)
    assert (found.difference_cluster_se, found.difference.ci95) == (0.0, None)
    assert found.difference.flags == ("no_variation",)
    alone = clustered_accuracy(first, cluster)
    assert alone.accuracy.value == pytest.approx(9 / 14)
    assert (alone.accuracy_cluster_se, alone.design_effect, alone.accuracy.flags) == (0.0, 0.0, ())
    n, quantile = len(first), float(stats_t.ppf(0.975, 11))
    assert alone.accuracy.ci95 == pytest.approx(wilson(9 / 14 * n, n, quantile=quantile))


def test_what_may_be_claimed() -> None:
    assert [is_superior((low, 0.2)) for low in (0.001, 0.0)] == [True, False]
    assert [is_non_inferior(p) for p in (0.025, 0.0251)] == [True, False]
    assert [is_equivalent(p) for p in (0.05, 0.0501)] == [True, False]
    with pytest.raises(ValueError, match="margin"):
        noninferiority_p(0.1, 0.02, 9, 0)


@given(st.floats(-1, 1), st.floats(1e-9, 0.1), st.floats(-0.01, 0.1), st.integers(2, 4))
def test_a_p_by_mover_is_the_level_whose_limit_meets_what_is_tested(d: float, a: float, b: float, n: int) -> None:
    mover = Mover(d, a, b, n)
    assert mover.half(mover.p / 2) == pytest.approx(abs(d), abs=1e-9)
    below, above = (Mover(one, a, b, n).noninferiority_p(0.1) for one in (d, -0.2 - d))
    assert below + above == pytest.approx(1, abs=1e-12)  # as far above minus the margin as below it
    assert mover.half(min(below, above)) == pytest.approx(abs(d + 0.1), abs=1e-9)
    assert mover.equivalence_p(0.1) == max(below, Mover(-d, a, b, n).noninferiority_p(0.1))


def test_equivalence_at_five_percent_is_the_90_percent_interval_within_the_margin() -> None:
    for d in (0.0, 0.02, -0.02, 0.08):
        half = float(stats_t.ppf(0.95, 12)) * 0.02
        assert is_equivalent(equivalence_p(d, 0.02, 12, 0.06)) == (d - half > -0.06 and d + half < 0.06)


def test_the_interval_of_equivalence_is_the_narrower_one() -> None:
    table = PairedTable(95, 32, 35, 36)
    for interval in DifferenceInterval:
        (low, high), (low_90, high_90) = (difference_limits(table, interval, level) for level in (0.95, 0.90))
        assert low < low_90 < high_90 < high


def test_differences_of_many_tables_are_those_of_each() -> None:
    tables = [PairedTable(95, 32, 35, 36), PairedTable(0, 0, 0, 0), PairedTable(3, 0, 2, 1), PairedTable(9, 4, 0, 0)]
    for found, alone in zip(differences(tables), map(difference, tables), strict=True):
        assert (found.value, found.n, found.flags, found.reason) == (alone.value, alone.n, alone.flags, alone.reason)
        assert found.ci95 == (None if alone.ci95 is None else pytest.approx(alone.ci95, abs=1e-12))
    assert differences([]) == []


# --- every pair of many raters at once: what the kernels of one pair say --------------------------
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_pairs_by_cluster_are_those_of_each_pair(missing: float) -> None:
    rng = np.random.default_rng(7)
    cluster = rng.integers(0, 60, 240)
    correct = (rng.random((6, 240)) < np.linspace(0.5, 0.8, 6)[:, None]).astype(np.int8)
    correct[rng.random(correct.shape) < missing] = -1
    pairs = ranked_pairs(correct, cluster, clustered=True)
    assert [(one.first, one.second) for one in pairs] == list(combinations(range(6), 2))
    for one in pairs:
        rows = correct[one.first], correct[one.second], cluster
        assert one.difference == clustered_difference(*rows).difference
        assert one.p == cluster_mcnemar_chi2(*rows).p


def test_a_pair_without_a_common_question_is_open() -> None:
    correct = np.array([[1] * 20 + [-1] * 20, [-1] * 20 + [1] * 20], dtype=np.int8)
    (pair,) = ranked_pairs(correct, np.arange(40) // 2, clustered=True)
    assert (pair.p, pair.better, pair.difference.value) == (None, None, None)
