"""What a study of a given size can show, before anybody has read. Planning figures, not results.

A model is compared with the mean of the readers: the variances are those of the differences model minus reader. They
follow from shares that people can judge: how often two raters are not both right or both wrong, and how far readers
differ in accuracy.

References
----------
.. [1] R. J. Connor, Biometrics 43 (1987) 207-211.
.. [2] J. L. Fleiss, J. Cohen, B. S. Everitt, Psychol. Bull. 72 (1969) 323-327.
.. [3] S. L. Hillis, N. A. Obuchowski, K. S. Berbaum, Acad. Radiol. 18 (2011) 129-142.
.. [4] S. L. Hillis, Stat. Med. 26 (2007) 596-619.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotation.statistics.kernels.comparing import Mover

ALPHA = 0.05
POWER = 0.80
RANDOM_BOTH = "random_readers_random_questions"
FIXED_READERS = "fixed_readers_random_questions"
FIXED_QUESTIONS = "random_readers_fixed_questions"
LEAST_READERS, MOST_READERS = 2, 100  # among which the number that is needed is sought
LEAST_CASES, MOST_CASES = 10, 10_000
ROUNDING = 1e-12
Values = NDArray[np.float64]


def expected_width(p: float, n: int, confidence: float = 0.95) -> float:
    """Mean width of Wilson's interval over Bin(n, p): what a rater of true accuracy p can expect."""
    k = np.arange(n + 1)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = k / n
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    width = np.minimum(1.0, centre + half) - np.maximum(0.0, centre - half)
    return float(_binomial(n, p) @ width)


def _binomial(n: int, p: float) -> NDArray[np.float64]:
    """P(X = k) for k = 0..n."""
    if p in (0.0, 1.0):
        return np.array([float(k == n * p) for k in range(n + 1)])
    terms = [
        lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log(1 - p) for k in range(n + 1)
    ]
    return np.array([exp(term) for term in terms])


def mcnemar_questions(p_first_only: float, p_second_only: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Questions that McNemar's test needs [1]_, not rounded; ``ceil`` gives the number. Infinite without a difference.

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
    """The smallest difference of two accuracies that McNemar's test finds in n questions with this power [1]_.

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


def kappa_half_width(
    first: float, second: float, discordant: float, n: int, n_options: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Cohen's kappa of two raters, and half the width of its interval [2]_ on n questions.

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


@dataclass(frozen=True)
class Components:
    """Variances of the differences model minus reader: between readers, between questions, the rest."""

    reader: float
    case: float
    reader_case: float


@dataclass(frozen=True)
class ReaderPower:
    """Standard error of the mean difference, degrees of freedom, and the power of the two-sided t test."""

    se: float
    df: float
    power: float


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Who reads how much.

    ``inverse_readers``: mean over the questions of one over the readers of a question; None: every reader reads all.
    ``design_effect``: of questions that share patients or exams, on the variance between questions.
    """

    readers: int
    cases: int
    inverse_readers: float | None = None
    design_effect: float = 1.0


def components(
    *, discordant_model_reader: float, discordant_readers: float, delta: float, sd_reader: float
) -> Components | None:
    """The variances that follow; None where the assumptions contradict each other.

    Parameters
    ----------
    discordant_model_reader, discordant_readers : float
        Share of questions on which model and reader, or two readers, are not both right or both wrong.
    delta : float
        True difference, model minus the mean of the readers.
    sd_reader : float
        Standard deviation between the accuracies of readers.
    """
    of_reader = sd_reader**2
    of_case = discordant_model_reader - discordant_readers / 2 - delta**2
    rest = discordant_readers / 2 - of_reader
    if min(of_case, rest) < -ROUNDING or discordant_model_reader < abs(delta) - ROUNDING:
        return None
    return Components(of_reader, max(of_case, 0.0), max(rest, 0.0))


def standard_error(found: Components, reading: Reading, inference: str = RANDOM_BOTH) -> tuple[float, float]:
    """Expected error of the mean difference and its degrees of freedom."""
    se, df = _errors(found, reading.readers, reading.cases, _inverse(reading), reading.design_effect, inference)
    return float(se), float(df)


def half_width(se: float, df: float, alpha: float = ALPHA) -> float:
    """Half the expected width of the t interval."""
    from scipy.special import stdtrit  # here, since every start of the program would wait for it

    return float(stdtrit(df, 1 - alpha / 2)) * se


def half_width_by_mover(found: Components, reading: Reading, alpha: float = ALPHA) -> float:
    """Half the expected width of MOVER's interval, which is that of few random readers; questions are random, too."""
    (of_readers, _df), (of_both, _df_of_both) = (
        standard_error(found, reading, inference) for inference in (FIXED_QUESTIONS, RANDOM_BOTH)
    )
    return Mover(0.0, of_readers**2, of_both**2 - of_readers**2, reading.readers).half(alpha / 2)


def reader_vs_model_power(
    found: Components, reading: Reading, *, delta: float, alpha: float = ALPHA, inference: str = RANDOM_BOTH
) -> ReaderPower:
    """Power to tell a model from the mean of the readers [3]_ at this true difference, by the inference that is named.

    Raises ValueError for fewer than two readers (one, where readers are fixed) or two cases, and where nothing varies.
    Where readers do not differ at all the degrees of freedom are infinite.
    """
    if reading.readers < (1 if inference == FIXED_READERS else LEAST_READERS) or reading.cases < 2:
        raise ValueError("a population is judged from two or more")
    if found.reader + found.case + found.reader_case <= 0:
        raise ValueError("nothing varies: there is nothing to plan for")
    se, df = standard_error(found, reading, inference)
    return ReaderPower(se, df, float(_two_sided(se, df, delta, alpha)))


def power_at_margin(se: float, df: float, difference: float, margin: float, alpha: float = ALPHA) -> float:
    """Power to show that the model is not worse than readers by the margin, at this true difference."""
    from scipy.special import stdtrit

    return float(_beyond(float(stdtrit(df, 1 - alpha / 2)), df, (difference + margin) / se))


def readers_needed(
    found: Components,
    reading: Reading,
    *,
    delta: float,
    target: float = POWER,
    inverse_of: Callable[[int], float | None] = lambda readers: 1 / readers,
    inference: str = RANDOM_BOTH,
) -> int | None:
    """The smallest number of readers with this power for these cases, from 2 to 100; None where none has.

    ``inverse_of``: ``Reading.inverse_readers`` for a number of readers, None where it cannot be that number.
    """
    inverse = {number: inverse_of(number) for number in range(LEAST_READERS, MOST_READERS + 1)}
    numbers = np.array([number for number, share in inverse.items() if share is not None], float)
    shares = np.array([share for share in inverse.values() if share is not None], float)
    se, df = _errors(found, numbers, reading.cases, shares, reading.design_effect, inference)
    return _first(numbers, _two_sided(se, df, delta, ALPHA), target)


@lru_cache(maxsize=100)  # 40 ms, and the page of a draft asks the same again with every change
def cases_needed(
    found: Components, reading: Reading, *, delta: float, target: float = POWER, inference: str = RANDOM_BOTH
) -> tuple[int | None, float]:
    """The smallest number of cases with this power for these readers, from 10 to 10,000, and the most power of them.

    All are tried, since power is not monotone in cases where readers are few. Sets keep their shares of the cases.
    """
    numbers = np.arange(LEAST_CASES, MOST_CASES + 1, dtype=float)
    se, df = _errors(found, reading.readers, numbers, _inverse(reading), reading.design_effect, inference)
    powers = _two_sided(se, df, delta, ALPHA)
    return _first(numbers, powers, target), float(powers.max())


def _inverse(reading: Reading) -> float:
    return 1 / reading.readers if reading.inverse_readers is None else reading.inverse_readers


def _errors(
    found: Components,
    readers: ArrayLike,
    cases: ArrayLike,
    inverse_readers: ArrayLike,
    design_effect: float,
    inference: str,
) -> tuple[Values, Values]:
    """Standard errors and degrees of freedom [4]_, as the analysis will estimate them.

    Each question counts once, so that the part of readers with questions is divided by the cases and by the mean of one
    over the readers of a question. Readers that are fixed differ only where they do not all read the same.
    """
    j, k, inverse = (np.asarray(each, float) for each in (readers, cases, inverse_readers))
    rest = design_effect * found.reader_case * inverse / k
    by_reader = found.reader / j + rest
    by_case = design_effect * found.case / k
    if inference == FIXED_READERS:
        apart = design_effect * found.reader * np.maximum(inverse - 1 / j, 0.0) / k
        variance = by_case + rest + apart
        return np.sqrt(variance), np.broadcast_to(k - 1, variance.shape)
    if inference == FIXED_QUESTIONS:
        return np.sqrt(by_reader), np.broadcast_to(j - 1, by_reader.shape)
    variance = by_reader + by_case
    with np.errstate(divide="ignore"):
        df = variance**2 / (by_reader**2 / (j - 1))
    return np.sqrt(variance), df


def _two_sided(se: ArrayLike, df: ArrayLike, delta: float, alpha: float) -> Values:
    """Power of the two-sided t test: both tails of the non-central t."""
    from scipy.special import stdtrit

    freedom, shift = np.asarray(df, float), abs(delta) / np.asarray(se, float)
    critical = np.asarray(stdtrit(freedom, 1 - alpha / 2), float)
    return _beyond(critical, freedom, shift) + _beyond(critical, freedom, -shift)


def _beyond(critical: ArrayLike, df: ArrayLike, shift: ArrayLike) -> Values:
    """P(T > critical) of a non-central t; infinite degrees of freedom are the normal law.

    scipy gives nan where the share is too small for it to tell from 0 or 1.
    """
    from scipy.special import nctdtr

    below = np.asarray(nctdtr(np.asarray(df, float), np.asarray(shift, float), np.asarray(critical, float)), float)
    return 1 - np.where(np.isnan(below), np.asarray(shift) < critical, below)


def _first(numbers: Values, powers: Values, target: float) -> int | None:
    reached = np.flatnonzero(powers >= target)
    return int(numbers[reached[0]]) if len(reached) else None
