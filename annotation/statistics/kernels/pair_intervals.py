"""Every statistic of every pair of raters in one panel, with its bootstrap interval.

By question each pair is resampled through its own small tables; every pair starts its draws from the same generator, so
that the results of a pair do not depend on who else is in the analysis. By cluster all pairs share their draws.
In the mix of the bank, for cases drawn by quotas or in equal numbers by stratum, questions are drawn within strata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels import pairs
from annotation.statistics.kernels.bootstrap import (
    BY_CLUSTER,
    BY_QUESTION,
    DRAWS,
    Units,
    generator,
    percentile_intervals,
    resampled_each,
    resampled_tables,
)
from annotation.statistics.kernels.estimate import (
    EXPECTED_AGREEMENT_IS_ONE,
    FEW_COMMON_ERRORS,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    STRATA_MERGED,
    STRATUM_TOO_SMALL,
    Estimate,
    undefined,
)
from annotation.statistics.kernels.intervals import FEWEST_IN_STRATUM, merged_strata
from annotation.statistics.kernels.pair_tables import (
    Codes,
    PairColumns,
    Tables,
    outcome_tables,
    pair_tables,
    rater_pairs,
    valid_only,
)
from annotation.statistics.kernels.pairs import cohen_kappa, result_of

Replicates = dict[str, NDArray[np.float64]]  # of each statistic, shape (draws, pairs)
Sums = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # agreed, rows, columns

OPTIONS, RIGHT_WRONG, OUTCOMES = "options", "right_wrong", "outcomes"  # families of draws by question
PAIRS = "pairs"  # the one family of draws by cluster
BANK_MIX, IN_STRATA = "bank_mix", "bootstrap_in_strata"  # family and method of draws within strata
OF_RIGHT_WRONG = (ERROR_CONSISTENCY, PHI) = ("error_consistency", "phi")
BY_ACCURACY = (IF_INDEPENDENT, EXCESS) = ("agreement_if_independent", "excess_agreement")  # of valid answers
BY_WILSON = {  # without clusters
    "percent_agreement": pairs.percent_agreement_result,
    "brennan_prediger": pairs.brennan_prediger_result,
}
AT_ONCE = 2  # threads


@dataclass(frozen=True)
class PairStatistics:
    """Two raters (rows of the answers): results by name, and the share of draws in which each was undefined.

    None where nothing was drawn.
    """

    first: int
    second: int
    results: dict[str, Estimate]
    bootstrap_undefined_fraction: dict[str, float | None]


def pair_statistics(
    answers: Codes,
    correct: Codes,
    key: Codes,
    n_options: int,
    units: Units,
    *,
    n_valid: int | None = None,
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
        1 right (who chose the key), 0 wrong (also failed and declined), negative not counted.
    key : int array, shape (questions,)
    n_options : int
        q, the options that are allowed; one more where failed extractions are a category of their own.
    units : Units
        Of the questions of this panel.
    n_valid : int or None
        Where failed extractions are a category: q of the study, which ``agreement_if_independent`` and
        ``excess_agreement`` are made with. They know no other answers.

    Returns
    -------
    For each pair in the order of ``rater_pairs``: ``percent_agreement``, ``expected_agreement``, ``cohen_kappa``,
    ``scott_pi``, ``gwet_ac1``, ``brennan_prediger``, ``error_consistency``, ``phi``, ``agreement_if_independent``
    and ``excess_agreement``. Without clusters the first has Wilson's interval and Brennan-Prediger the image of it.
    The excess has none where fewer than five questions are wrong for both, flag ``few_common_errors``.
    """
    found = [PairStatistics(first, second, {}, {}) for first, second in rater_pairs(len(answers))]
    if not found:
        return []
    n_valid = n_options if n_valid is None else n_valid
    valid = valid_only(answers, n_valid)
    of_options, of_valid = pair_tables(answers, n_options)[:, 0], pair_tables(valid, n_valid)[:, 0]
    of_right, outcomes = pair_tables(correct, 2)[:, 0], outcome_tables(valid, key)[:, 0]
    values = _values(pairs.sums_of(of_options), pairs.sums_of(of_right), outcomes, n_valid)
    if units.clustered:
        columns = PairColumns(answers, correct, key, n_options, n_valid)
        replicated = _by_cluster(columns, units, generator(seed, panel, PAIRS), draws)
    else:
        replicated = _by_question((of_options, of_right, outcomes), n_valid, seed, panel, draws)
    behind = dict.fromkeys(values, (of_options, answers))
    behind |= dict.fromkeys(OF_RIGHT_WRONG, (of_right, correct)) | dict.fromkeys(BY_ACCURACY, (of_valid, valid))
    for name, (tables, codes) in behind.items():
        n_clusters = clusters_in_common(codes, units) if units.clustered else None
        results = _results(name, values[name], tables, replicated.get(name), n_clusters)
        for pair, (result, fraction) in zip(found, results, strict=True):
            pair.results[name], pair.bootstrap_undefined_fraction[name] = result, fraction
    for pair, outcome in zip(found, outcomes, strict=True):
        excess = pair.results[EXCESS]
        if excess.value is not None and pairs.has_few_common_errors(outcome):
            pair.results[EXCESS] = replace(excess, ci95=None, flags=(*excess.flags, FEW_COMMON_ERRORS))
    return found


def _results(
    name: str,
    values: NDArray[np.float64],
    tables: Tables,
    replicates: NDArray[np.float64] | None,
    n_clusters: NDArray[np.int64] | None,
) -> Iterator[tuple[Estimate, float | None]]:
    """One statistic of each pair, and the share of draws in which it was undefined."""
    if replicates is None:
        yield from ((BY_WILSON[name](table), None) for table in tables)
        return
    method = BY_QUESTION if n_clusters is None else BY_CLUSTER
    intervals = percentile_intervals(replicates, tables.sum(axis=(1, 2)), n_clusters)
    for value, table, interval in zip(values.tolist(), tables, intervals, strict=True):
        of_margins, ci95 = name not in BY_WILSON, interval.ci95
        flags = () if isnan(value) else interval.flags  # of limits that there are not
        reason = NO_VARIATION if name == PHI else EXPECTED_AGREEMENT_IS_ONE
        result = pairs.result_of(
            value, table, ci95=ci95, method=method, flags=flags, of_margins=of_margins, reason=reason
        )
        yield result, interval.bootstrap_undefined_fraction


def clusters_in_common(codes: Codes, units: Units) -> NDArray[np.int64]:
    """Of each pair, the clusters that hold a question on which neither code is negative."""
    both = [(codes[i] >= 0) & (codes[j] >= 0) for i, j in rater_pairs(len(codes))]
    return np.array([np.count_nonzero(np.bincount(units.number[one], minlength=units.m)) for one in both])


def _values(of_options: Sums, of_right: Sums, outcomes: NDArray[Any], n_valid: int) -> dict[str, NDArray[np.float64]]:
    """Every statistic by name, of one pair in many draws or of many pairs."""
    return {
        **pairs.coefficients(*of_options),
        ERROR_CONSISTENCY: pairs.coefficients(*of_right)["cohen_kappa"],
        PHI: pairs.phi(*of_right),
        IF_INDEPENDENT: pairs.agreement_if_independent(outcomes, n_valid),
        EXCESS: pairs.excess_agreement(outcomes, n_valid),
    }


def _by_cluster(columns: PairColumns, units: Units, rng: np.random.Generator, draws: int) -> Replicates:
    sums = columns.of_pairs(resampled_each(units.counts(columns.parts()), rng, draws))
    each = (
        _values((one.agreed, one.rows, one.columns), one.right_wrong, one.outcomes, columns.n_valid) for one in sums
    )
    return _side_by_side(each, len(rater_pairs(len(columns.answers))), draws)


def _side_by_side(each: Iterable[dict[str, NDArray[np.float64]]], n_pairs: int, draws: int) -> Replicates:
    """Every statistic of each pair in each draw, the draws of a pair side by side in memory."""
    found: Replicates = {}
    for pair, replicated in enumerate(each):
        for name, replicates in replicated.items():
            found.setdefault(name, np.empty((n_pairs, draws)).T)[:, pair] = replicates
    return found


def _by_question(tables: tuple[Tables, Tables, Tables], n_valid: int, seed: int, panel: str, draws: int) -> Replicates:
    """Two pairs at a time: the generators and most of what is made of their draws work without each other."""

    def of_pair(of_pair: tuple[Tables, Tables, Tables]) -> dict[str, NDArray[np.float64]]:
        of_options, of_right, outcomes = (
            resampled_tables(table, generator(seed, panel, family), draws)
            for table, family in zip(of_pair, (OPTIONS, RIGHT_WRONG, OUTCOMES), strict=True)
        )
        found = _values(pairs.sums_of(of_options), pairs.sums_of(of_right), outcomes, n_valid)
        return {name: one for name, one in found.items() if name not in BY_WILSON}

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return _side_by_side(threads.map(of_pair, zip(*tables, strict=True)), len(tables[0]), draws)


def bank_mix_kappa(
    first: Codes,
    second: Codes,
    stratum: Codes,
    sizes: NDArray[np.integer],
    tasks: Sequence[str],
    n_options: int,
    *,
    seed: int,
    panel: str,
    draws: int = DRAWS,
) -> tuple[Estimate, tuple[str, ...]]:
    """Cohen's kappa of the table in which each stratum weighs as much as in the bank.

    Parameters
    ----------
    first, second : int arrays, shape (questions,)
        Codes of options; negative: no rating.
    stratum : int array, shape (questions,)
        Counts from 0.
    sizes : int array, shape (strata,)
        Questions of each stratum in the bank; one without any is left out.
    tasks : sequence of str, length strata
        Where both answered fewer than two questions of a stratum, the strata of its task are taken as one.

    Returns
    -------
    The kappa, and the tasks of which several strata became one. Undefined where both answered fewer than two questions
    of a stratum then. The interval is a percentile bootstrap that draws questions within each stratum.
    """
    both = (first >= 0) & (second >= 0)
    place = (stratum[both].astype(np.int64) * n_options + first[both]) * n_options + second[both]
    tables = np.bincount(place, minlength=len(sizes) * n_options**2).reshape(len(sizes), n_options, n_options)
    number, merged = merged_strata(tasks, sizes, tables.sum(axis=(1, 2)))
    sizes, tables = _added(sizes, number), _added(tables, number)
    n = int(tables.sum())
    if n == 0:
        return undefined(NO_COMMON_QUESTIONS, n=0, method=IN_STRATA), ()
    flags = (STRATA_MERGED,) if merged else ()
    n_of = tables.sum(axis=(1, 2))
    if n_of.min() < FEWEST_IN_STRATUM:
        return undefined(STRATUM_TOO_SMALL, n=n, method=IN_STRATA, flags=flags), merged
    weights = sizes / sizes.sum() / n_of
    rng = generator(seed, panel, BANK_MIX)
    drawn = sum(weight * resampled_tables(table, rng, draws) for weight, table in zip(weights, tables, strict=True))
    [interval] = percentile_intervals(cohen_kappa(np.asarray(drawn))[:, None], n)
    value = float(cohen_kappa(np.tensordot(weights, tables, axes=1)))
    flags = (*interval.flags, *flags) if np.isfinite(value) else flags
    return result_of(value, tables.sum(axis=0), ci95=interval.ci95, method=IN_STRATA, flags=flags), merged


def _added(rows: NDArray[np.integer], number: NDArray[np.integer]) -> NDArray[np.int64]:
    """Rows of one number added up; those with a negative one are left out."""
    found = np.zeros((number.max(initial=-1) + 1, *rows.shape[1:]), dtype=np.int64)
    np.add.at(found, number[number >= 0], rows[number >= 0])
    return found
