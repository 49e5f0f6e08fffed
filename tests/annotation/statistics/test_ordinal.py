"""Agreement on ordered grades: what it rewards, its intervals, and where it is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.reviewers import (
    grade_agreement,
    intraclass_correlations,
    linear_weights,
    quadratic_weights,
    weighted_agreement,
)

N = 90


def grades(reviewers: int, spread: float) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    rng = np.random.default_rng(3)
    noise = rng.normal(scale=spread, size=(reviewers, N))
    return np.clip(np.rint(rng.integers(1, 4, size=N) + noise), 0, 4).astype(np.int64)


def test_two_reviewers_agree_as_scikit_learn_says() -> None:
    given = grades(2, 0.6)
    found = grade_agreement(given, 5, units_of(np.arange(N)), seed=1, panel="p", draws=200)
    for weights in ("linear", "quadratic"):
        expected = cohen_kappa_score(*given, weights=weights, labels=list(range(5)))
        result = found[f"cohen_kappa_{weights}"]
        low, high = result.ci95 or (1, 0)
        assert result.value == pytest.approx(expected)
        assert low < expected < high
    assert found["krippendorff_alpha_ordinal"].n == N


def test_grades_that_pile_up_agree_and_edges_say_why() -> None:
    one_apart = np.full((2, 40), 4)
    one_apart[1, 0] = 3
    found = weighted_agreement(one_apart, quadratic_weights(5), clustered=True)
    assert found.percent_agreement_weighted.value == pytest.approx(1 - 1 / 16 / 40)
    assert found.gwet_ac2.value == pytest.approx(1, abs=0.01)
    assert (found.gwet_ac2.ci95 is None, found.gwet_ac2.flags) == (False, ("clusters_ignored",))
    alike = weighted_agreement(one_apart[:, 1:], linear_weights(5))
    assert (alike.gwet_ac2.value, alike.gwet_ac2_se, alike.gwet_ac2.ci95) == (1.0, 0.0, None)
    assert alike.gwet_ac2.flags == ("no_variation",)
    few = weighted_agreement(one_apart[:, :9], linear_weights(5))
    assert (few.gwet_ac2.ci95, few.gwet_ac2.flags) == (None, ("small_n",))
    alone = weighted_agreement(one_apart[:1], linear_weights(5))
    assert (alone.gwet_ac2.reason, alone.gwet_ac2_se) == ("one_rater", None)
    apart = weighted_agreement(np.where(np.arange(2)[:, np.newaxis] == np.arange(40) % 2, 1, -1), linear_weights(5))
    assert apart.gwet_ac2.reason == "no_common_questions"


def test_three_reviewers_have_alpha_only_and_need_not_grade_everything() -> None:
    given = grades(3, 0.6)
    given[2, ::2] = -1
    given[1:, 0] = -1
    found = grade_agreement(given, 5, units_of(np.arange(N) // 2), seed=1, panel="p", draws=200)
    assert found.keys() == {"krippendorff_alpha_ordinal"}
    assert found["krippendorff_alpha_ordinal"].n == N - 1
    assert found["krippendorff_alpha_ordinal"].method == "bootstrap_clusters"


def test_one_grade_throughout_and_no_common_question_are_undefined() -> None:
    units = units_of(np.arange(N))
    same = grade_agreement(np.full((2, N), 3), 5, units, seed=1, panel="p", draws=20)
    apart = grade_agreement(np.array([[3] * N, [-1] * N]), 5, units, seed=1, panel="p", draws=20)
    assert same["krippendorff_alpha_ordinal"].reason == "no_variation"
    assert same["cohen_kappa_quadratic"].reason == "expected_agreement_is_one"
    assert {result.reason for result in apart.values()} == {"no_common_questions"}


def test_near_misses_count_more_the_nearer_they_are() -> None:
    assert linear_weights(5)[0].tolist() == [1, 0.75, 0.5, 0.25, 0]
    assert quadratic_weights(3).tolist() == [[1, 0.75, 0], [0.75, 1, 0.75], [0, 0.75, 1]]
    with pytest.raises(ValueError, match="two grades or more"):
        linear_weights(1)


def test_consistency_forgives_a_stricter_judge_and_absolute_agreement_does_not() -> None:
    given = grades(2, 0.3).T.astype(float)
    stricter = given - [0, 1.5]
    before, after = intraclass_correlations(given), intraclass_correlations(stricter)
    assert after["icc3_1"].value == pytest.approx(before["icc3_1"].value)
    assert (after["icc2_1"].value or 0) < (before["icc2_1"].value or 0)


def test_targets_without_all_grades_are_left_out() -> None:
    given = grades(3, 0.5).T.astype(float)
    more = np.append(given, [[1.0, np.nan, 2.0]], axis=0)
    assert intraclass_correlations(more) == intraclass_correlations(given)


def test_correlations_without_judges_targets_or_variation_say_why() -> None:
    assert intraclass_correlations(np.ones((6, 1)))["icc2_1"].reason == "one_rater"
    assert intraclass_correlations(np.ones((1, 3)))["icc2_1"].reason == "too_few"
    assert intraclass_correlations(np.ones((6, 3)))["icc3_k"].reason == "no_variation"
    agreed = intraclass_correlations(np.repeat(np.arange(12.0)[:, np.newaxis], 3, axis=1))["icc2_1"]
    assert (agreed.value, agreed.ci95) == (1, None)
