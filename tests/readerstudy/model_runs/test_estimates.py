"""The arithmetic of an estimate, against numbers worked out by hand and against a whole that is known."""

from __future__ import annotations

import random

import pytest
from scipy.stats import t as student

from readerstudy.model_runs.kernels.estimates import (
    N_FIRST,
    AskingSpeed,
    Expected,
    MadeCall,
    estimate,
    expected_total,
    first_questions,
)


def made(n_images: int = 1, **fields: float | None) -> MadeCall:
    given: dict[str, float | None] = {"n_bytes": 100, "n_input": 1000, "n_output": 10, "seconds": 2, "cost": 0.5}
    return MadeCall(n_images, **{**given, **fields})


def test_the_mean_of_each_number_of_images_times_its_calls_and_the_interval_by_hand() -> None:
    """Two strata, variance (8 + 0) / (1 + 1) = 4 with 2 degrees of freedom; N (N - n) / n = 4900 and 1200."""
    found = expected_total([(1, 10.0), (1, 14.0), (2, 30.0), (2, 30.0)], {1: 100, 2: 50})
    half = student.ppf(0.975, 2) * (4 * (100 * 98 / 2 + 50 * 48 / 2)) ** 0.5
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((100 * 12 + 50 * 30, 2700 - half, 2700 + half))


def test_where_all_calls_were_made_there_is_nothing_left_to_guess() -> None:
    assert expected_total([(1, 10.0), (1, 14.0)], {1: 2}) == Expected(24, 24, 24)


def test_the_range_never_goes_below_what_was_spent() -> None:
    found = expected_total([(1, 0.0), (1, 100.0)], {1: 4})
    assert found is not None
    assert found.low == 100


def test_a_number_of_images_that_was_not_tried_takes_the_nearest() -> None:
    found = expected_total([(1, 10.0), (1, 10.0), (4, 40.0)], {1: 10, 3: 10, 9: 10})
    assert found is not None
    assert found.value == 100 + 400 + 400


def test_one_call_alone_gives_no_range() -> None:
    assert expected_total([(1, 10.0)], {1: 100}) is None
    assert expected_total([], {1: 100}) is None


def test_single_calls_of_several_numbers_of_images_share_their_spread() -> None:
    found = expected_total([(1, 10.0), (2, 20.0)], {1: 5, 2: 5})
    assert found is not None
    assert found.low < found.value == 150 < found.high


def test_the_interval_covers_the_whole_as_often_as_it_says() -> None:
    """Twenty of 2,000 questions drawn 400 times, as a run draws them: about 95 % of the intervals hold the total."""
    values = random.Random(5)
    n_images = {question: values.choice((1, 2, 2, 3)) for question in range(2000)}
    tokens = {question: 300 * n + values.gauss(400, 90) for question, n in n_images.items()}
    counts = {n: list(n_images.values()).count(n) for n in (1, 2, 3)}
    held = 0
    for seed in range(400):
        drawn = first_questions(n_images, seed=seed)
        found = expected_total([(n_images[one], tokens[one]) for one in drawn], counts)
        assert found is not None
        held += found.low <= sum(tokens.values()) <= found.high
    assert 0.92 <= held / 400 <= 0.98


def test_what_an_answer_does_not_say_makes_the_whole_unknown() -> None:
    found = estimate([made(), made(cost=None), made(n_input=None)], {1: 10}, AskingSpeed(2))
    assert found.cost is None
    assert found.input_tokens is None
    assert found.bytes == Expected(1000, 1000, 1000)


@pytest.mark.parametrize(
    ("speed", "hours"),
    [
        (AskingSpeed(1), 3600 * 2 / 3600),
        (AskingSpeed(4), 3600 * 2 / 3600 / 4),
        (AskingSpeed(64, calls_per_minute=10), 3600 / 10 / 60),
        (AskingSpeed(64, tokens_per_minute=1010), 3600 * 1010 / 1010 / 60),
    ],
)
def test_the_slowest_of_answers_calls_and_tokens_sets_the_hours(speed: AskingSpeed, hours: float) -> None:
    found = estimate([made(), made()], {1: 3600}, speed)
    assert found.hours is not None
    assert found.hours.value == pytest.approx(hours)


# --- which questions come first -------------------------------------------------------------------
def test_twenty_questions_spread_over_the_numbers_of_images() -> None:
    n_images = {question: 1 if question < 900 else 2 if question < 990 else 5 for question in range(1000)}
    drawn = first_questions(n_images, seed=1)
    assert len(set(drawn)) == N_FIRST
    spread = [n_images[one] for one in drawn]
    assert {n: spread.count(n) for n in (1, 2, 5)} == {1: 16, 2: 2, 5: 2}


def test_all_of_a_small_bank() -> None:
    assert sorted(first_questions({1: 1, 2: 2, 3: 2}, seed=1)) == [1, 2, 3]
    assert first_questions({}, seed=1) == []


def test_more_numbers_of_images_than_places() -> None:
    drawn = first_questions({question: question for question in range(30)}, seed=1)
    assert len(set(drawn)) == N_FIRST


def test_the_order_in_which_questions_come_does_not_matter() -> None:
    n_images = {question: question % 3 for question in range(100)}
    turned = dict(reversed(n_images.items()))
    assert first_questions(n_images, seed=7) == first_questions(turned, seed=7) != first_questions(n_images, seed=8)
