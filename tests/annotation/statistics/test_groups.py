"""Agreement of groups: against other libraries, and what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats import inter_rater

from annotation.statistics.kernels import groups
from annotation.statistics.kernels.group_intervals import COEFFICIENTS
from annotation.statistics.kernels.groups import RatingSums, coincidences, common_denominator, rating_counts
from annotation.statistics.kernels.pair_tables import pair_tables
from annotation.statistics.kernels.pairs import brennan_prediger, gwet_ac1

Q = 4
Answers = NDArray[np.int8]


def of_raters(fewest: int, most: int, lowest_code: int) -> st.SearchStrategy[Answers]:
    return st.integers(fewest, most).flatmap(
        lambda raters: st.lists(
            st.lists(st.integers(lowest_code, Q - 1), min_size=raters, max_size=raters), min_size=2, max_size=25
        ).map(lambda rows: np.array(rows, dtype=np.int8).T)
    )


def values(answers: Answers) -> list[float]:
    sums = RatingSums.of(answers, Q)
    return [float(coefficient(sums)) for coefficient in COEFFICIENTS.values()]


def value(name: str, answers: Answers) -> float:
    return dict(zip(COEFFICIENTS, values(answers), strict=True))[name]


@given(of_raters(2, 5, 0))
def test_fleiss_equals_that_of_statsmodels(answers: Answers) -> None:
    found = value("fleiss_kappa", answers)
    assume(not np.isnan(found))
    assert found == pytest.approx(inter_rater.fleiss_kappa(rating_counts(answers, Q)))


@given(of_raters(2, 2, 0))
def test_two_raters_agree_as_their_table_says(answers: Answers) -> None:
    table = pair_tables(answers, Q)[0, 0]
    assert value("gwet_ac1", answers) == pytest.approx(float(gwet_ac1(table)))
    assert value("brennan_prediger", answers) == pytest.approx(float(brennan_prediger(table)))
    found = value("conger_kappa", answers)
    assume(not np.isnan(found))
    assert found == pytest.approx(cohen_kappa_score(*answers, labels=list(range(Q))), abs=1e-9)


@given(of_raters(1, 5, -2), st.randoms(use_true_random=False))
def test_who_is_who_and_what_options_are_called_does_not_matter(answers: Answers, chance: object) -> None:
    shuffled, renamed = np.arange(len(answers)), np.arange(Q)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    chance.shuffle(renamed)  # type: ignore[attr-defined]
    other = np.where(answers >= 0, renamed[answers], -1)[shuffled]
    assert values(other) == pytest.approx(values(answers), nan_ok=True, abs=1e-9)


@given(of_raters(2, 5, -2), st.integers(0, 25))
def test_a_question_without_ratings_changes_nothing(answers: Answers, place: int) -> None:
    more = np.insert(answers, min(place, answers.shape[1]), -1, axis=1)
    assert values(more) == pytest.approx(values(answers), nan_ok=True)
    assert groups.fleiss_kappa_se(rating_counts(more, Q)) == groups.fleiss_kappa_se(rating_counts(answers, Q))


def test_a_single_rating_enters_nothing() -> None:
    """With single ratings in the margins Fleiss' kappa fell to -4.56: 72 questions that one of two raters answered."""
    answers = np.array([[0, 1, 0], [0, 1, 0], [0, 0, -1]])
    more = np.append(answers, [[1], [-1], [-1]], axis=1)
    assert values(more) == values(answers)
    for error in (groups.fleiss_kappa_se, groups.gwet_ac1_se):
        assert error(rating_counts(more, Q)) == error(rating_counts(answers, Q))


@given(of_raters(2, 4, -2))
def test_fleiss_kappa_never_falls_below_minus_one(answers: Answers) -> None:
    found = value("fleiss_kappa", answers)
    assert np.isnan(found) or -1 - 1e-12 <= found <= 1 + 1e-12


@given(of_raters(2, 6, -2))
def test_nominal_alpha_is_that_of_the_coincidences(answers: Answers) -> None:
    whole = coincidences(rating_counts(answers, Q)).sum(axis=0)
    found = float(groups.krippendorff_alpha(whole, groups.NOMINAL))
    assert value("krippendorff_alpha_nominal", answers) == pytest.approx(found, nan_ok=True, abs=1e-12)


def test_one_option_throughout_is_undefined() -> None:
    found = dict(zip(COEFFICIENTS, values(np.zeros((3, 8), dtype=np.int8)), strict=True))
    undefined = {name for name, one in found.items() if np.isnan(one)}
    assert undefined == {"fleiss_kappa", "conger_kappa", "krippendorff_alpha_nominal"}
    assert (found["percent_agreement"], found["brennan_prediger"]) == (1, 1)
    counts = np.array([[3, 0]] * 8)
    assert groups.fleiss_kappa_se(counts) is None


@given(of_raters(2, 3, 0))
def test_alpha_of_equally_spaced_values_does_not_depend_on_their_unit(answers: Answers) -> None:
    sums = coincidences(rating_counts(answers, Q)).sum(axis=0)
    one = groups.krippendorff_alpha(sums, groups.INTERVAL, np.arange(1.0, Q + 1))
    other = groups.krippendorff_alpha(sums, groups.INTERVAL, 20 * np.arange(1.0, Q + 1) - 7)
    assert float(other) == pytest.approx(float(one), nan_ok=True)


@given(of_raters(2, 7, -2))
def test_coincidences_are_whole_over_their_common_denominator(answers: Answers) -> None:
    counts = rating_counts(answers, Q)
    columns = coincidences(counts) * common_denominator(counts)
    assert np.abs(columns - np.rint(columns)).max() < 1e-9


def test_codes_of_no_option_are_refused() -> None:
    with pytest.raises(ValueError, match="code 4 is no option"):
        rating_counts(np.array([[4], [0]]), Q)
