"""Agreement of two raters: against other libraries, and what must not change it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from annotation.statistics.kernels.pair_tables import outcome_tables, pair_tables
from annotation.statistics.kernels.pairs import (
    agreement_if_independent,
    brennan_prediger,
    brennan_prediger_result,
    cohen_kappa,
    cohen_kappa_se,
    excess_agreement,
    gwet_ac1,
    percent_agreement,
    percent_agreement_result,
    phi,
    same_wrong_option,
    scott_pi,
    sums_of,
)
from tests.annotation.statistics.coverage import large_sample_kappa

Q = 4
COEFFICIENTS = (percent_agreement, cohen_kappa, cohen_kappa_se, scott_pi, gwet_ac1, brennan_prediger)
Answers = NDArray[np.int8]

codes = st.integers(-2, Q - 1)
answers_of_two = st.lists(st.tuples(codes, codes), min_size=1, max_size=40).map(
    lambda pairs: np.array(pairs, dtype=np.int8).T
)
tables_of_two = answers_of_two.map(lambda answers: pair_tables(answers, Q)[0, 0]).filter(lambda table: table.sum() > 0)


@given(answers_of_two)
def test_kappa_equals_that_of_scikit_learn(answers: Answers) -> None:
    both = (answers >= 0).all(axis=0)
    assume(both.any())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where kappa is undefined
        expected = cohen_kappa_score(answers[0][both], answers[1][both], labels=list(range(Q)))
    assert float(cohen_kappa(pair_tables(answers, Q)[0, 0])) == pytest.approx(expected, nan_ok=True)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_phi_is_the_correlation_of_right_and_wrong(pairs: list[tuple[bool, bool]]) -> None:
    correct = np.array(pairs, dtype=np.int8).T
    found = float(phi(*sums_of(pair_tables(correct, 2)[0, 0])))
    with np.errstate(invalid="ignore", divide="ignore"):  # where one of the two has all right or all wrong
        assert found == pytest.approx(np.corrcoef(correct.astype(float))[0, 1], nan_ok=True, abs=1e-12)


@given(tables_of_two)
def test_errors_equal_those_of_statsmodels(table: NDArray[np.int32]) -> None:
    assume(np.isfinite(cohen_kappa(table)))
    with np.errstate(invalid="ignore"):  # it divides by errors of zero
        theirs = cohens_kappa(table)
    assert float(cohen_kappa_se(table)) == pytest.approx(max(0.0, theirs.var_kappa) ** 0.5, abs=1e-7)


@given(tables_of_two)
def test_who_comes_first_does_not_matter(table: NDArray[np.int32]) -> None:
    for coefficient in COEFFICIENTS:
        assert float(coefficient(table)) == pytest.approx(float(coefficient(table.T)), abs=1e-9, nan_ok=True)


@given(tables_of_two, st.permutations(range(Q)))
def test_what_options_are_called_does_not_matter(table: NDArray[np.int32], order: list[int]) -> None:
    renamed = table[np.ix_(order, order)]
    for coefficient in COEFFICIENTS:
        assert float(coefficient(table)) == pytest.approx(float(coefficient(renamed)), abs=1e-9, nan_ok=True)


@given(answers_of_two, st.tuples(codes, codes), st.integers(0, 40))
def test_a_voided_question_changes_nothing(answers: Answers, added: tuple[int, int], place: int) -> None:
    at = min(place, answers.shape[1])
    panel = np.insert(np.zeros(answers.shape[1], dtype=np.int64), at, -1)
    more = np.insert(answers, at, added, axis=1)
    assert (pair_tables(more, Q, group=panel) == pair_tables(answers, Q)).all()


@given(st.lists(tables_of_two, min_size=2, max_size=4))
def test_a_stack_of_tables_is_each_table(tables: list[NDArray[np.int32]]) -> None:
    for coefficient in COEFFICIENTS:
        stacked = coefficient(np.stack(tables))
        assert stacked.tolist() == pytest.approx([float(coefficient(table)) for table in tables], nan_ok=True)


@given(tables_of_two)
def test_the_interval_holds_kappa_within_its_range(table: NDArray[np.int32]) -> None:
    result = large_sample_kappa(table)
    assert result.n == table.sum()
    if result.value is None:
        assert result.reason == "expected_agreement_is_one"
    elif result.n < 10 or "no_variation" in result.flags:
        assert result.ci95 is None
    else:
        assert result.ci95 is not None
        assert -1 <= result.ci95[0] <= result.value <= result.ci95[1] <= 1
        assert result.ci95[0] < result.ci95[1]
    assert ("small_n" in result.flags) == (result.n < 30)


def test_a_constant_rater_is_flagged_and_kappa_is_exactly_zero() -> None:
    table = np.zeros((Q, Q), dtype=int)
    table[0] = [13, 9, 0, 11]
    result = large_sample_kappa(table)
    assert (result.value, result.ci95, result.flags) == (0.0, None, ("no_variation", "constant_rater"))
    apart = np.zeros((Q, Q), dtype=int)
    apart[0, 1] = 40
    assert large_sample_kappa(apart).value == 0.0
    assert large_sample_kappa(apart).flags == ("no_variation", "constant_rater")


def test_perfect_agreement_is_one_without_a_doubt_of_rounding() -> None:
    for counts in ([1, 1, 1, 7], [3, 3, 3, 3], [0, 49, 1, 49], [10, 0, 0, 1]):
        assert large_sample_kappa(np.diag(counts)).value == 1.0


def test_percent_agreement_has_an_interval_also_where_two_raters_always_agree() -> None:
    table = np.diag([20, 20, 10, 0])
    agreed, corrected = percent_agreement_result(table), brennan_prediger_result(table)
    low, high = agreed.ci95 or (0, 0)
    assert (low, high) == pytest.approx((50 / (50 + 1.959964**2), 1), abs=1e-6)
    assert corrected.ci95 == pytest.approx([(low - 1 / 4) / (3 / 4), 1])
    assert agreed.flags == corrected.flags == ("few_disagreements",)
    assert large_sample_kappa(table).ci95 is None


def test_agreement_beyond_that_of_independent_raters() -> None:
    """Accuracies of 0.8 and 0.6: independent raters agree on 0.8 * 0.6 + 0.2 * 0.4 / 3 of the questions."""
    outcome = np.array([50, 30, 10, 8, 2])
    assert float(agreement_if_independent(outcome, Q)) == pytest.approx(0.8 * 0.6 + 0.2 * 0.4 / 3)
    assert float(excess_agreement(outcome, Q)) == pytest.approx(0.58 - (0.8 * 0.6 + 0.2 * 0.4 / 3))
    same = same_wrong_option(outcome)
    assert (same.value, same.n) == (0.8, 10)
    assert same_wrong_option(np.array([5, 1, 1, 0, 0])).reason == "zero_trials"


def test_independent_raters_agree_as_often_as_expected() -> None:
    rng = np.random.default_rng(20261122)
    key = rng.integers(Q, size=40_000)
    answers = np.stack(
        [np.where(rng.random(key.size) < a, key, (key + rng.integers(1, Q, key.size)) % Q) for a in (0.8, 0.6)]
    )
    assert abs(float(excess_agreement(outcome_tables(answers, key)[0, 0], Q))) < 0.008  # three standard errors


def test_an_error_that_is_zero_stays_zero() -> None:
    """Beside a constant rater kappa is 0 whatever happens; a difference of two squares would leave 1e-8."""
    for table in ([[0, 0], [1, 5]], [[0, 0], [2, 5]], [[0, 0], [2, 3]], [[4, 0], [0, 3]]):
        assert float(cohen_kappa_se(np.array(table))) == pytest.approx(0, abs=1e-15), table


def test_undefined_kappas_say_why() -> None:
    nothing, same = np.zeros((4, 4), dtype=int), np.diag([5, 0, 0, 0])
    assert large_sample_kappa(nothing).reason == "no_common_questions"
    assert large_sample_kappa(same).reason == "expected_agreement_is_one"
    assert np.isnan(cohen_kappa(np.stack([nothing, same]))).all()
