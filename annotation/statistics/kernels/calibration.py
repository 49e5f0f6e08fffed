"""Whether a stated chance of being right is kept: Brier score, stated minus right, and reliability by bins.

References
----------
.. [1] G. W. Brier, Mon. Weather Rev. 78 (1950) 1-3.
.. [2] G. Y. Zou, A. Donner, Stat. Med. 27 (2008) 1693-1702.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.estimate import (
    FEW_CLUSTERS,
    FEW_ERRORS,
    FEWEST_ERRORS,
    NO_VARIATION,
    SMALL_N,
    ZERO_TRIALS,
    Estimate,
    Interval,
    undefined,
)
from annotation.statistics.kernels.intervals import FEWEST_CLUSTERS, FEWEST_TRIALS, clustered_counts, share

METHOD, BY_MOVER = "mean_cluster_t", "mean_mover"
OF_MEANS = "mean"  # values that have no interval
N_BINS, WIDTH = 10, 10  # of free values, percent each; 100 % is in the last
NOTHING = 1e-12  # spread of values that do not differ, which rounding leaves

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """Answers with one stated chance, or with chances of ten percent."""

    mean_stated: float
    right: Estimate


@dataclass(frozen=True)
class Calibration:
    """All of one rater; standard errors are None where they are undefined."""

    brier_score: Estimate
    brier_score_se: float | None
    brier_reference: Estimate
    mean_stated: Estimate
    mean_right: Estimate
    stated_minus_right: Estimate
    stated_minus_right_se: float | None
    reliability_bins: tuple[Bin, ...]


def calibration(
    stated: Floats, right: NDArray[np.integer], cluster: NDArray[np.integer], levels: Sequence[int] = ()
) -> Calibration:
    """Calibration of one rater over the answers with a stated chance.

    Parameters
    ----------
    stated : float array, shape (questions,)
        Percent; NaN: none was stated.
    right : int array, shape (questions,)
        1 right, 0 wrong, negative not counted.
    cluster : int array, shape (questions,)
        The exam of each question, or its patient where known: any numbers.
    levels : sequence of int
        The steps of the scale, where there are such: a bin each. Else there are ten bins of 10 %.

    Returns
    -------
    Calibration. ``brier_score`` is the mean of (c - y)^2 [1]_, ``brier_reference`` that of always stating one's own
    share right; ``stated_minus_right`` is above 0 for who is overconfident. The score has t limits with the
    cluster-robust error, none where fewer than five answers are right or fewer than five wrong (``few_errors``); the
    difference has MOVER's [2]_, of the t limits of the mean chance and the limits of the share right. Neither has any
    below ten answers or clusters.
    """
    used = ~np.isnan(stated) & (right >= 0)
    percent, c, y, of = stated[used], stated[used] / 100, right[used].astype(np.float64), cluster[used]
    score, score_se = _mean((c - y) ** 2, of, lowest=0.0)
    if len(y) and min(y.sum(), (1 - y).sum()) < FEWEST_ERRORS:
        score = replace(score, ci95=None, flags=(*score.flags, FEW_ERRORS))
    apart, apart_se = _stated_minus_right(c, y, of)
    return Calibration(
        brier_score=score,
        brier_score_se=score_se,
        brier_reference=_plain(y.mean() * (1 - y.mean()) if len(y) else 0.0, len(y)),
        mean_stated=_plain(c.mean() if len(c) else 0.0, len(c)),
        mean_right=share(int(y.sum()), len(y)),
        stated_minus_right=apart,
        stated_minus_right_se=apart_se,
        reliability_bins=tuple(_bins(percent, y, levels)),
    )


def _plain(value: float, n: int) -> Estimate:
    """A value without an interval."""
    return Estimate(float(value), None, n, OF_MEANS) if n else undefined(ZERO_TRIALS, n=0, method=OF_MEANS)


def _mean(values: Floats, cluster: NDArray[np.integer], *, lowest: float) -> tuple[Estimate, float | None]:
    """Mean with SE = sqrt(m/(m-1) sum e_g^2)/n, e_g the sum of the residuals of cluster g of m; and that SE."""
    n = len(values)
    if n == 0:
        return undefined(ZERO_TRIALS, n=0, method=METHOD), None
    mean, of_cluster = float(values.mean()), np.unique(cluster, return_inverse=True)[1]
    residuals = np.bincount(of_cluster, values - mean)
    m = len(residuals)
    flags = (*((FEW_CLUSTERS,) if m < min(n, FEWEST_CLUSTERS) else ()), *((SMALL_N,) if n < FEWEST_TRIALS else ()))
    if m < 2:
        return Estimate(mean, None, n, METHOD, flags), None
    error = sqrt(m / (m - 1) * float(residuals @ residuals)) / n
    if error < NOTHING:
        error, flags = 0.0, (*flags, NO_VARIATION)
    if flags:
        return Estimate(mean, None, n, METHOD, flags), error
    from scipy.special import stdtrit  # here, since every start of the program would wait for it

    half = float(stdtrit(m - 1, 0.975)) * error
    return Estimate(mean, (max(lowest, mean - half), min(1.0, mean + half)), n, METHOD), error


def _stated_minus_right(c: Floats, y: Floats, cluster: NDArray[np.integer]) -> tuple[Estimate, float | None]:
    """Mean of c - y with its error, and limits of the two means combined by their correlation over clusters [2]_."""
    found, error = _mean(c - y, cluster, lowest=-1.0)
    flags = tuple(flag for flag in found.flags if flag != NO_VARIATION)  # limits of a share have a width all the same
    found = replace(found, method=BY_MOVER, flags=flags, ci95=None)
    return (found if flags or found.value is None else replace(found, ci95=_mover(c, y, cluster))), error


def _mover(c: Floats, y: Floats, cluster: NDArray[np.integer]) -> Interval:
    from scipy.special import stdtrit

    of_cluster, p = np.unique(cluster, return_inverse=True)[1], float(y.mean())
    stated, right = (np.bincount(of_cluster, values - values.mean()) for values in (c, y))
    m, d = len(stated), float(c.mean()) - p
    half = float(stdtrit(m - 1, 0.975)) * sqrt(m / (m - 1) * float(stated @ stated)) / len(c)
    below = sqrt(float(stated @ stated) * float(right @ right))
    r = float(stated @ right) / below if below >= NOTHING else 0.0
    limits = clustered_counts(np.bincount(of_cluster, y).astype(np.int64), np.bincount(of_cluster))
    low, high = limits.estimate.ci95 if limits and limits.estimate.ci95 else (0.0, 1.0)

    def apart(other: float) -> float:
        return sqrt(max(0.0, half * half + other * other - 2 * r * half * other))

    return max(-1.0, d - apart(high - p)), min(1.0, d + apart(p - low))


def _bins(percent: Floats, y: Floats, levels: Sequence[int]) -> list[Bin]:
    """Those that hold an answer, from the lowest chance up."""
    if levels:
        place = np.searchsorted(np.array(sorted(levels)), percent)
    else:
        place = np.minimum(percent // WIDTH, N_BINS - 1).astype(np.int64)
    found = []
    for number in np.unique(place).tolist():
        here = place == number
        right = share(int(y[here].sum()), int(here.sum()))
        found.append(Bin(float(percent[here].mean() / 100), right))
    return found
