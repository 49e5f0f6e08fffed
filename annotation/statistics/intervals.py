"""Shares with their 95 % intervals: of questions, of questions that share exams, and weighted to the mix of a bank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from annotation.statistics.estimate import FEW_CLUSTERS, SMALL_N, STRATUM_TOO_SMALL, ZERO_TRIALS, Estimate, undefined

Z95 = 1.959963984540054
FEWEST_CLUSTERS = 10
FEWEST_TRIALS = 10  # below this a share is flagged


def wilson(k: float, n: float) -> tuple[float, float]:
    """Score interval of a share of k in n [1]_; n is above 0 and need not be whole (an effective size).

    References
    ----------
    .. [1] E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209-212.
    """
    p = k / n
    z2 = Z95 * Z95
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n))
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
    """Share of ones over all clusters, with a cluster-robust standard error.

    Parameters
    ----------
    clusters : sequence of sequences of 0 and 1
        The trials of each cluster (of each exam or patient); none of them empty.

    Returns
    -------
    ClusteredShare, or None without any trial. SE = sqrt(m/(m-1) sum e_g^2)/n with e_g the sum of y - p in cluster g
    of m; the interval is p +- t(m-1) SE, clipped; at p = 0 or 1 Wilson's with n replaced by m. Fewer than 10
    clusters: no interval.
    """
    n, m = sum(len(cluster) for cluster in clusters), len(clusters)
    if n == 0:
        return None
    k = sum(sum(cluster) for cluster in clusters)
    p = k / n
    if k in (0, n):
        interval = wilson(p * m, m) if m >= FEWEST_CLUSTERS else None
        error, effect = 0.0, None
    elif m < 2:
        interval, error, effect = None, float("nan"), None
    else:
        residuals = np.array([sum(cluster) - p * len(cluster) for cluster in clusters])
        error = sqrt(m / (m - 1) * float(residuals @ residuals)) / n
        effect = error**2 / (p * (1 - p) / n)
        from scipy.special import stdtrit  # here, since every start of the program would wait for it

        half = float(stdtrit(m - 1, 0.975)) * error
        interval = (max(0.0, p - half), min(1.0, p + half)) if m >= FEWEST_CLUSTERS else None
    flags = () if m >= FEWEST_CLUSTERS else (FEW_CLUSTERS,)
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
    p_h = np.array([one.k for one in present], dtype=float) / looked
    weights = size / size.sum()
    p = min(1.0, max(0.0, float(weights @ p_h)))
    variance = float(np.sum(weights**2 * p_h * (1 - p_h) / (looked - 1) * (1 - looked / size)))
    n_effective = p * (1 - p) / variance if variance > 0 else float(n)
    return Estimate(p, wilson(p * n_effective, n_effective), n, "bank_mix_wilson")
