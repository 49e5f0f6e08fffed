"""Shares with their 95 % intervals: of questions, of questions that share exams, and weighted to the mix of a bank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.estimate import (
    FEW_CLUSTERS,
    NO_VARIATION,
    SMALL_N,
    STRATUM_TOO_SMALL,
    ZERO_TRIALS,
    Estimate,
    undefined,
)

Z95 = 1.959963984540054
FEWEST_CLUSTERS = 10
FEWEST_TRIALS = 10  # below this a share is flagged


def wilson(k: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Score interval of a share of k in n [1]_; n is above 0 and need not be whole (an effective size).

    References
    ----------
    .. [1] E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209-212.
    """
    p = k / n
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    z2 = z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    low = 0.0 if k <= 0 else max(0.0, centre - half)
    high = 1.0 if k >= n else min(1.0, centre + half)
    return low, high


def share(k: int, n: int) -> Estimate:
    """k of n with Wilson's interval. Undefined for n = 0; flagged ``small_n`` below 10."""
    if n == 0:
        return undefined(ZERO_TRIALS, n=0, method="wilson")
    flags = (SMALL_N,) if n < FEWEST_TRIALS else ()
    return Estimate(k / n, wilson(k, n), n, "wilson", count=k, flags=flags)


@dataclass(frozen=True)
class ClusteredShare:
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
    of m; the interval is p +- t(m-1) SE, clipped; at p = 0 or 1 Wilson's with n replaced by m. Fewer than 10
    clusters: no interval; neither where clusters do not differ at all, flag ``no_variation``. One cluster: no standard
    error (NaN).
    """
    k, n, m = int(successes.sum()), int(trials.sum()), len(trials)
    if m == 0:
        return None
    p = k / n
    flags: tuple[str, ...] = () if m >= FEWEST_CLUSTERS else (FEW_CLUSTERS,)
    if k in (0, n):
        interval = wilson(p * m, m) if m >= FEWEST_CLUSTERS else None
        error, effect = 0.0, None
    elif m < 2:
        interval, error, effect = None, float("nan"), None
    else:
        residuals = (n * successes - k * trials).astype(
            float
        )  # n times them: 0, not 1e-17, where clusters do not differ
        error = sqrt(m / (m - 1) * float(residuals @ residuals)) / n**2
        effect = error**2 / (p * (1 - p) / n)
        from scipy.special import stdtrit  # here, since every start of the program would wait for it

        half = float(stdtrit(m - 1, 0.975)) * error
        flags = flags if error else (*flags, NO_VARIATION)
        interval = None if flags else (max(0.0, p - half), min(1.0, p + half))
    return ClusteredShare(Estimate(p, interval, n, "cluster_t", count=k, flags=flags), error, effect, m)


@dataclass(frozen=True)
class StratumCount:
    """One stratum of the draw: its size in the bank, and of the questions looked at, how many have the property."""

    n_frame: int
    n: int
    k: int


def bank_mix_share(strata: Mapping[str, StratumCount]) -> Estimate:
    """Share as it would be in the bank: strata weighted by their size in the bank.

    Value sum W_h k_h/n_h, variance sum W_h^2 p_h(1-p_h)/(n_h-1) (1 - n_h/N_h), interval Wilson's with
    n_eff = p(1-p)/variance. Undefined, ``stratum_too_small``, when fewer than 2 questions of a stratum were looked at.
    Where no stratum varies the variance says nothing: n_eff is then the number of questions looked at.
    """
    present = [one for one in strata.values() if one.n_frame > 0]
    n = sum(one.n for one in present)
    if not present or n == 0:
        return undefined(ZERO_TRIALS, n=n, method="bank_mix_wilson")
    if any(one.n < 2 for one in present):
        return undefined(STRATUM_TOO_SMALL, n=n, method="bank_mix_wilson")
    size = np.array([one.n_frame for one in present], dtype=float)
    looked = np.array([one.n for one in present], dtype=float)
    k = np.array([one.k for one in present], dtype=float)
    p, interval = weighted_share(size / size.sum(), k, looked, 1 - looked / size)
    return Estimate(p, interval, n, "bank_mix_wilson")


def weighted_share(
    weights: NDArray[np.floating], successes: NDArray[Any], trials: NDArray[Any], unseen: NDArray[np.floating]
) -> tuple[float, tuple[float, float]]:
    """Mean of the shares of strata, and Wilson's interval with the effective number of trials.

    Parameters
    ----------
    weights : float array, shape (strata,), adding up to 1
    successes, trials : arrays, shape (strata,); two trials or more in each
    unseen : float array, shape (strata,)
        The share of each stratum that was not looked at: 1 of an endless one.
    """
    p_h = successes / trials
    p = min(1.0, max(0.0, float(weights @ p_h)))
    variance = float(np.sum(weights**2 * p_h * (1 - p_h) / (trials - 1) * unseen))
    n_effective = p * (1 - p) / variance if variance > 0 else float(trials.sum())
    return p, wilson(p * n_effective, n_effective)
