"""Stated chances of being right: what must not matter, and where there is nothing to say."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.statistics.kernels.calibration import calibration
from annotation.statistics.kernels.intervals import wilson

CHANCE = np.random.default_rng(3)
STATED = CHANCE.choice([25.0, 40.0, 60.0, 80.0, 95.0], 60)
RIGHT = (CHANCE.random(60) < STATED / 100).astype(int)


def test_each_question_an_exam_of_its_own_is_the_plain_t_interval() -> None:
    found = calibration(STATED, RIGHT, np.arange(60))
    apart = STATED / 100 - RIGHT
    assert found.stated_minus_right_se == pytest.approx(apart.std(ddof=1) / np.sqrt(60))
    assert found.brier_score.value == pytest.approx((apart**2).mean())


def test_who_is_always_half_sure_scores_a_quarter_and_does_not_vary() -> None:
    found = calibration(np.full(20, 50.0), np.repeat([0, 1], 10), np.arange(20))
    assert (found.brier_score.value, found.brier_reference.value) == (0.25, 0.25)
    assert (found.brier_score.ci95, found.brier_score.flags) == (None, ("no_variation",))
    assert found.stated_minus_right.ci95 is not None


def test_who_is_always_right_has_an_interval_of_the_difference_and_none_of_the_score() -> None:
    """All of 40 right: the limits of the share right are Wilson's, and the stated chance does not vary."""
    found = calibration(np.full(40, 100.0), np.ones(40, dtype=int), np.arange(40))
    assert (found.brier_score.ci95, found.brier_score.flags) == (None, ("no_variation", "few_errors"))
    assert found.stated_minus_right.flags == ()
    assert found.stated_minus_right.ci95 == pytest.approx((0.0, 1 - wilson(40, 40)[0]))


def test_fewer_than_five_errors_or_five_right_answers_leave_the_score_without_limits() -> None:
    for n_right, is_given in ((4, False), (5, True), (55, True), (56, False)):
        found = calibration(STATED, np.repeat([1, 0], [n_right, 60 - n_right]), np.arange(60))
        assert (found.brier_score.ci95 is not None) == is_given
        assert ("few_errors" in found.brier_score.flags) != is_given


def test_an_answer_without_a_chance_or_that_does_not_count_changes_nothing() -> None:
    more = calibration(np.append(STATED, [np.nan, 80]), np.append(RIGHT, [1, -1]), np.arange(62))
    assert more == calibration(STATED, RIGHT, np.arange(60))


def test_few_answers_and_few_exams_have_no_interval() -> None:
    nine = calibration(STATED[:9], RIGHT[:9], np.arange(9))
    assert (nine.brier_score.ci95, nine.stated_minus_right.flags) == (None, ("small_n",))
    exams = calibration(STATED, RIGHT, np.arange(60) // 10)
    assert (exams.stated_minus_right.ci95, exams.stated_minus_right.flags) == (None, ("few_clusters",))
    none = calibration(np.full(3, np.nan), np.ones(3, dtype=int), np.arange(3))
    assert (none.brier_score.reason, none.reliability_bins) == ("zero_trials", ())


def test_free_values_fall_into_ten_bins_and_certainty_into_the_last() -> None:
    stated = np.array([0.0, 9.9, 10.0, 90.0, 100.0])
    found = calibration(stated, np.array([0, 0, 1, 1, 1]), np.arange(5)).reliability_bins
    assert [(one.right.n, round(one.mean_stated, 4)) for one in found] == [(2, 0.0495), (1, 0.1), (2, 0.95)]
