"""A trial in numbers: how many pairs it needs, which are drawn, and the difference that they show. Pure.

A pair is a question of each version on the same exam. Which two of an exam form a pair is chance, and changes nothing
where the difference is taken over exams.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from annotation.statistics.kernels.comparing import (
    cluster_mcnemar_chi2,
    clustered_difference,
    difference,
    mcnemar_exact_p,
    paired_table,
)
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.planning import mcnemar_questions

DRAW_RULE = "trial-1"
LEAST_POWER = 0.5


# --- planned --------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class TrialAssumptions:
    """What people judge beforehand; ``difference``: rate of the first version minus that of the second."""

    issue_rate: float
    difference: float
    power: float
    correlation: float = 0.0

    def problem(self) -> str:
        """The name of the first field that cannot be; nothing where all can."""
        if not 0 < self.issue_rate < 1:
            return "issue_rate"
        if not self.difference or not 0 <= self.issue_rate - self.difference <= 1:
            return "difference"
        if not LEAST_POWER <= self.power < 1:
            return "power"
        return "" if 0 <= self.correlation < 1 else "correlation"


def pairs_needed(assumed: TrialAssumptions, per_exam: int) -> int:
    """Pairs that McNemar's test needs at 5 %, as if the two questions of a pair were flagged independently.

    That is the largest share of pairs that differ by chance alone: questions of one exam that are flagged together
    need fewer. Pairs that share an exam are worth less, by the design effect 1 + (per_exam - 1) correlation.
    """
    first, second = assumed.issue_rate, assumed.issue_rate - assumed.difference
    pairs = mcnemar_questions(first * (1 - second), second * (1 - first), power=assumed.power)
    return ceil(pairs * (1 + (per_exam - 1) * assumed.correlation))


# --- drawn ----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class TrialQuestion:
    """A question of one of the two versions. ``number``: its number in the bank."""

    number: int
    revision: int
    exam: int
    is_second: bool


def draw_pairs(questions: Collection[TrialQuestion], n: int, seed: int) -> list[TrialQuestion]:
    """At most n pairs, mixed. Rule trial-1: exams in a drawn order, of each as many pairs as both versions have.

    The same questions in any order give the same draw.
    """
    chance = random.Random(f"{DRAW_RULE} {seed}")  # noqa: S311 - a draw that can be repeated
    of_exam: dict[int, dict[bool, list[TrialQuestion]]] = defaultdict(lambda: {False: [], True: []})
    for one in sorted(questions, key=lambda each: each.number):
        of_exam[one.exam][one.is_second].append(one)
    exams = list(of_exam)
    chance.shuffle(exams)
    drawn: list[TrialQuestion] = []
    for exam in exams:
        for of_version in of_exam[exam].values():
            chance.shuffle(of_version)
        pairs = list(zip(*of_exam[exam].values(), strict=False))[: n - len(drawn) // 2]
        drawn += [one for pair in pairs for one in pair]
    chance.shuffle(drawn)
    return drawn


def pairs_of(drawn: Sequence[TrialQuestion]) -> list[tuple[TrialQuestion, TrialQuestion]]:
    """First and second of each pair: those of one exam in the order in which they were drawn."""
    of_exam: dict[int, dict[bool, list[TrialQuestion]]] = defaultdict(lambda: {False: [], True: []})
    for one in drawn:
        of_exam[one.exam][one.is_second].append(one)
    return [pair for both in of_exam.values() for pair in zip(both[False], both[True], strict=True)]


# --- measured -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class MeasuredDifference:
    """``difference``: second minus first, so that fewer issues are below 0; ``p`` two-sided.

    One pair of each exam or patient: Tango and exact McNemar. Otherwise both by cluster.
    """

    first: Estimate
    second: Estimate
    difference: Estimate
    p: float | None
    n_clusters: int
    is_clustered: bool


def measured(first: Sequence[bool], second: Sequence[bool], clusters: Sequence[Hashable]) -> MeasuredDifference:
    """Of pairs: whether the question of each version has an issue, and the exam or patient."""
    number: dict[Hashable, int] = {}
    cluster = np.array([number.setdefault(one, len(number)) for one in clusters], dtype=np.int64)
    old, new = (np.array(flags, dtype=np.int64) for flags in (first, second))
    is_clustered = any(n > 1 for n in Counter(clusters).values())
    if is_clustered:
        found = clustered_difference(new, old, cluster).difference
        p = cluster_mcnemar_chi2(new, old, cluster).p
    else:
        table = paired_table(new, old)
        found, p = difference(table), mcnemar_exact_p(table) if table.n else None
    before, after = (share(int(flags.sum()), len(flags)) for flags in (old, new))
    return MeasuredDifference(before, after, found, p, len(number), is_clustered)
