"""Every statistic of every pair of raters in one panel, with its bootstrap interval.

By question each pair is resampled through its own small tables; every pair starts its draws from the same generator, so
that what is said of a pair does not depend on who else is in the analysis. By cluster all pairs share their draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readerstudy.statistics import pairs
from readerstudy.statistics.bootstrap import (
    DRAWS,
    Bootstrapped,
    Units,
    exact_kind,
    generator,
    percentile_intervals,
    resampled_tables,
    resampled_totals,
)
from readerstudy.statistics.pair_tables import Codes, Tables, outcome_tables, pair_tables, rater_pairs
from readerstudy.statistics.results import Result

Replicates = dict[str, NDArray[np.float64]]  # of each statistic, shape (draws, pairs)
Replicated = tuple[Replicates, NDArray[np.integer] | None]  # and the clusters of each pair, where clusters are drawn

OPTIONS, RIGHT_WRONG, OUTCOMES = "options", "right_wrong", "outcomes"  # families of draws by question
PAIRS = "pairs"  # the one family of draws by cluster


@dataclass(frozen=True)
class PairStatistics:
    """Two raters (rows of the answers): results by name, and the share of draws in which each was undefined."""

    first: int
    second: int
    results: dict[str, Result]
    bootstrap_undefined_fraction: dict[str, float]


@dataclass(frozen=True)
class _Family:
    """Statistics of one kind of table; ``count(group=, n_groups=)`` makes them, shape (pairs, groups, cells...)."""

    name: str
    count: Callable[..., Tables]
    statistics: Mapping[str, Callable[[NDArray[Any]], NDArray[np.float64]]]


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
    families = _families(answers, correct, key, n_options)
    found = [PairStatistics(first, second, {}, {}) for first, second in rater_pairs(len(answers))]
    if not found:
        return []
    if units.clustered:
        by_unit = [family.count(group=units.number, n_groups=units.m) for family in families]
        replicated = _by_cluster(families, by_unit, generator(seed, panel, PAIRS), draws)
    else:
        by_unit = [family.count() for family in families]
        replicated = _by_question(families, by_unit, seed, panel, draws)
    tables = {family.name: counted.sum(axis=1) for family, counted in zip(families, by_unit, strict=True)}
    for family, (replicates, n_clusters) in zip(families, replicated, strict=True):
        shown = tables[RIGHT_WRONG if family.name == RIGHT_WRONG else OPTIONS]
        for name, statistic in family.statistics.items():
            intervals = percentile_intervals(replicates[name], shown.sum(axis=(1, 2)), n_clusters)
            values = statistic(tables[family.name]).tolist()
            for pair, value, table, interval in zip(found, values, shown, intervals, strict=True):
                pair.results[name] = _result(value, table, interval, units.method)
                pair.bootstrap_undefined_fraction[name] = interval.bootstrap_undefined_fraction
    return found


def _families(answers: Codes, correct: Codes, key: Codes, n_options: int) -> tuple[_Family, ...]:
    of_options = {
        "percent_agreement": pairs.percent_agreement,
        "expected_agreement": pairs.expected_agreement,
        "cohen_kappa": pairs.cohen_kappa,
        "scott_pi": pairs.scott_pi,
        "gwet_ac1": pairs.gwet_ac1,
        "brennan_prediger": pairs.brennan_prediger,
    }
    of_outcomes = {
        "agreement_if_independent": partial(pairs.agreement_if_independent, n_options=n_options),
        "excess_agreement": partial(pairs.excess_agreement, n_options=n_options),
    }
    return (
        _Family(OPTIONS, partial(pair_tables, answers, n_options), of_options),
        _Family(RIGHT_WRONG, partial(pair_tables, correct, 2), {"error_consistency": pairs.error_consistency}),
        _Family(OUTCOMES, partial(outcome_tables, answers, key), of_outcomes),
    )


def _by_question(
    families: tuple[_Family, ...], tables: list[Tables], seed: int, panel: str, draws: int
) -> Iterator[Replicated]:
    for family, of_pairs in zip(families, tables, strict=True):
        found = {name: np.empty((draws, len(of_pairs))) for name in family.statistics}
        for pair, table in enumerate(of_pairs):
            drawn = resampled_tables(table[0], generator(seed, panel, family.name), draws)
            for name, statistic in family.statistics.items():
                found[name][:, pair] = statistic(drawn)
        yield found, None


def _by_cluster(
    families: tuple[_Family, ...], by_unit: list[Tables], rng: np.random.Generator, draws: int
) -> Iterator[Replicated]:
    columns = _as_columns(by_unit)
    totals = resampled_totals(columns, rng, draws)
    start = 0
    for family, counted in zip(families, by_unit, strict=True):
        cells = counted[:, 0].size
        drawn = totals[:, start : start + cells].reshape(draws, len(counted), *counted.shape[2:])
        start += cells
        n_clusters = counted.reshape(*counted.shape[:2], -1).any(axis=2).sum(axis=1)
        yield {name: statistic(drawn) for name, statistic in family.statistics.items()}, n_clusters


def _as_columns(by_unit: list[Tables]) -> NDArray[np.floating]:
    """Tables of shape (pairs, units, cells...) side by side, shape (units, columns), copied once: they are large."""
    n_pairs, m = by_unit[0].shape[:2]
    sizes = [counted[:, 0].size for counted in by_unit]
    largest = max(int(counted.max(initial=0)) for counted in by_unit)
    columns = np.empty((m, sum(sizes)), dtype=exact_kind(m, largest))
    for counted, part in zip(by_unit, np.split(columns, np.cumsum(sizes)[:-1], axis=1), strict=True):
        part.reshape(m, n_pairs, -1)[:] = counted.reshape(n_pairs, m, -1).swapaxes(0, 1)
    return columns


def _result(value: float, table: Tables, interval: Bootstrapped, method: str) -> Result:
    flags = () if isnan(value) else interval.flags  # of limits that there are not
    return pairs.result_of(value, table, ci95=interval.ci95, method=method, flags=flags)
