"""Times per question: against other libraries on incomplete data, and where there is nothing to say."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.stats import spearmanr

from annotation.statistics.kernels import timing

J, K = 4, 30


def times() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Seconds with gaps, and the position of each question for each reader."""
    rng = np.random.default_rng(5)
    position = np.array([rng.permutation(K) + 1 for _reader in range(J)])
    logs = 3 + rng.normal(scale=0.4, size=(J, 1)) + rng.normal(scale=0.5, size=K) - 0.01 * position
    seconds = np.exp(logs + rng.normal(scale=0.2, size=(J, K)))
    seconds[rng.random((J, K)) < 0.15] = np.nan
    return seconds, position


def test_the_adjusted_slope_is_that_of_the_regression_with_all_factors() -> None:
    seconds, position = times()
    reader, question = np.nonzero(~np.isnan(seconds))
    design = np.column_stack(
        [
            position[reader, question],
            reader[:, np.newaxis] == np.arange(J),
            question[:, np.newaxis] == np.arange(1, K),
        ]
    ).astype(float)
    fitted = sm.OLS(np.log(seconds[reader, question]), design).fit()
    found = timing.pooled_log_slope_adjusted(seconds, position)
    assert found.df == fitted.df_resid
    assert found.slope.value == pytest.approx(fitted.params[0])
    assert found.se == pytest.approx(fitted.bse[0])
    assert found.slope.ci95 == pytest.approx(fitted.conf_int()[0])


def test_a_position_that_is_the_question_says_nothing() -> None:
    same_order = np.tile(np.arange(1, K + 1), (J, 1))
    found = timing.pooled_log_slope_adjusted(times()[0], same_order)
    assert (found.slope.reason, found.se) == ("no_variation", None)
    nothing = timing.pooled_log_slope_adjusted(np.full((J, K), np.nan), same_order)
    assert (nothing.slope.reason, nothing.slope.n) == ("too_few", 0)


def test_ranks_with_ties_correlate_as_scipy_says() -> None:
    seconds, position = np.array([3.0, 1, 1, 4, 4, 4, 2]), np.array([1, 2, 3, 4, 5, 6, 7])
    expected = spearmanr(seconds, position).statistic
    assert timing.spearman_time_vs_position(seconds, position).value == pytest.approx(expected)
    assert timing.spearman_time_vs_position(np.ones(4), position[:4]).reason == "no_variation"


def test_questions_without_all_times_do_not_enter_the_components() -> None:
    seconds, _position = times()
    complete = seconds[:, ~np.isnan(seconds).any(axis=0)]
    found = timing.log_time_variance_components(seconds)
    assert found == timing.log_time_variance_components(complete)
    assert found is not None
    assert found.n_questions == complete.shape[1] < K
    assert timing.log_time_variance_components(seconds[:1]) is None


def test_a_component_is_never_negative() -> None:
    found = timing.log_time_variance_components(np.exp(np.array([[1.0, 2, 3], [3, 2, 1]])))
    assert found is not None
    assert (found.reader, found.question) == (0, 0)


def test_only_times_beyond_the_outer_fence_are_drawn_in() -> None:
    seconds = np.append(np.linspace(10, 30, 21), 5000)
    found = timing.winsorised(seconds)
    assert (found[:-1] == seconds[:-1]).all()
    q1, q3 = np.percentile(np.log(seconds), [25, 75])
    assert found[-1] == pytest.approx(np.exp(q3 + 3 * (q3 - q1)))
    assert not len(timing.winsorised(np.array([])))


def test_a_slope_as_percent_over_ten_questions() -> None:
    position = np.arange(1, 21)
    slope = timing.log_slope_per_position(np.exp(3 - 0.01 * position), position)
    assert slope.value == pytest.approx(-0.01)
    assert timing.percent_per_ten(slope).value == pytest.approx(-9.516258)
    few = timing.log_slope_per_position(np.array([1.0, 2.0]), position[:2])
    assert timing.percent_per_ten(few).reason == "too_few"
    still = timing.log_slope_per_position(np.arange(1.0, 21), np.full(20, 3))
    assert still.reason == "no_variation"


def test_one_time_has_a_mean_without_interval_and_none_has_nothing() -> None:
    assert timing.geometric_mean(np.array([20.0])).ci95 is None
    assert timing.geometric_mean(np.array([])).reason == "zero_trials"
    assert timing.quartiles(np.array([])) is None
    with pytest.raises(ValueError, match="above 0"):
        timing.geometric_mean(np.array([20.0, 0.0]))


def test_outer_percentiles_stand_beside_the_quartiles() -> None:
    found = timing.quartiles(np.arange(1.0, 102.0))
    assert found is not None
    assert (found.p5, found.q1, found.median, found.q3, found.p95) == (6, 26, 51, 76, 96)
    ended = timing.quartiles(np.arange(1.0, 102.0), np.arange(101) > 90)
    assert ended is not None
    assert (ended.p5, ended.q3, ended.p95) == (6, 76, None)
