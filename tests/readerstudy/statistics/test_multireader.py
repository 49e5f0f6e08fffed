"""Multi-reader analyses: against one-sample t tests, and at their edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from readerstudy.statistics.multireader import mean_of_readers, model_minus_readers, paired_difference

Correct = NDArray[np.int64]


@st.composite
def panels(draw: st.DrawFn) -> tuple[Correct, Correct]:
    """A model's row and the readers'; -1 does not count."""
    readers, questions = draw(st.integers(1, 6)), draw(st.integers(1, 25))
    drawn = draw(st.lists(st.integers(-1, 5), min_size=(readers + 1) * questions, max_size=(readers + 1) * questions))
    scores = np.minimum(drawn, 1).reshape(readers + 1, questions)
    return scores[0], scores[1:]


@given(panels())
def test_fixed_factors_are_one_sample_t_tests(panel: tuple[Correct, Correct]) -> None:
    model, readers = panel
    found = model_minus_readers(model, readers)
    complete = (readers >= 0).all(axis=0) & (model >= 0)
    apart = (model - readers)[:, complete]
    assert (found.n_questions, found.n_dropped) == (complete.sum(), (~complete).sum())
    for inference, means in (
        (found.fixed_readers_random_questions, apart.mean(axis=0) if apart.size else apart),
        (found.random_readers_fixed_questions, apart.mean(axis=1) if apart.size else apart),
    ):
        if inference.se is not None:
            theirs = ttest_1samp(means, 0)
            assert inference.df == theirs.df
            assert inference.p == pytest.approx(theirs.pvalue, abs=1e-9)
            expected = theirs.confidence_interval(0.95)
            assert inference.ci95 == pytest.approx((max(-1, expected.low), min(1, expected.high)))


@given(panels())
def test_the_order_of_conditions_turns_the_sign_and_the_order_of_readers_nothing(
    panel: tuple[Correct, Correct],
) -> None:
    model, readers = panel
    assume(len(readers) > 1)
    repeated = np.broadcast_to(model, readers.shape)
    here, there = paired_difference(repeated, readers), paired_difference(readers[::-1], repeated)
    assert here.random_readers_random_questions.se == pytest.approx(there.random_readers_random_questions.se)
    assert here.random_readers_random_questions.p == pytest.approx(there.random_readers_random_questions.p)
    assert (here.mean is None) == (there.mean is None)
    assert here.mean is None or here.mean == pytest.approx(-(there.mean or 0.0))


@given(panels())
def test_random_readers_never_make_the_error_smaller(panel: tuple[Correct, Correct]) -> None:
    found = model_minus_readers(*panel)
    random, fixed = found.random_readers_random_questions, found.random_readers_fixed_questions
    assert random.se is None or fixed.se is None or random.se >= fixed.se - 1e-12
    if random.ci95 is not None:
        assert random.ci90 is not None
        assert -1 <= random.ci95[0] <= random.ci90[0] <= random.ci90[1] <= random.ci95[1] <= 1


def test_one_reader_has_the_fixed_analysis_alone() -> None:
    found = mean_of_readers(np.array([[1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1]]))
    assert found.fixed_readers_random_questions.ci95 is not None
    assert found.random_readers_random_questions.reason == "one_rater"
    assert found.random_readers_fixed_questions.reason == "one_rater"
    assert found.ms_residual is None


def test_readers_of_one_accuracy_are_judged_as_fixed() -> None:
    found = mean_of_readers(np.array([[1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 1, 0]]))
    random, fixed = found.random_readers_random_questions, found.fixed_readers_random_questions
    assert random.ci95 == fixed.ci95
    assert random.flags == ("few_readers", "as_fixed_readers")
    assert found.random_readers_fixed_questions.reason == "no_variation"


def test_a_mean_of_nothing_or_without_variation_says_why() -> None:
    assert mean_of_readers(np.array([[1, -1], [-1, 1]])).reason == "no_common_questions"
    alike = mean_of_readers(np.ones((3, 12), dtype=int))
    assert alike.mean == 1.0
    assert alike.random_readers_random_questions.reason == "no_variation"


def test_few_readers_are_flagged_where_readers_are_random() -> None:
    rng = np.random.default_rng(3)
    found = mean_of_readers(rng.integers(0, 2, (4, 40)))
    assert found.random_readers_random_questions.flags == ("few_readers",)
    assert found.fixed_readers_random_questions.flags == ()
    assert mean_of_readers(rng.integers(0, 2, (5, 40))).random_readers_random_questions.flags == ()


def test_the_stored_form_is_plain() -> None:
    stored = model_minus_readers(np.array([1, 0, 1, 1]), np.array([[1, 1, 0, 1], [0, 0, 0, 1]])).as_json()
    assert stored["n_readers"] == 2
    assert stored["flags"] == ["small_n"]
    assert isinstance(stored["random_readers_random_questions"]["ci95"], list)
