"""What a study of a given size can show, before anybody has read. Planning figures, not results.

References
----------
.. [1] E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209-212.
.. [2] R. J. Connor, Biometrics 43 (1987) 207-211.
.. [3] J. L. Fleiss, J. Cohen, B. S. Everitt, Psychol. Bull. 72 (1969) 323-327.
"""

from __future__ import annotations

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


def kappa_half_width(
    first: float, second: float, discordant: float, n: int, n_options: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Cohen's kappa of two raters, and half the width of its interval [3]_ on n questions.

    Where both are wrong they err evenly, and the options are keys equally often; then expected agreement is one over
    the number of options, and the error is sqrt(po (1 - po) / n) / (1 - pe).

    Parameters
    ----------
    first, second : float
        Accuracies of the two.
    discordant : float
        Share of questions on which they are not both right or both wrong.

    None where no two raters of these accuracies can differ on so many questions, or so few.
    """
    both_right, both_wrong = (first + second - discordant) / 2, 1 - (first + second + discordant) / 2
    if n < 1 or discordant < abs(first - second) - 1e-12 or min(both_right, both_wrong) < -1e-12:
        return None
    chance = 1 / n_options
    agreed = min(1.0, max(0.0, both_right) + max(0.0, both_wrong) / (n_options - 1))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return (agreed - chance) / (1 - chance), z * sqrt(agreed * (1 - agreed) / n) / (1 - chance)


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
