"""Which numbers an edition may tell: those from which nobody can learn the keys. Pure.

What is told of a file is how often it is right in a cell (all questions, a task, a category, a difficulty). Who sends
files of guesses learns a little about the keys from each number, and answers better the next time without knowing
anything: the gain is the accuracy of such a file on the benchmark minus that on fresh questions. It is simulated, for a
cell of ``n`` questions that is told in so many editions, for one team and for twenty that share what they learn. All
questions are told in as many of the planned editions as keep the gain at ``MOST_GAIN``, the last of them always.

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

    @property
    def kind(self) -> str:
        return kind_of(self.name)


def kind_of(name: str) -> str:
    """ "task", "category" or "difficulty"; empty for all questions."""
    return name.partition(":")[0] if ":" in name else ""


def editions_telling(sizes: Mapping[str, int], n_editions: int) -> dict[str, tuple[int, ...]]:
    """By the name of each cell, the editions that tell it. ``sizes``: questions of each, those of "all" among them.

    Only all questions are told before the last edition: files that differ in one cell alone learn about it from what is
    told of all questions. The last edition tells a cell that bears as many numbers as are told of all.

    What is not told of a division (tasks, categories, difficulties) can be had by taking the told cells from all
    questions. Where such a rest may not be told, the smallest told cell of the division is not told either.
    """
    whole = shown_in(sizes[ALL], n_editions)
    last = {name: n for name, n in sizes.items() if name != ALL and may_be_told(n, len(whole))}
    _hide_rests(last, sizes[ALL], len(whole))
    return {name: whole if name == ALL else (n_editions,) if name in last else () for name in sizes}


def may_be_told(n: int, n_told: int) -> bool:
    """Whether the last edition may tell a cell, where all questions are told in so many editions."""
    return n >= FEWEST and n_told > 0 and _is_safe(n, n_told)


def _hide_rests(last: dict[str, int], n: int, n_told: int) -> None:
    divisions: dict[str, list[str]] = {}
    for name in sorted(last, key=lambda name: (-last[name], name)):
        divisions.setdefault(name.partition(":")[0], []).append(name)
    for names in divisions.values():
        while names and (rest := n - sum(last[name] for name in names)):
            if may_be_told(rest, n_told):
                break
            del last[names.pop()]


def shown_in(n: int, n_editions: int) -> tuple[int, ...]:
    """The numbers of the editions, of so many planned, that tell all of ``n`` questions; none of too few."""
    if n < FEWEST or not n_editions:
        return ()
    n_told = max(told for told in range(1, n_editions + 1) if told == 1 or _is_safe(n, told, whole=True))
    return tuple(-(-n_editions * place // n_told) for place in range(1, n_told + 1))


def _is_safe(n: int, n_told: int, *, whole: bool = False) -> bool:
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
        return {(int(row["n"]), int(row["teams"]), told): float(row[f"{told}"]) for row in rows for told in RELEASES}
