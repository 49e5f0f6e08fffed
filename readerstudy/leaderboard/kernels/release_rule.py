"""Which numbers an edition may tell: those from which nobody can learn the keys. Pure.

What is told of a file is how often it is right in a cell (all questions, a task, a category, a difficulty). Who sends
files of guesses learns a little about the keys from each number, and answers better the next time without knowing
anything: the gain is the accuracy of such a file on the benchmark minus that on fresh questions. It is simulated, for a
cell of ``n`` questions that is told in so many editions, for one team and for twenty that share what they learn. A cell
is told in as many of the planned editions as keep the gain at ``MOST_GAIN``, the last of them always.

The attack: in each edition every team names a file. The first ones are guesses; each number that comes back adds its
distance from chance to the options that the file chose; in the last edition the option with the highest sum is answered
for each question, and chance decides between equal ones. The sum is, up to a factor, what Bayes' rule gives for guesses
that do not depend on each other; it gains 10 points on 1,000 questions from a hundred files.
"""

from __future__ import annotations

import csv
from bisect import bisect_left, bisect_right
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RULE = "release-1"  # change the name when the same sizes would be told in other editions
FEWEST = 30  # questions of a cell that is ever told
FEWEST_IN_BENCHMARK = 300
MOST_GAIN = 1.0  # points, by one team or by MANY together
MOST_OWN_GAIN = 0.5  # points, by one team on all questions
MANY = 20  # teams that share what they learn
MOST_EDITIONS = 12
OPTIONS = 4
SEED = 20261129
SIZES = (30, 60, 100, 200, 300, 500, 1_000, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 41_007, 100_000)
RELEASES = (2, 3, 4, 6, 8, 12)
TABLE = Path(__file__).with_name("release_gains.csv")  # written by python -m tests.readerstudy.leaderboard.gains


def shown_in(n: int, n_editions: int, *, whole: bool = False) -> tuple[int, ...]:
    """The numbers of the editions, of so many planned, that tell a cell of ``n`` questions; none where it is too small.

    ``whole``: the cell is all questions, where one team alone must gain less.
    """
    if n < FEWEST:
        return ()
    n_told = max(told for told in range(1, n_editions + 1) if told == 1 or _is_safe(n, told, whole=whole))
    return tuple(-(-n_editions * place // n_told) for place in range(1, n_told + 1))


def _is_safe(n: int, n_told: int, *, whole: bool) -> bool:
    own, together = most_gain(n, 1, n_told), most_gain(n, MANY, n_told)
    return own <= (MOST_OWN_GAIN if whole else MOST_GAIN) and together <= MOST_GAIN


def most_gain(n: int, teams: int, n_told: int) -> float:
    """Points that can be gained, from the table: the next smaller size and the next larger number of editions count.

    Infinite outside of it. A cell that is told once teaches nothing that could be used.
    """
    if n_told <= 1:
        return 0.0
    size, releases = bisect_right(SIZES, n) - 1, bisect_left(RELEASES, n_told)
    if size < 0 or releases == len(RELEASES):
        return float("inf")
    return _gains()[SIZES[size], teams, RELEASES[releases]]


@cache
def _gains() -> dict[tuple[int, int, int], float]:
    with TABLE.open(newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(int(row["n"]), int(row["teams"]), int(row["editions"])): float(row["gain_upper"]) for row in rows}


def simulated_gain(n: int, teams: int, n_told: int, *, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Mean gain in points over ``runs`` attacks, and its standard error."""
    gains = np.array([_attack(n, (n_told - 1) * teams, rng) for _run in range(runs)])
    return 100 * float(gains.mean()), 100 * float(gains.std(ddof=1)) / runs**0.5


def _attack(n: int, n_files: int, rng: np.random.Generator) -> float:
    key, sums = rng.integers(OPTIONS, size=n), np.zeros((n, OPTIONS))
    rows = np.arange(n)
    for _file in range(n_files):
        guessed = rng.integers(OPTIONS, size=n)
        sums[rows, guessed] += (guessed == key).mean() - 1 / OPTIONS
    return float((best_options(sums, rng) == key).mean()) - 1 / OPTIONS


def best_options(sums: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The option with the highest sum, one of the equal ones by chance. ``sums`` has shape (questions, options)."""
    order = rng.random(sums.shape)
    order[sums < sums.max(axis=1, keepdims=True)] = -1
    best: NDArray[np.int64] = order.argmax(axis=1)
    return best
