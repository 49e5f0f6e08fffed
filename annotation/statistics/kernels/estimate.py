"""A number never travels alone: it carries its interval, its n and how it was made."""

from __future__ import annotations

from dataclasses import dataclass

# Reasons for a missing value, and flags that leave it as it is.
ZERO_TRIALS = "zero_trials"
STRATUM_TOO_SMALL = "stratum_too_small"
SMALL_N = "small_n"
FEW_CLUSTERS = "few_clusters"
NO_VARIATION = "no_variation"
STRATA_MERGED = "strata_merged"


@dataclass(frozen=True)
class Estimate:
    """A value with its interval.

    Parameters
    ----------
    value : float or None
        None when it is not defined; ``reason`` then says why.
    interval : (low, high) or None
        95 %, made by ``method``.
    n : int
        What the value was computed over.
    count : int or None
        For a share: how many of the n.
    seed : int or None
        Where the interval was resampled.
    flags : tuple of str
        Cautions that do not change the value, such as ``small_n``.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int
    method: str
    count: int | None = None
    seed: int | None = None
    flags: tuple[str, ...] = ()
    reason: str = ""

    @property
    def low(self) -> float | None:
        return self.interval[0] if self.interval else None

    @property
    def high(self) -> float | None:
        return self.interval[1] if self.interval else None


def undefined(reason: str, *, n: int, method: str) -> Estimate:
    return Estimate(None, None, n, method, reason=reason)
