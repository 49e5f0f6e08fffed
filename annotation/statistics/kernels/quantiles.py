"""The median with an interval that asks nothing of the shape of the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma, log
from statistics import median

from annotation.statistics.kernels.estimate import ZERO_TRIALS, Estimate, undefined

METHOD = "median, order statistics"


def median_estimate(values: Sequence[float]) -> Estimate:
    """Median with the exact interval from order statistics, of at least 95 % [1]_.

    Undefined without values; without an interval below 6 values, where none of that level exists.

    References
    ----------
    .. [1] W. J. Conover, Practical Nonparametric Statistics, 3rd ed. (1999), section 3.2.
    """
    n = len(values)
    if n == 0:
        return undefined(ZERO_TRIALS, n=0, method=METHOD)
    ordered = sorted(values)
    k = _rank(n)
    return Estimate(median(ordered), (ordered[k - 1], ordered[n - k]) if k else None, n, METHOD)


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
