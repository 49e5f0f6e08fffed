"""Intervals at 95 %: of shares (of questions, of questions that share exams, weighted to the mix of a bank), of the
difference of two shares of the same questions, and of the median.

References
----------
.. [1] T. Tango, Stat. Med. 17 (1998) 891-908.
.. [2] R. G. Newcombe, Stat. Med. 17 (1998) 2635-2650, method 10.
.. [3] M. W. Fagerland, S. Lydersen, P. Laake, BMC Med. Res. Methodol. 13 (2013) 91.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, lgamma, log, sqrt
from statistics import NormalDist, median
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from annotation.statistics.kernels.estimate import (
    FEW_CLUSTERS,
    NOT_ASKED,
    SMALL_N,
    STRATA_MERGED,
    STRATUM_TOO_SMALL,
    ZERO_TRIALS,
    Estimate,
    Interval,
    undefined,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Z95 = 1.959963984540054
FEWEST_CLUSTERS = 10
FEWEST_TRIALS = 10  # below this a share is flagged
FEWEST_IN_STRATUM = 2  # questions of a stratum that has a share
BANK_MIX, MEDIAN, CLUSTER_WILSON = "bank_mix_wilson", "median, order statistics", "cluster_wilson"
HALVINGS = 54  # of an interval at most 2 wide: beyond what a float can tell apart


def wilson(k: float, n: float, confidence: float = 0.95, quantile: float | None = None) -> tuple[float, float]:
    """Score interval of a share of k in n [1]_; n is above 0 and need not be whole (an effective size).

    ``quantile``: of another distribution in place of the normal one.

    References
    ----------
    .. [1] E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209-212.
    """
    p = k / n
    z = NormalDist().inv_cdf((1 + confidence) / 2) if quantile is None else quantile
    z2 = z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    low = 0.0 if k <= 0 else max(0.0, centre - half)
    high = 1.0 if k >= n else min(1.0, centre + half)
    return low, high


def share(k: int, n: int, *, asked: bool = True) -> Estimate:
    """k of n with Wilson's interval. Undefined for n = 0, flagged where it was not ``asked``; ``small_n`` below 10."""
    if n == 0:
        return undefined(ZERO_TRIALS, n=0, method="wilson", flags=() if asked else (NOT_ASKED,))
    flags = (SMALL_N,) if n < FEWEST_TRIALS else ()
    return Estimate(k / n, wilson(k, n), n, "wilson", count=k, flags=flags)


class ClusteredShare(Struct, frozen=True):
    """A share whose trials come in clusters. ``design_effect`` is None where the share is 0 or 1."""

    estimate: Estimate
    standard_error: float
    design_effect: float | None
    n_clusters: int


def clustered_share(clusters: Sequence[Sequence[int]]) -> ClusteredShare | None:
    """Share of ones over all clusters, with a cluster-robust standard error; None without any trial.

    Parameters
    ----------
    clusters : sequence of sequences of 0 and 1
        The trials of each cluster (of each exam or patient); none of them empty.
    """
    import numpy as np  # not at every start

    if not clusters:
        return None
    return clustered_counts(np.array([sum(one) for one in clusters]), np.array([len(one) for one in clusters]))


def clustered_counts(successes: NDArray[np.integer], trials: NDArray[np.integer]) -> ClusteredShare | None:
    """The same from counts.

    Parameters
    ----------
    successes, trials : int arrays, shape (clusters,)
        Of each cluster; none of them without a trial.

    Returns
    -------
    ClusteredShare, or None without a cluster. SE = sqrt(m/(m-1) sum e_g^2)/n with e_g the sum of y - p in cluster g
    of m. The interval is Wilson's at p, with n over the design effect (where that is above 1) in place of n and the
    quantile of t(m-1) in place of the normal one; at p = 0 or 1 with m in place of n. Fewer than 10 clusters: no
    interval. One cluster: no standard error (NaN). Where no cluster holds two trials it is Wilson's plain interval.
    """
    k, n, m = int(successes.sum()), int(trials.sum()), len(trials)
    if m == 0:
        return None
    p = k / n
    is_few = m < min(n, FEWEST_CLUSTERS)
    n_effective, quantile = float(m), None
    if k in (0, n):
        error, effect = 0.0, None
    elif m < 2:
        error, effect = float("nan"), None
    else:
        residuals = (n * successes - k * trials).astype(float)  # n times: 0, not 1e-17, where clusters do not differ
        error = sqrt(m / (m - 1) * float(residuals @ residuals)) / n**2
        effect = error**2 / (p * (1 - p) / n)
        if m < n:
            from scipy.special import stdtrit  # here, since every start of the program would wait for it

            n_effective, quantile = n / max(effect, 1.0), float(stdtrit(m - 1, 0.975))
    interval = None if is_few else wilson(p * n_effective, n_effective, quantile=quantile)
    flags, method = (FEW_CLUSTERS,) if is_few else (), CLUSTER_WILSON if m < n else "wilson"
    return ClusteredShare(Estimate(p, interval, n, method, count=k, flags=flags), error, effect, m)


class StratumCount(Struct, frozen=True):
    """One stratum of the draw: its size in the bank, and of the questions looked at, how many have the property."""

    n_frame: int
    n: int
    k: int
    task: str = ""  # whose difficulties may be merged; "": it is merged with none


class BankMixShare(Struct, frozen=True):
    """A share in the mix of the bank. ``n_effective`` is None where it is undefined or all of the bank was seen."""

    estimate: Estimate
    n_effective: float | None = None
    merged_tasks: tuple[str, ...] = ()


def bank_mix_share(strata: Mapping[str, StratumCount]) -> BankMixShare:
    """Share as it would be in the bank: strata weighted by their size in the bank.

    Value sum W_h k_h/n_h; interval as in ``weighted_share``, narrower the more of the bank was seen. Strata without a
    question in the bank are left out. Where fewer than 2 questions of a stratum were looked at, all strata of its task
    are taken as one (``strata_merged``); undefined, ``stratum_too_small``, where that is still fewer than 2.
    """
    import numpy as np

    names, counts = list(strata), list(strata.values())
    size, n, k = (np.array([getattr(one, name) for one in counts], dtype=np.int64) for name in ("n_frame", "n", "k"))
    total = int(n[size > 0].sum())
    if total == 0:
        return BankMixShare(undefined(ZERO_TRIALS, n=total, method=BANK_MIX))
    place, merged = merged_strata([one.task or name for name, one in zip(names, counts, strict=True)], size, n)
    size, n, k = (np.bincount(place[place >= 0], one[place >= 0]) for one in (size, n, k))
    flags = (STRATA_MERGED,) if merged else ()
    if n.min() < FEWEST_IN_STRATUM:
        return BankMixShare(undefined(STRATUM_TOO_SMALL, n=total, method=BANK_MIX, flags=flags), None, merged)
    p, interval, n_effective = weighted_share(size / size.sum(), k, n, (1 - n / size) / n)
    return BankMixShare(Estimate(p, interval, total, BANK_MIX, flags=flags), n_effective, merged)


def merged_strata(
    tasks: Sequence[str], sizes: NDArray[np.integer], n: NDArray[np.integer]
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Which strata are taken as one, because fewer than 2 questions of one of them were looked at.

    Parameters
    ----------
    tasks : sequence of str, length strata
        Only strata of one task are merged.
    sizes, n : int arrays, shape (strata,)
        Questions in the bank, and looked at.

    Returns
    -------
    Of each stratum its number among those that are used, -1: not one of its questions is in the bank; and the tasks of
    which several strata became one.
    """
    import numpy as np

    used = sizes > 0
    small = {
        task for task, is_used, looked in zip(tasks, used, n, strict=True) if is_used and looked < FEWEST_IN_STRATUM
    }
    numbers: dict[tuple[str, int], int] = {}
    place = np.full(len(tasks), -1, dtype=np.int64)
    for row in np.flatnonzero(used).tolist():
        own = (tasks[row], -1 if tasks[row] in small else row)
        place[row] = numbers.setdefault(own, len(numbers))
    several = Counter(task for task, is_used in zip(tasks, used, strict=True) if is_used)
    return place, tuple(task for task in dict.fromkeys(tasks) if task in small and several[task] > 1)


def weighted_share(
    weights: NDArray[np.floating], successes: NDArray[Any], trials: NDArray[Any], per_trial: NDArray[np.floating]
) -> tuple[float, tuple[float, float], float | None]:
    """Weighted mean of the shares of groups, Wilson's interval with the effective number of trials, and that number.

    Parameters
    ----------
    weights : float array, shape (groups,), adding up to 1
    successes, trials : arrays, shape (groups,); one trial or more in each
    per_trial : float array, shape (groups,)
        What p(1-p) of a group is multiplied by to give the variance of its share: 0 where all of it was seen.

    The variance is made with shares shrunken to the one of all trials together, (k + 2p)/(n + 2), so that a small group
    without variation does not pass as known. Where all of every group was seen, the limits are the value.
    """
    p = min(1.0, max(0.0, float(weights @ (successes / trials))))
    pooled = float(successes.sum() / trials.sum())
    shrunken = (successes + 2 * pooled) / (trials + 2)
    spread = weights**2 * per_trial
    if not spread.any():
        return p, (p, p), None
    if pooled in (0, 1):
        n_effective = 1 / float(spread.sum())
    else:
        mean = float(weights @ shrunken)
        n_effective = mean * (1 - mean) / float(spread @ (shrunken * (1 - shrunken)))
    return p, wilson(p * n_effective, n_effective), n_effective


def median_estimate(values: Sequence[float]) -> Estimate:
    """Median with the exact interval from order statistics, of at least 95 % [1]_.

    Undefined without values; without an interval below 6 values, where none of that level exists.

    References
    ----------
    .. [1] W. J. Conover, Practical Nonparametric Statistics, 3rd ed. (1999), section 3.2.
    """
    n = len(values)
    if n == 0:
        return undefined(ZERO_TRIALS, n=0, method=MEDIAN)
    ordered = sorted(values)
    k = _rank(n)
    return Estimate(median(ordered), (ordered[k - 1], ordered[n - k]) if k else None, n, MEDIAN)


def _rank(n: int) -> int:
    """The largest k with P(X < k) of at most 2.5 %, X binomial of n trials at 1/2; 0 when there is none.

    By hand: importing a statistics library costs a page more than adding these up.
    """
    below, k = 0.0, 0
    while True:
        below += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2))
        if below > 0.025:
            return k
        k += 1


def tango(first_only: int, second_only: int, n: int, confidence: float = 0.95) -> Interval:
    """Score interval [1]_ of (first only - second only)/n, n above 0; within [-1, 1]."""
    import numpy as np

    low, high = tango_limits(np.array([first_only]), np.array([second_only]), n, confidence)
    return float(low[0]), float(high[0])


def tango_limits(
    first_only: NDArray[Any], second_only: NDArray[Any], n: int | NDArray[Any], confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """The same of many tables at once, of n questions each: lower and upper limits, of the shape of ``first_only``."""
    import numpy as np

    high = _upper(first_only.astype(np.float64), second_only.astype(np.float64), n, confidence)
    low = -_upper(second_only.astype(np.float64), first_only.astype(np.float64), n, confidence)
    return low, high


def newcombe(both: int, first_only: int, second_only: int, neither: int, confidence: float = 0.95) -> Interval:
    """Square-and-add interval from Wilson's limits of the two proportions, with their correlation [2]_."""
    n = both + first_only + second_only + neither
    of_first, of_second = both + first_only, both + second_only
    p_first, p_second = of_first / n, of_second / n
    first, second = wilson(of_first, n, confidence), wilson(of_second, n, confidence)
    phi = _phi(both, first_only, second_only, neither)

    def apart(one: float, other: float) -> float:
        return sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))

    difference = p_first - p_second
    low = difference - apart(p_first - first[0], second[1] - p_second)
    high = difference + apart(first[1] - p_first, p_second - second[0])
    return low, high


def _upper(b: Floats, c: Floats, n: int | NDArray[Any], confidence: float) -> Floats:
    """Upper limits of (b - c)/n: where the score statistic falls to -z, by halving."""
    import numpy as np

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = (b - c) / n, np.ones_like(b)
    for _halving in range(HALVINGS):
        delta = (low + high) / 2
        inside = b - c - n * delta >= -z * np.sqrt(_variance(delta, b, c, n))
        low, high = np.where(inside, delta, low), np.where(inside, high, delta)
    return np.asarray((low + high) / 2)


def _variance(delta: Floats, b: Floats, c: Floats, n: int | NDArray[Any]) -> Floats:
    """Of b - c where the true difference is delta; the share of "second only" is its likeliest value there."""
    import numpy as np

    linear = (2 * n - b + c) * delta - b - c
    root = np.sqrt(np.maximum(0.0, linear**2 + 8 * n * c * delta * (1 - delta)))
    second_only = (root - linear) / (4 * n)
    return np.asarray(np.maximum(0.0, n * (2 * second_only + delta * (1 - delta))))


def _phi(both: int, first_only: int, second_only: int, neither: int) -> float:
    """Correlation with the correction of Newcombe; 0 where a margin is empty."""
    n = both + first_only + second_only + neither
    margins = (both + first_only) * (second_only + neither) * (both + second_only) * (first_only + neither)
    above = float(both * neither - first_only * second_only)
    if above > 0:
        above = max(0.0, above - n / 2)
    return above / sqrt(margins) if margins else 0.0
