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
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

ALL = "all"
RULE = "release-1"  # change the name when the same sizes would be told in other editions
FEWEST = 30  # questions of a cell that is ever told
FEWEST_IN_BENCHMARK = 300
MOST_GAIN = 1.0  # points, by one team or by MANY together
MOST_OWN_GAIN = 0.5  # points, by one team on all questions
MANY = 20  # teams that share what they learn
MOST_EDITIONS = 12
SIZES = (30, 60, 100, 200, 300, 500, 1_000, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 41_007, 100_000)
RELEASES = (2, 3, 4, 6, 8, 12)
TABLE = Path(__file__).with_name("release_gains.csv")  # written by python -m tests.readerstudy.leaderboard.gains


class ToldCell(Struct, frozen=True):
    """Questions that are counted together, and the numbers of the editions that tell how often a model is right."""

    name: str  # "all", "task:...", "category:...", "difficulty:..."
    label: str
    n: int
    editions: tuple[int, ...]


def editions_telling(sizes: Mapping[str, int], n_editions: int) -> dict[str, tuple[int, ...]]:
    """By the name of each cell, the editions that tell it. ``sizes``: questions of each, those of "all" among them.

    What is not told of a division (tasks, categories, difficulties) can be had by taking the told cells from all
    questions. An edition that may not tell such a rest does not tell the smallest told cell of the division either.
    """
    n, editions = sizes[ALL], range(1, n_editions + 1)
    allowed = {name: shown_in(size, n_editions, whole=name == ALL) for name, size in sizes.items()}
    told = {edition: {name: n for name, n in sizes.items() if edition in allowed[name]} for edition in editions}
    for edition in editions:
        _hide_rests(told[edition], n, edition, n_editions)
    return {name: tuple(edition for edition in editions if name in told[edition]) for name in sizes}


def _hide_rests(told: dict[str, int], n: int, edition: int, n_editions: int) -> None:
    divisions: dict[str, list[str]] = {}
    for name in sorted(told, key=lambda name: (-told[name], name)):
        divisions.setdefault(name.partition(":")[0], []).append(name)
    if any(sum(told[name] for name in names) == n for names in divisions.values()):  # all questions, or all of a kind
        for names in divisions.values():
            while names and (rest := n - sum(told[name] for name in names)):
                if edition in shown_in(rest, n_editions):
                    break
                del told[names.pop()]


def shown_in(n: int, n_editions: int, *, whole: bool = False) -> tuple[int, ...]:
    """The numbers of the editions, of so many planned, that tell a cell of ``n`` questions; none where it is too small.

    ``whole``: the cell is all questions, where one team alone must gain less.
    """
    if n < FEWEST or not n_editions:
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
