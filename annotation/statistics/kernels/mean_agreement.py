"""Means over pairs of raters: whether readers agree more with each other than with models.

Cohen's kappa, the excess over independent raters of the same accuracies and error consistency, each over the pairs of
readers, over those of a reader and a model, and the first minus the second, on the same pairs and the same draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels import pairs
from annotation.statistics.kernels.bootstrap import Bootstrapped, Units, percentile_intervals
from annotation.statistics.kernels.estimate import (
    EXPECTED_AGREEMENT_IS_ONE,
    FEWEST_FOR_INTERVAL,
    NO_COMMON_QUESTIONS,
    ONE_RATER,
    SMALL_AGREEMENT_N,
    SMALL_N,
    Estimate,
    undefined,
)
from annotation.statistics.kernels.pair_intervals import clusters_in_common
from annotation.statistics.kernels.pair_sums import PairColumns
from annotation.statistics.kernels.pair_tables import outcome_tables, pair_tables, rater_pairs, valid_only

Values = NDArray[np.float64]
Chosen = NDArray[np.bool_]

KAPPA, EXCESS, ERROR_CONSISTENCY = "kappa", "excess", "error_consistency"


@dataclass(frozen=True)
class Means:
    """Results by name, the share of draws in which each was undefined (None: nothing was drawn), and pairs averaged."""

    results: dict[str, Estimate]
    bootstrap_undefined_fraction: dict[str, float | None]
    n_pairs_readers: int
    n_pairs_reader_model: int


@dataclass(frozen=True)
class Kinds:
    """Of each pair, in the order of ``rater_pairs``: how many are readers, and whether some question is of both."""

    readers: NDArray[np.int64]
    shared: Chosen

    @classmethod
    def of(cls, is_reader: Chosen, assigned: Chosen) -> Kinds:
        """``assigned``, shape (raters, questions): questions of another case set are not."""
        found = rater_pairs(len(is_reader))
        readers = [int(is_reader[i]) + int(is_reader[j]) for i, j in found]
        shared = [bool((assigned[i] & assigned[j]).any()) for i, j in found]
        return cls(np.array(readers, dtype=np.int64), np.array(shared, dtype=np.bool_))

    @property
    def within(self) -> Chosen:
        """Pairs of readers that share a question."""
        return np.asarray((self.readers == 2) & self.shared)

    @property
    def mixed(self) -> Chosen:
        """Pairs of a reader and a model that share a question."""
        return np.asarray((self.readers == 1) & self.shared)


@dataclass(frozen=True)
class Contrast:
    """The mean of one measure over some pairs, perhaps less that over others. ``reason``: why there are none."""

    name: str
    measure: str
    plus: Chosen
    minus: Chosen | None
    reason: str = ""

    def of(self, values: Values) -> Values:
        """From values of pairs, the last axis; NaN where one of the pairs is."""
        mean: Values = values[..., self.plus].mean(axis=-1)
        return mean if self.minus is None else mean - values[..., self.minus].mean(axis=-1)

    @property
    def used(self) -> Chosen:
        return self.plus if self.minus is None else self.plus | self.minus


def contrasts(kinds: Kinds) -> Iterator[Contrast]:
    """All means, by the names of the analysis. Light's kappa leaves no pair out."""
    for name, n_readers in (("readers", (2,)), ("models", (0,)), ("all", (0, 1, 2))):
        chosen = np.isin(kinds.readers, n_readers)
        yield Contrast(f"light_kappa_{name}", KAPPA, chosen, None, "" if chosen.any() else ONE_RATER)
    within, mixed = (_reason(kinds, *one) for one in ((2, kinds.within), (1, kinds.mixed)))
    for measure in (KAPPA, EXCESS, ERROR_CONSISTENCY):
        yield Contrast(f"mean_{measure}_readers", measure, kinds.within, None, within)
        yield Contrast(f"mean_{measure}_reader_model", measure, kinds.mixed, None, mixed)
        reason = min(within, mixed, key=(ONE_RATER, NO_COMMON_QUESTIONS, "").index)
        yield Contrast(f"mean_{measure}_difference", measure, kinds.within, kinds.mixed, reason)


def _reason(kinds: Kinds, n_readers: int, chosen: Chosen) -> str:
    if chosen.any():
        return ""
    return NO_COMMON_QUESTIONS if (kinds.readers == n_readers).any() else ONE_RATER


def measures_of_sums(columns: PairColumns, totals: Sequence[NDArray[Any]]) -> dict[str, Values]:
    """Each measure of each pair, shape (draws, pairs), from sums of the parts of ``columns``."""
    n_pairs = len(rater_pairs(len(columns.answers)))
    found = {name: np.empty((n_pairs, len(totals[0]))).T for name in (KAPPA, EXCESS, ERROR_CONSISTENCY)}
    for pair, sums in enumerate(columns.of_pairs(totals)):
        found[KAPPA][:, pair] = pairs.kappa_of_sums(sums.agreed, sums.rows, sums.columns)
        found[EXCESS][:, pair] = pairs.excess_agreement(sums.outcomes, columns.n_valid)
        found[ERROR_CONSISTENCY][:, pair] = pairs.kappa_of_sums(*sums.right_wrong)
    return found


def means_of_pairs(
    columns: PairColumns, drawn: Sequence[NDArray[Any]], is_reader: Chosen, assigned: Chosen, units: Units
) -> Means:
    """``drawn``: sums of the parts of ``columns``, shape (draws, columns).

    n is the smallest number of questions that a used pair has in common. Undefined when one of the used pairs is, with
    the reason of that pair; ``one_rater`` without a pair, ``no_common_questions`` where no pair shares a question.
    """
    kinds, valid = Kinds.of(is_reader, assigned), valid_only(columns.answers, columns.n_valid)
    of_options, of_right = pair_tables(columns.answers, columns.n_options)[:, 0], pair_tables(columns.correct, 2)[:, 0]
    outcomes = outcome_tables(valid, columns.key)[:, 0]
    values = {
        KAPPA: pairs.cohen_kappa(of_options),
        EXCESS: pairs.excess_agreement(outcomes, columns.n_valid),
        ERROR_CONSISTENCY: pairs.error_consistency(of_right),
    }
    common = {
        KAPPA: of_options.sum(axis=(1, 2)),
        EXCESS: outcomes.sum(axis=1),
        ERROR_CONSISTENCY: of_right.sum(axis=(1, 2)),
    }
    codes = {KAPPA: columns.answers, EXCESS: valid, ERROR_CONSISTENCY: columns.correct}
    clusters = {name: clusters_in_common(one, units) for name, one in codes.items()} if units.clustered else {}
    replicates = measures_of_sums(columns, drawn)
    found = Means({}, {}, int(kinds.within.sum()), int(kinds.mixed.sum()))
    for one in contrasts(kinds):
        if one.reason:
            found.results[one.name] = undefined(one.reason, n=0, method=units.method)
            found.bootstrap_undefined_fraction[one.name] = None
            continue
        n = int(common[one.measure][one.used].min())
        n_clusters = int(clusters[one.measure][one.used].min()) if clusters else None
        [interval] = percentile_intervals(one.of(replicates[one.measure])[:, np.newaxis], n, n_clusters)
        reason = EXPECTED_AGREEMENT_IS_ONE if n else NO_COMMON_QUESTIONS
        value = float(one.of(values[one.measure]))
        found.results[one.name] = agreement_result(value, interval, n, units.method, reason)
        found.bootstrap_undefined_fraction[one.name] = interval.bootstrap_undefined_fraction
    return found


def agreement_result(value: float, interval: Bootstrapped, n: int, method: str, reason: str) -> Estimate:
    """An agreement over n questions with its cautions; undefined for ``reason`` where ``value`` is NaN.

    Below 10 questions the interval is left out, below 30 the result is flagged.
    """
    flags = () if n >= SMALL_AGREEMENT_N else (SMALL_N,)
    if np.isnan(value):
        return undefined(reason, n=n, method=method, flags=flags if n else ())
    limits = interval.ci95 if n >= FEWEST_FOR_INTERVAL else None
    return Estimate(value, limits, n, method, (*interval.flags, *flags))
