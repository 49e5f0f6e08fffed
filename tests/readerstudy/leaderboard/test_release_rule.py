"""Which numbers are told in which edition, the table that says so, and attacks that learn from what is told."""

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
from tests.readerstudy.leaderboard.attacks import ATTACKS, exact_scores, gain_of
from tests.readerstudy.leaderboard.gains import OPTIONS, best_options, simulated_gain


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


def test_what_is_told_keeps_the_bounds() -> None:
    for n in (30, 299, 1_999, 2_000, 5_000, 41_007, 200_000):
        for planned in range(1, MOST_EDITIONS + 1):
            told = shown_in(n, planned)
            assert told[-1] == planned, "the last edition tells all questions"
            assert len(set(told)) == len(told)
            assert most_gain(n, MANY, len(told)) <= MOST_GAIN
            assert most_gain(n, 1, len(told)) <= MOST_OWN_GAIN
    assert shown_in(FEWEST - 1, 4) == ()


@pytest.mark.parametrize("cell", [30, 500, 8_200, 15_000])
def test_files_that_differ_in_one_cell_learn_more_about_it_than_a_told_cell_may_give(cell: int) -> None:
    """From all questions alone, told in two editions before the last: so the last one does not tell the cell."""
    rng, n, gains = np.random.default_rng(8), 41_007, []
    for _run in range(40):
        key, base = rng.integers(4, size=n), rng.integers(4, size=n)
        sums, rows = np.zeros((cell, 4)), np.arange(cell)
        for _edition in range(2):
            files = rng.integers(4, size=(MANY, cell))
            right = (base[cell:] == key[cell:]).sum() + (files == key[:cell]).sum(axis=1)
            told = np.round(100 * right / n, 1)
            for file, percent in zip(files, told - told.mean(), strict=True):
                sums[rows, file] += percent
        gains.append(100 * float((best_options(sums, rng) == key[:cell]).mean()) - 25)
    assert np.mean(gains) > MOST_GAIN
    assert editions_telling({"all": n, "task:a": cell, "task:b": n - cell}, 3)["task:a"] == ()
    assert editions_telling({"all": n, "task:a": cell, "task:b": n - cell}, 1)["task:a"] == (1,)


def test_nothing_is_told_that_gives_a_smaller_cell_away() -> None:
    """All questions without the told cells of a division are a cell, too."""
    hard_is_small = {"all": 300, "difficulty:easy": 200, "difficulty:medium": 71, "difficulty:hard": 29}
    told = editions_telling(hard_is_small, 1)
    assert [name for name, editions in told.items() if editions] == ["all", "difficulty:easy"]
    late = editions_telling({"all": 41_007, "difficulty:easy": 39_000, "difficulty:hard": 2_007}, 3)
    assert late == {"all": (1, 2, 3), "difficulty:easy": (), "difficulty:hard": ()}
    halves = editions_telling({"all": 41_007, "difficulty:easy": 20_500, "difficulty:hard": 20_507}, 2)
    assert halves == {"all": (1, 2), "difficulty:easy": (2,), "difficulty:hard": (2,)}


def test_what_a_cell_of_the_paper_tells() -> None:
    assert shown_in(41_007, 2) == (1, 2)
    assert shown_in(41_007, 4) == (2, 3, 4)
    assert shown_in(8_000, 2) == (2,)
    assert shown_in(2_000, 1) == (1,)


def test_one_of_the_equally_likely_options_is_answered_by_chance() -> None:
    sums = np.zeros((4_000, 4))
    sums[:, 0] = -1
    counts = np.bincount(best_options(sums, np.random.default_rng(2)), minlength=4)
    assert counts[0] == 0
    assert counts[1:].min() > 1_200


# --- attacks ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_that_is_told_nothing_gains_nothing(name: str) -> None:
    rng, n = np.random.default_rng(3), 5_000
    key = rng.integers(OPTIONS, size=n)
    cells = {"all": np.ones(n, dtype=bool)}
    file = ATTACKS[name](cells, 20, 3, lambda files: [{} for _one in files], rng)
    assert abs(gain_of(file, key)) < 2.5, "four standard errors of a guess"


@pytest.mark.parametrize(
    ("name", "n", "files", "least"),
    [
        ("random votes", 200, (600, 1), 30),  # the control: whoever gets exact scores for the asking gets the keys
        ("best of many", 400, (20, 10), 3),
        ("hill climbing", 400, (20, 10), 5),
        ("block probing", 400, (20, 10), 5),
    ],
)
def test_every_attack_learns_from_exact_scores(name: str, n: int, files: tuple[int, int], least: float) -> None:
    rng, gains = np.random.default_rng(5), []
    cells = {"all": np.ones(n, dtype=bool)}
    for _run in range(10):
        key = rng.integers(OPTIONS, size=n)
        gains.append(gain_of(ATTACKS[name](cells, *files, exact_scores(key, cells), rng), key))
    assert np.mean(gains) > least
