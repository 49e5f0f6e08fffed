"""What a study of a given size can show, before anybody has read. Planning figures, not results.

References
----------
.. [1] E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209-212.
.. [2] R. J. Connor, Biometrics 43 (1987) 207-211.
.. [3] S. L. Hillis, N. A. Obuchowski, K. S. Berbaum, Acad. Radiol. 18 (2011) 129-142.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.05
POWER = 0.80
MOST_QUESTIONS = 10_000_000


def wilson_half_width(p: float, n: float, confidence: float = 0.95) -> float:
    """Half the width of Wilson's interval [1]_ at the share p of n questions; not clipped."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))


def expected_width(p: float, n: int, confidence: float = 0.95) -> float:
    """Mean width of Wilson's interval over Bin(n, p): what a rater of true accuracy p can expect."""
    k = np.arange(n + 1)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = k / n
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    width = np.minimum(1.0, centre + half) - np.maximum(0.0, centre - half)
    return float(_binomial(n, p) @ width)


def wilson_questions(p: float, half_width: float, confidence: float = 0.95) -> int:
    """The smallest n whose Wilson interval at p is no wider than +- ``half_width``."""
    low, high = 0, 1
    while wilson_half_width(p, high, confidence) > half_width:
        low, high = high, high * 2
        if high > MOST_QUESTIONS:
            raise ValueError("no number of questions gives so narrow an interval")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if wilson_half_width(p, middle, confidence) <= half_width else (middle, high)
    return high


def mcnemar_questions(p_first_only: float, p_second_only: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Questions that McNemar's test needs [2]_, not rounded; ``ceil`` gives the number. Infinite without a difference.

    Parameters
    ----------
    p_first_only, p_second_only : float
        Share of questions that only the first, only the second rater has right.
    """
    discordant, difference = p_first_only + p_second_only, abs(p_first_only - p_second_only)
    if difference == 0:
        return float("inf")
    z_alpha, z_power = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    root = z_alpha * sqrt(discordant) + z_power * sqrt(max(0.0, discordant - difference**2))
    return root * root / difference**2


def smallest_difference(n: int, discordant: float, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """The smallest difference of two accuracies that McNemar's test finds in n questions with this power [2]_.

    ``discordant``: share of questions that exactly one of the two has right. None when even the largest possible
    difference, the whole of it, would not be found.
    """

    def needed(difference: float) -> float:
        return mcnemar_questions((discordant + difference) / 2, (discordant - difference) / 2, alpha, power)

    if not 0 < discordant <= 1 or needed(discordant) > n:
        return None
    low, high = 0.0, discordant
    for _step in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if needed(middle) <= n else (middle, high)
    return high


def mcnemar_exact_power(p_first_only: float, p_second_only: float, n: int, alpha: float = ALPHA) -> float:
    """Power of the exact McNemar test with n questions, by enumeration of the trinomial of (b, c, rest)."""
    discordant = p_first_only + p_second_only
    if discordant == 0:
        return 0.0
    power = 0.0
    for m, weight in enumerate(_binomial(n, discordant).tolist()):
        if m == 0 or weight < 1e-18:
            continue
        tail = np.cumsum(_binomial(m, 0.5))  # P(X <= k)
        b = np.arange(m + 1)
        rejects = np.minimum(1.0, 2 * tail[np.minimum(b, m - b)]) <= alpha
        power += weight * float(_binomial(m, p_first_only / discordant)[rejects].sum())
    return power


@dataclass(frozen=True)
class ReaderPower:
    """Standard error of the mean difference, degrees of freedom, and the power of the two-sided t test."""

    se: float
    df: float
    power: float


def reader_vs_model_power(
    *,
    var_reader: float,
    var_case: float,
    var_reader_case: float,
    readers: int,
    cases: int,
    delta: float,
    alpha: float = ALPHA,
) -> ReaderPower:
    """Power to tell a model from the mean of the readers, both taken as random [3]_.

    Parameters
    ----------
    var_reader, var_case, var_reader_case : float
        Variance components of the differences model minus reader: between readers, between questions, the rest.
    readers, cases : int
        J of at least 2, K of at least 1.
    delta : float
        The true difference.

    Raises ValueError for fewer readers, and where nothing varies at all. Where readers do not differ in any way the
    degrees of freedom are infinite.
    """
    if readers < 2 or cases < 1:
        raise ValueError("a population of readers is judged from two readers or more, and a case or more")
    if var_reader + var_case + var_reader_case <= 0:
        raise ValueError("nothing varies: there is nothing to plan for")
    from scipy.special import nctdtr, stdtrit  # here, since every start of the program would wait for it

    se = sqrt(var_reader / readers + var_case / cases + var_reader_case / (readers * cases))
    ms_reader = cases * var_reader + var_reader_case
    ms_case_over_error = readers * var_case
    df = (ms_reader + ms_case_over_error) ** 2 / (ms_reader**2 / (readers - 1)) if ms_reader > 0 else float("inf")
    shift = delta / se
    if df == float("inf"):
        normal = NormalDist()
        critical = normal.inv_cdf(1 - alpha / 2)
        return ReaderPower(se, df, normal.cdf(shift - critical) + normal.cdf(-shift - critical))
    critical = float(stdtrit(df, 1 - alpha / 2))
    power = 1 - float(nctdtr(df, shift, critical)) + float(nctdtr(df, shift, -critical))
    return ReaderPower(se, df, power)


def questions_rounded(n: float) -> int | None:
    """Whole questions; None for infinitely many."""
    return None if n == float("inf") else ceil(n)


def _binomial(n: int, p: float) -> NDArray[np.float64]:
    """P(X = k) for k = 0..n."""
    if p in (0.0, 1.0):
        return np.array([float(k == n * p) for k in range(n + 1)])
    terms = [
        lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log(1 - p) for k in range(n + 1)
    ]
    return np.array([exp(term) for term in terms])
