"""Agreement of two raters in the mix of the bank, where cases were drawn by quotas or in equal numbers by stratum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import DRAWS, generator, percentile_intervals, resampled_tables
from annotation.statistics.kernels.estimate import (
    NO_COMMON_QUESTIONS,
    STRATA_MERGED,
    STRATUM_TOO_SMALL,
    Estimate,
    undefined,
)
from annotation.statistics.kernels.intervals import FEWEST_IN_STRATUM, merged_strata
from annotation.statistics.kernels.pairs import cohen_kappa, result_of

METHOD = "bootstrap_in_strata"
FAMILY = "bank_mix"

Codes = NDArray[np.integer]


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
        return undefined(NO_COMMON_QUESTIONS, n=0, method=METHOD), ()
    flags = (STRATA_MERGED,) if merged else ()
    n_of = tables.sum(axis=(1, 2))
    if n_of.min() < FEWEST_IN_STRATUM:
        return undefined(STRATUM_TOO_SMALL, n=n, method=METHOD, flags=flags), merged
    weights = sizes / sizes.sum() / n_of
    rng = generator(seed, panel, FAMILY)
    drawn = sum(weight * resampled_tables(table, rng, draws) for weight, table in zip(weights, tables, strict=True))
    [interval] = percentile_intervals(cohen_kappa(np.asarray(drawn))[:, None], n)
    value = float(cohen_kappa(np.tensordot(weights, tables, axes=1)))
    flags = (*interval.flags, *flags) if np.isfinite(value) else flags
    return result_of(value, tables.sum(axis=0), ci95=interval.ci95, method=METHOD, flags=flags), merged


def _added(rows: NDArray[np.integer], number: NDArray[np.integer]) -> NDArray[np.int64]:
    """Rows of one number added up; those with a negative one are left out."""
    found = np.zeros((number.max(initial=-1) + 1, *rows.shape[1:]), dtype=np.int64)
    np.add.at(found, number[number >= 0], rows[number >= 0])
    return found
