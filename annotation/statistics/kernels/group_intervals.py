"""Agreement within the readers, the models and all raters of one panel, and readers' agreement beside that with models.

Means over pairs of raters say whether readers agree more with each other than with models: Cohen's kappa, the excess
over independent raters of the same accuracies and error consistency, each over the pairs of readers, over those of a
reader and a model, and the first minus the second. All of it is on the same draws of questions or clusters, so that
groups and differences are compared draw by draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels import groups, pairs
from annotation.statistics.kernels.bootstrap import (
    DRAWS,
    Bootstrapped,
    Units,
    generator,
    percentile_intervals,
    resampled_each,
)
from annotation.statistics.kernels.estimate import (
    EXPECTED_AGREEMENT_IS_ONE,
    FEW_COMMON_ERRORS,
    FEWEST_FOR_INTERVAL,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    ONE_RATER,
    SMALL_AGREEMENT_N,
    SMALL_N,
    Estimate,
    undefined,
)
from annotation.statistics.kernels.groups import RatingSums, columns_by_size, columns_of_raters, rating_counts
from annotation.statistics.kernels.pair_intervals import clusters_in_common
from annotation.statistics.kernels.pair_tables import (
    Codes,
    PairColumns,
    outcome_tables,
    pair_tables,
    rater_pairs,
    valid_only,
)

Values = NDArray[np.float64]
Chosen = NDArray[np.bool_]

KAPPA, EXCESS, ERROR_CONSISTENCY = "kappa", "excess", "error_consistency"
GROUPS = "groups"  # the family of draws

COEFFICIENTS: dict[str, Callable[[RatingSums], Values]] = {
    "percent_agreement": groups.percent_agreement,
    "fleiss_kappa": groups.fleiss_kappa,
    "gwet_ac1": groups.gwet_ac1,
    "brennan_prediger": groups.brennan_prediger,
    "conger_kappa": groups.conger_kappa,
    "krippendorff_alpha_nominal": groups.krippendorff_alpha_nominal,
}


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
    the reason of that pair; ``one_rater`` without a pair, ``no_common_questions`` where no pair shares a question. A
    mean excess has no interval where one of its pairs has none for its few common errors.
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
    few = np.array([pairs.has_few_common_errors(one) for one in outcomes], dtype=np.bool_)
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
        result = agreement_result(value, interval, n, units.method, reason)
        if one.measure == EXCESS and result.value is not None and few[one.used].any():
            result = replace(result, ci95=None, flags=(*result.flags, FEW_COMMON_ERRORS))
        found.results[one.name] = result
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


@dataclass(frozen=True)
class GroupStatistics:
    """Results by name, and the share of draws in which each was undefined; None where nothing was drawn."""

    results: dict[str, Estimate]
    bootstrap_undefined_fraction: dict[str, float | None]


def panel_agreement(
    answers: Codes,
    correct: Codes,
    key: Codes,
    is_reader: Chosen,
    n_options: int,
    units: Units,
    *,
    n_valid: int | None = None,
    assigned: Chosen | None = None,
    seed: int,
    panel: str,
    draws: int = DRAWS,
) -> tuple[dict[str, GroupStatistics], Means]:
    """Agreement of "readers", "models" and "all" on the questions of one panel, and the means over their pairs.

    Parameters
    ----------
    answers, correct, key, n_options, units, n_valid
        As for ``pair_statistics``.
    is_reader : bool array, shape (raters,)
    assigned : bool array, shape (raters, questions), or None
        False: of another case set than this rater's. None: all raters have all questions.

    Returns
    -------
    Of each group ``percent_agreement``, ``fleiss_kappa``, ``gwet_ac1``, ``brennan_prediger``, ``conger_kappa`` and
    ``krippendorff_alpha_nominal``; n is the questions with two ratings or more, the others are dropped. Undefined:
    ``one_rater``, ``no_common_questions``, ``expected_agreement_is_one``, ``no_variation`` (alpha).
    """
    columns = PairColumns(answers, correct, key, n_options, n_options if n_valid is None else n_valid)
    chosen = {"readers": is_reader, "models": ~is_reader, "all": np.ones_like(is_reader)}
    of = {name: _Group(answers[rows], n_options) for name, rows in chosen.items()}
    parts = [columns.parts(), *(group.parts() for group in of.values())]
    drawn = iter(
        resampled_each(units.counts([one for part in parts for one in part]), generator(seed, panel, GROUPS), draws)
    )
    of_pairs = [next(drawn) for _one in parts[0]]
    of_raters = of_pairs[0][:, : len(answers) * n_options].reshape(draws, len(answers), n_options)
    found = {
        name: group.statistics([next(drawn) for _one in part], of_raters[:, chosen[name]], units)
        for (name, group), part in zip(of.items(), parts[1:], strict=True)
    }
    everything = np.ones(answers.shape, dtype=np.bool_) if assigned is None else assigned
    return found, means_of_pairs(columns, of_pairs, is_reader, everything, units)


@dataclass(frozen=True)
class _Group:
    """The answers of the raters of one group, shape (raters, questions)."""

    answers: Codes
    n_options: int

    @property
    def counts(self) -> Codes:
        return rating_counts(self.answers, self.n_options)

    def parts(self) -> list[NDArray[Any]]:
        """Columns by number of ratings, and who chose what on the questions that are dropped; (columns, questions)."""
        counts = self.counts
        dropped = columns_of_raters(self.answers, self.n_options) & (counts.sum(axis=1) < 2)
        return [*columns_by_size(counts).values(), dropped]

    def statistics(self, drawn: Sequence[Values], of_raters: Values, units: Units) -> GroupStatistics:
        """``drawn``: sums of the parts, shape (draws, columns); ``of_raters``: of all questions, (draws, raters, q)."""
        sums, paired = RatingSums.of(self.answers, self.n_options), self.counts.sum(axis=1) > 1
        n = int(paired.sum())
        if n == 0:
            reason = ONE_RATER if len(self.answers) < 2 else NO_COMMON_QUESTIONS
            results = {name: undefined(reason, n=0, method=units.method) for name in COEFFICIENTS}
            return GroupStatistics(results, dict.fromkeys(COEFFICIENTS))
        replicates = RatingSums(
            dict(zip(sums.by_size, drawn, strict=False)), of_raters - drawn[-1].reshape(of_raters.shape)
        )
        n_clusters = len(np.unique(units.number[paired])) if units.clustered else None
        found = GroupStatistics({}, {})
        for name, coefficient in COEFFICIENTS.items():
            interval = percentile_intervals(coefficient(replicates)[:, np.newaxis], n, n_clusters)[0]
            reason = NO_VARIATION if name.startswith("krippendorff") else EXPECTED_AGREEMENT_IS_ONE
            found.results[name] = agreement_result(float(coefficient(sums)), interval, n, units.method, reason)
            found.bootstrap_undefined_fraction[name] = interval.bootstrap_undefined_fraction
        return found
