"""Agreement within the readers, the models and all raters of one panel, and readers' agreement beside that with models.

All of it is on the same draws of questions or clusters, so that groups and differences are compared draw by draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readerstudy.statistics import groups
from readerstudy.statistics.bootstrap import (
    DRAWS,
    Bootstrapped,
    Units,
    generator,
    percentile_intervals,
    resampled_each,
)
from readerstudy.statistics.kappa_sums import KappaSums
from readerstudy.statistics.pair_intervals import clusters_in_common
from readerstudy.statistics.pair_tables import Codes, pair_tables, rater_pairs
from readerstudy.statistics.pairs import cohen_kappa
from readerstudy.statistics.rating_sums import (
    RatingSums,
    columns_of_counts,
    columns_of_raters,
    common_denominator,
    rating_counts,
)
from readerstudy.statistics.results import (
    EXPECTED_AGREEMENT_IS_ONE,
    FEWEST_FOR_INTERVAL,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    ONE_RATER,
    SMALL_AGREEMENT_N,
    SMALL_N,
    Result,
    undefined,
)

Values = NDArray[np.float64]
Chosen = NDArray[np.bool_]
GROUPS = "groups"  # the family of draws

COEFFICIENTS: dict[str, Callable[[RatingSums], Values]] = {
    "percent_agreement": groups.percent_agreement,
    "fleiss_kappa": groups.fleiss_kappa,
    "gwet_ac1": groups.gwet_ac1,
    "brennan_prediger": groups.brennan_prediger,
    "conger_kappa": groups.conger_kappa,
    "krippendorff_alpha_nominal": partial(groups.krippendorff_alpha, metric=groups.NOMINAL),
}


@dataclass(frozen=True)
class GroupStatistics:
    """Results by name, and the share of draws in which each was undefined; None where nothing was drawn."""

    results: dict[str, Result]
    bootstrap_undefined_fraction: dict[str, float | None]


def group_statistics(
    answers: Codes, n_options: int, units: Units, *, seed: int, panel: str, draws: int = DRAWS
) -> GroupStatistics:
    """Agreement of a group of raters on the questions of one panel.

    Parameters
    ----------
    answers : int array, shape (raters, questions)
        Of this group only; codes of options, negative: no rating.
    n_options : int
        q, the options that are allowed.
    units : Units
        Of the questions of this panel.

    Returns
    -------
    ``percent_agreement``, ``fleiss_kappa``, ``gwet_ac1``, ``brennan_prediger``, ``conger_kappa`` and
    ``krippendorff_alpha_nominal``; n is the questions with two ratings or more. Undefined: ``one_rater``,
    ``no_common_questions``, ``expected_agreement_is_one``, ``no_variation`` (alpha).
    """
    group = _Group.of(answers, n_options, units)
    drawn = resampled_each(group.parts, generator(seed, panel, GROUPS), draws)
    return group.statistics(drawn, units)


def mean_kappas(
    answers: Codes,
    is_reader: NDArray[np.bool_],
    n_options: int,
    units: Units,
    *,
    seed: int,
    panel: str,
    draws: int = DRAWS,
) -> GroupStatistics:
    """Means of the kappas of pairs in one panel: whether readers agree more with each other than with models.

    Parameters
    ----------
    answers : int array, shape (raters, questions)
        Of readers and models; codes of options, negative: no rating.
    is_reader : bool array, shape (raters,)

    Returns
    -------
    ``light_kappa_readers``, ``light_kappa_models``, ``light_kappa_all`` (pairs within each), ``mean_kappa_readers``
    (the same as the first), ``mean_kappa_reader_model`` and ``mean_kappa_difference``, readers minus mixed pairs. n is
    the smallest number of questions that a pair of them has in common. Undefined when one of the pairs is, with the
    reason of that pair; ``one_rater`` without a pair.
    """
    sums = KappaSums.of(answers, n_options)
    drawn = resampled_each(units.counts(sums.parts(answers)), generator(seed, panel, GROUPS), draws)
    return _means(sums.kappas(drawn), answers, is_reader, n_options, units)


def panel_agreement(
    answers: Codes,
    is_reader: NDArray[np.bool_],
    n_options: int,
    units: Units,
    *,
    seed: int,
    panel: str,
    draws: int = DRAWS,
) -> tuple[dict[str, GroupStatistics], GroupStatistics]:
    """``group_statistics`` of "readers", "models" and "all", and ``mean_kappas``: the same numbers, drawn once."""
    sums = KappaSums.of(answers, n_options)
    chosen = {"readers": is_reader, "models": ~is_reader, "all": np.ones_like(is_reader)}
    of = {name: _Group.of(answers[rows], n_options, units) for name, rows in chosen.items()}
    of_pairs = units.counts(sums.parts(answers))
    parts = [*of_pairs, *(part for group in of.values() for part in group.parts)]
    drawn = resampled_each(parts, generator(seed, panel, GROUPS), draws)
    first, rest = drawn[: len(of_pairs)], drawn[len(of_pairs) :]
    found = {
        name: group.statistics(rest[2 * place : 2 * place + 2], units) for place, (name, group) in enumerate(of.items())
    }
    return found, _means(sums.kappas(first), answers, is_reader, n_options, units)


@dataclass(frozen=True)
class _Group:
    """What units add to the sums of one group, in whole numbers: of questions, times ``whole``; options of raters."""

    parts: tuple[NDArray[np.int64], NDArray[np.int64]]
    whole: int
    n_raters: int
    n_options: int

    @classmethod
    def of(cls, answers: Codes, n_options: int, units: Units) -> _Group:
        counts = rating_counts(answers, n_options)
        whole = common_denominator(counts)
        of_question = np.rint(columns_of_counts(counts) * whole).astype(np.int64)
        of_raters = columns_of_raters(answers, n_options)
        return cls((units.sums(of_question), units.sums(of_raters)), whole, len(answers), n_options)

    def sums(self, totals: Sequence[NDArray[Any]]) -> RatingSums:
        """Of sums of the two parts, shape (..., columns); draws stay side by side in memory."""
        joined = np.concatenate([totals[0].T / self.whole, totals[1].T])
        return RatingSums(joined.T, self.n_options)

    def statistics(self, drawn: Sequence[Values], units: Units) -> GroupStatistics:
        """``drawn``: sums of the two parts, shape (draws, columns)."""
        sums = self.sums([part.sum(axis=0) for part in self.parts])
        n = int(sums.n_paired)
        if n == 0:
            reason = ONE_RATER if self.n_raters < 2 else NO_COMMON_QUESTIONS
            results = {name: undefined(reason, n=0, method=units.method) for name in COEFFICIENTS}
            return GroupStatistics(results, dict.fromkeys(COEFFICIENTS))
        replicates = self.sums(drawn)
        n_clusters = int((self.parts[0][:, 1] > 0).sum()) if units.clustered else None
        found = GroupStatistics({}, {})
        for name, coefficient in COEFFICIENTS.items():
            interval = percentile_intervals(coefficient(replicates)[:, np.newaxis], n, n_clusters)[0]
            reason = NO_VARIATION if name.startswith("krippendorff") else EXPECTED_AGREEMENT_IS_ONE
            found.results[name] = agreement_result(float(coefficient(sums)), interval, n, units.method, reason)
            found.bootstrap_undefined_fraction[name] = interval.bootstrap_undefined_fraction
        return found


def _means(
    drawn: Values, answers: Codes, is_reader: NDArray[np.bool_], n_options: int, units: Units
) -> GroupStatistics:
    """``drawn``: kappas, shape (draws, pairs)."""
    tables = pair_tables(answers, n_options)[:, 0]
    kappas, common = cohen_kappa(tables), tables.sum(axis=(1, 2))
    n_clusters = clusters_in_common(answers, units) if units.clustered else None
    readers = np.array([int(is_reader[i]) + int(is_reader[j]) for i, j in rater_pairs(len(answers))], dtype=np.int64)
    found = GroupStatistics({}, {})
    for name, (plus, minus) in _contrasts(readers).items():
        value, replicates, used = _mean(kappas, plus), _mean(drawn, plus), plus
        if minus is not None:
            value, replicates, used = value - _mean(kappas, minus), replicates - _mean(drawn, minus), plus | minus
        if not plus.any() or (minus is not None and not minus.any()):
            found.results[name] = undefined(ONE_RATER, n=0, method=units.method)
            found.bootstrap_undefined_fraction[name] = None
            continue
        n = int(common[used].min())
        fewest = None if n_clusters is None else int(n_clusters[used].min())
        interval = percentile_intervals(replicates[:, np.newaxis], n, fewest)[0]
        reason = EXPECTED_AGREEMENT_IS_ONE if n else NO_COMMON_QUESTIONS
        found.results[name] = agreement_result(float(value), interval, n, units.method, reason)
        found.bootstrap_undefined_fraction[name] = interval.bootstrap_undefined_fraction
    return found


def _contrasts(readers: NDArray[np.int64]) -> dict[str, tuple[Chosen, Chosen | None]]:
    """The pairs whose kappas are averaged and those whose mean is taken off, by how many of a pair are readers."""
    within, mixed = readers == 2, readers == 1
    return {
        "light_kappa_readers": (within, None),
        "light_kappa_models": (readers == 0, None),
        "light_kappa_all": (readers >= 0, None),
        "mean_kappa_readers": (within, None),
        "mean_kappa_reader_model": (mixed, None),
        "mean_kappa_difference": (within, mixed),
    }


def _mean(kappas: Values, chosen: Chosen) -> Values:
    """Over the chosen pairs, the last axis; NaN without any, and where one of them is."""
    if not chosen.any():
        return np.full(kappas.shape[:-1], np.nan)
    return np.asarray(kappas[..., chosen].mean(axis=-1))


def agreement_result(value: float, interval: Bootstrapped, n: int, method: str, reason: str) -> Result:
    """An agreement over n questions with its cautions; undefined for ``reason`` where ``value`` is NaN.

    Below 10 questions the interval is left out, below 30 the result is flagged.
    """
    flags = () if n >= SMALL_AGREEMENT_N else (SMALL_N,)
    if np.isnan(value):
        return undefined(reason, n=n, method=method, flags=flags if n else ())
    limits = interval.ci95 if n >= FEWEST_FOR_INTERVAL else None
    return Result(value, limits, n, method, (*interval.flags, *flags))
