"""Every statistic of every pair of raters in one panel, with its bootstrap interval.

By question each pair is resampled through its own small tables; every pair starts its draws from the same generator, so
that what is said of a pair does not depend on who else is in the analysis. By cluster all pairs share their draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readerstudy.statistics import pairs
from readerstudy.statistics.bootstrap import (
    DRAWS,
    Bootstrapped,
    Units,
    generator,
    percentile_intervals,
    resampled_each,
    resampled_tables,
)
from readerstudy.statistics.pair_sums import PairColumns, PairSums
from readerstudy.statistics.pair_tables import Codes, Tables, outcome_tables, pair_tables, rater_pairs
from readerstudy.statistics.results import Result

Replicates = dict[str, NDArray[np.float64]]  # of each statistic, shape (draws, pairs)
Sums = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # agreed, rows, columns

OPTIONS, RIGHT_WRONG, OUTCOMES = "options", "right_wrong", "outcomes"  # families of draws by question
PAIRS = "pairs"  # the one family of draws by cluster
ERROR_CONSISTENCY = "error_consistency"  # the one statistic of right and wrong


@dataclass(frozen=True)
class PairStatistics:
    """Two raters (rows of the answers): results by name, and the share of draws in which each was undefined."""

    first: int
    second: int
    results: dict[str, Result]
    bootstrap_undefined_fraction: dict[str, float]


def pair_statistics(
    answers: Codes,
    correct: Codes,
    key: Codes,
    n_options: int,
    units: Units,
    *,
    seed: int,
    panel: str,
    draws: int = DRAWS,
) -> list[PairStatistics]:
    """Agreement of all pairs of raters on the questions of one panel.

    Parameters
    ----------
    answers : int array, shape (raters, questions)
        Codes of options; negative: no rating.
    correct : int array, shape (raters, questions)
        1 right, 0 wrong (also failed and declined), negative not counted.
    key : int array, shape (questions,)
    n_options : int
        q, the options that are allowed.
    units : Units
        Of the questions of this panel.

    Returns
    -------
    For each pair in the order of ``rater_pairs``: ``percent_agreement``, ``expected_agreement``, ``cohen_kappa``,
    ``scott_pi``, ``gwet_ac1``, ``brennan_prediger``, ``error_consistency``, ``agreement_if_independent`` and
    ``excess_agreement``.
    """
    found = [PairStatistics(first, second, {}, {}) for first, second in rater_pairs(len(answers))]
    if not found:
        return []
    of_options, of_right = pair_tables(answers, n_options)[:, 0], pair_tables(correct, 2)[:, 0]
    outcomes = outcome_tables(answers, key)[:, 0]
    values = _values(pairs.sums_of(of_options), pairs.sums_of(of_right), outcomes, n_options)
    in_common: NDArray[np.int64] | None = None
    counted: NDArray[np.int64] | None = None
    if units.clustered:
        drawn = _by_cluster(PairColumns(answers, correct, key, n_options), units, generator(seed, panel, PAIRS), draws)
        in_common, counted = clusters_in_common(answers, units), clusters_in_common(correct, units)
    else:
        drawn = _by_question((of_options, of_right, outcomes), seed, panel, draws)
    for name, replicates in _replicated(drawn, len(found), draws, n_options).items():
        shown, n_clusters = (of_right, counted) if name == ERROR_CONSISTENCY else (of_options, in_common)
        intervals = percentile_intervals(replicates, shown.sum(axis=(1, 2)), n_clusters)
        for pair, value, table, interval in zip(found, values[name].tolist(), shown, intervals, strict=True):
            pair.results[name] = _result(value, table, interval, units.method)
            pair.bootstrap_undefined_fraction[name] = interval.bootstrap_undefined_fraction
    return found


def clusters_in_common(codes: Codes, units: Units) -> NDArray[np.int64]:
    """Of each pair, the clusters that hold a question on which neither code is negative."""
    both = [(codes[i] >= 0) & (codes[j] >= 0) for i, j in rater_pairs(len(codes))]
    return np.array([np.count_nonzero(np.bincount(units.number[one], minlength=units.m)) for one in both])


def _values(of_options: Sums, of_right: Sums, outcomes: NDArray[Any], n_options: int) -> dict[str, NDArray[np.float64]]:
    """Every statistic by name, of one pair in many draws or of many pairs."""
    return {
        **pairs.coefficients(*of_options),
        ERROR_CONSISTENCY: pairs.coefficients(*of_right)["cohen_kappa"],
        "agreement_if_independent": pairs.agreement_if_independent(outcomes, n_options),
        "excess_agreement": pairs.excess_agreement(outcomes, n_options),
    }


def _replicated(drawn: Iterator[PairSums], n_pairs: int, draws: int, n_options: int) -> Replicates:
    """Every statistic of each pair in each draw, the draws of a pair side by side in memory."""
    found: Replicates = {}
    for pair, sums in enumerate(drawn):
        of_options = (sums.agreed, sums.rows, sums.columns)
        for name, replicates in _values(of_options, sums.right_wrong, sums.outcomes, n_options).items():
            found.setdefault(name, np.empty((n_pairs, draws)).T)[:, pair] = replicates
    return found


def _by_question(tables: tuple[Tables, Tables, Tables], seed: int, panel: str, draws: int) -> Iterator[PairSums]:
    for of_pair in zip(*tables, strict=True):
        of_options, of_right, outcomes = (
            resampled_tables(table, generator(seed, panel, family), draws)
            for table, family in zip(of_pair, (OPTIONS, RIGHT_WRONG, OUTCOMES), strict=True)
        )
        yield PairSums(*pairs.sums_of(of_options), outcomes, pairs.sums_of(of_right))


def _by_cluster(columns: PairColumns, units: Units, rng: np.random.Generator, draws: int) -> Iterator[PairSums]:
    return columns.of_pairs(resampled_each(units.counts(columns.parts()), rng, draws))


def _result(value: float, table: Tables, interval: Bootstrapped, method: str) -> Result:
    flags = () if isnan(value) else interval.flags  # of limits that there are not
    return pairs.result_of(value, table, ci95=interval.ci95, method=method, flags=flags)
