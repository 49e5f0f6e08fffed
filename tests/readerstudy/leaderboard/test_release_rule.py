from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from readerstudy.leaderboard.kernels.release_rule import (
    FEWEST,
    MANY,
    MOST_EDITIONS,
    MOST_GAIN,
    MOST_OWN_GAIN,
    RELEASES,
    SIZES,
    editions_telling,
    most_gain,
    shown_in,
)
from tests.readerstudy.leaderboard.gains import best_options, simulated_gain


def test_a_hundred_guessed_files_gain_ten_points_on_a_thousand_questions() -> None:
    gain, error = simulated_gain(1_000, 100, 2, runs=60, rng=np.random.default_rng(1))
    assert abs(gain - 10) < 3 * error + 0.5


@pytest.mark.parametrize(("n", "teams", "editions"), [(100, 20, 2), (300, 1, 4), (1_000, 20, 4), (2_000, 1, 2)])
def test_the_table_is_what_the_attack_gains(n: int, teams: int, editions: int) -> None:
    """With another seed than the one it was written with."""
    gain, error = simulated_gain(n, teams, editions, runs=150, rng=np.random.default_rng(5))
    assert gain < most_gain(n, teams, editions) + 3 * error
    assert gain > most_gain(n, teams, editions) - 5 * error - 0.1


def test_sizes_between_those_of_the_table_count_as_the_smaller_one() -> None:
    for smaller, larger in pairwise(SIZES):
        assert most_gain(larger - 1, 1, 2) == most_gain(smaller, 1, 2)
    assert most_gain(10**6, 1, 2) == most_gain(SIZES[-1], 1, 2)
    assert most_gain(FEWEST - 1, 1, 2) == float("inf")
    assert most_gain(2_000, 1, 5) == most_gain(2_000, 1, 6)
    assert most_gain(2_000, 1, MOST_EDITIONS + 1) == float("inf")


def test_the_table_falls_with_the_questions_and_grows_with_what_is_told() -> None:
    for teams in (1, MANY):
        for editions in RELEASES:
            gains = [most_gain(n, teams, editions) for n in SIZES]
            assert gains == sorted(gains, reverse=True)
        for n in SIZES:
            gains = [most_gain(n, teams, editions) for editions in RELEASES]
            assert gains == sorted(gains)


@pytest.mark.parametrize("whole", [False, True])
def test_what_is_told_keeps_the_bounds(whole: bool) -> None:
    for n in (30, 299, 1_999, 2_000, 5_000, 41_007, 200_000):
        for planned in range(1, MOST_EDITIONS + 1):
            told = shown_in(n, planned, whole=whole)
            assert told[-1] == planned, "the last edition tells every cell"
            assert len(set(told)) == len(told)
            assert most_gain(n, MANY, len(told)) <= MOST_GAIN
            if whole:
                assert most_gain(n, 1, len(told)) <= MOST_OWN_GAIN
    assert shown_in(FEWEST - 1, 4, whole=whole) == ()


def test_nothing_is_told_that_gives_a_smaller_cell_away() -> None:
    """All questions without the told cells of a division are a cell, too."""
    hard_is_small = {"all": 300, "difficulty:easy": 200, "difficulty:medium": 71, "difficulty:hard": 29}
    told = editions_telling(hard_is_small, 1)
    assert [name for name, editions in told.items() if editions] == ["all", "difficulty:easy"]
    late = editions_telling({"all": 41_007, "difficulty:easy": 39_000, "difficulty:hard": 2_007}, 3)
    assert late == {"all": (1, 2, 3), "difficulty:easy": (3,), "difficulty:hard": (3,)}


def test_what_a_cell_of_the_paper_tells() -> None:
    assert shown_in(41_007, 2, whole=True) == (1, 2)
    assert shown_in(41_007, 4, whole=True) == (2, 3, 4)
    assert shown_in(8_000, 2) == (2,)
    assert shown_in(2_000, 1, whole=True) == (1,)


def test_one_of_the_equally_likely_options_is_answered_by_chance() -> None:
    sums = np.zeros((4_000, 4))
    sums[:, 0] = -1
    counts = np.bincount(best_options(sums, np.random.default_rng(2)), minlength=4)
    assert counts[0] == 0
    assert counts[1:].min() > 1_200
