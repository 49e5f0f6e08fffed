"""Agreement of two raters in the mix of the bank, where cases were drawn by quotas or in equal numbers by stratum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from readerstudy.statistics.bootstrap import DRAWS, generator, percentile_intervals, resampled_tables
from readerstudy.statistics.pairs import cohen_kappa, result_of
from readerstudy.statistics.results import NO_COMMON_QUESTIONS, STRATUM_TOO_SMALL, Result, undefined

METHOD = "bootstrap_in_strata"
FAMILY = "bank_mix"
FEWEST = 2  # questions of a stratum that both answered

Codes = NDArray[np.integer]


def bank_mix_kappa(
    first: Codes,
    second: Codes,
    stratum: Codes,
    sizes: NDArray[np.integer],
    n_options: int,
    *,
    seed: int,
    panel: str,
    draws: int = DRAWS,
) -> Result:
    """Cohen's kappa of the table in which each stratum weighs as much as in the bank.

    Parameters
    ----------
    first, second : int arrays, shape (questions,)
        Codes of options; negative: no rating.
    stratum : int array, shape (questions,)
        Counts from 0.
    sizes : int array, shape (strata,)
        Questions of each stratum in the bank. Undefined where both answered fewer than two of one of them.

    The interval is a percentile bootstrap that draws questions within each stratum.
    """
    both = (first >= 0) & (second >= 0)
    place = (stratum[both].astype(np.int64) * n_options + first[both]) * n_options + second[both]
    tables = np.bincount(place, minlength=len(sizes) * n_options**2).reshape(len(sizes), n_options, n_options)
    n_of = tables.sum(axis=(1, 2))
    n = int(n_of.sum())
    if n == 0 or n_of.min() < FEWEST:
        return undefined(STRATUM_TOO_SMALL if n else NO_COMMON_QUESTIONS, n=n, method=METHOD)
    weights = sizes / sizes.sum() / n_of
    rng = generator(seed, panel, FAMILY)
    drawn = sum(weight * resampled_tables(table, rng, draws) for weight, table in zip(weights, tables, strict=True))
    [interval] = percentile_intervals(cohen_kappa(np.asarray(drawn))[:, None], n)
    value = float(cohen_kappa(np.tensordot(weights, tables, axes=1)))
    flags = interval.flags if np.isfinite(value) else ()
    return result_of(value, tables.sum(axis=0), ci95=interval.ci95, method=METHOD, flags=flags)
