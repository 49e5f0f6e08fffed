"""Intervals of the difference of two proportions of the same questions.

References
----------
.. [1] T. Tango, Stat. Med. 17 (1998) 891-908.
.. [2] R. G. Newcombe, Stat. Med. 17 (1998) 2635-2650, method 10.
.. [3] M. W. Fagerland, S. Lydersen, P. Laake, BMC Med. Res. Methodol. 13 (2013) 91.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.estimate import Interval
from annotation.statistics.kernels.intervals import wilson

HALVINGS = 54  # of an interval at most 2 wide: beyond what a float can tell apart

Floats = NDArray[np.float64]


def tango(first_only: int, second_only: int, n: int, confidence: float = 0.95) -> Interval:
    """Score interval [1]_ of (first only - second only)/n, n above 0; within [-1, 1]."""
    low, high = tango_limits(np.array([first_only]), np.array([second_only]), n, confidence)
    return float(low[0]), float(high[0])


def tango_limits(
    first_only: NDArray[Any], second_only: NDArray[Any], n: int | NDArray[Any], confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """The same of many tables at once, of n questions each: lower and upper limits, of the shape of ``first_only``."""
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
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = (b - c) / n, np.ones_like(b)
    for _halving in range(HALVINGS):
        delta = (low + high) / 2
        inside = b - c - n * delta >= -z * np.sqrt(_variance(delta, b, c, n))
        low, high = np.where(inside, delta, low), np.where(inside, high, delta)
    return np.asarray((low + high) / 2)


def _variance(delta: Floats, b: Floats, c: Floats, n: int | NDArray[Any]) -> Floats:
    """Of b - c where the true difference is delta; the share of "second only" is its likeliest value there."""
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
