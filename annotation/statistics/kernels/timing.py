"""Times per question: quartiles, geometric means, what varies between readers and questions, learning and fatigue.

Times are positive seconds of answered and declined questions (``active_ms`` / 1000); who may enter is decided before.
A censored time ended at a limit, and is at least that long: it is ordered at the limit, and what needs its
exact length is computed over the others. Logarithms are natural; nothing is trimmed unless stated.

References
----------
.. [1] R. J. Hyndman, Y. Fan, Am. Stat. 50 (1996) 361-365 (type 7).
.. [2] J. W. Tukey, Exploratory Data Analysis (1977) (the outer fence Q3 + 3 IQR).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, expm1, sqrt

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.estimate import (
    CENSORED,
    NO_VARIATION,
    TOO_FEW,
    ZERO_TRIALS,
    Estimate,
    Interval,
    undefined,
)
from annotation.statistics.kernels.multireader import mean_squares

FEWEST_FOR_SLOPE = 10  # times

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


AT = {"p5": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "p95": 0.95}


@dataclass(frozen=True)
class Quartiles:
    """Of n times, with 5th and 95th percentile, in their unit; None where a censored time is at or before it."""

    p5: float | None
    q1: float | None
    median: float | None
    q3: float | None
    p95: float | None
    n: int
    n_censored: int


def quartiles(seconds: Floats, censored: Mask | None = None) -> Quartiles | None:
    """Quartiles and percentiles of type 7 [1]_, linear between order statistics; None without times.

    ``seconds``, ``censored``: shape (n,). A censored time sorts after equal uncensored ones. A quartile is known where
    no time up to the last one that it is made from is censored.
    """
    n = len(seconds)
    if not n:
        return None
    censored = np.zeros(n, dtype=np.bool_) if censored is None else censored
    in_order = censored[np.lexsort((censored, seconds))]
    n_known = int(np.argmax(in_order)) if in_order.any() else n  # times before the first censored one
    values = zip(np.quantile(seconds, list(AT.values())).tolist(), AT.items(), strict=True)
    known = {name: value if ceil((n - 1) * at) < n_known else None for value, (name, at) in values}
    return Quartiles(**known, n=n, n_censored=int(censored.sum()))


def geometric_mean(seconds: Floats, n_censored: int = 0) -> Estimate:
    """exp of the mean log, with the t interval of that mean. Undefined without times; no interval for a single one.

    Undefined, ``censored``, where one of the times is. Raises ValueError for a time that is not above 0.
    """
    logs = logarithms(seconds)
    n = len(logs)
    if n == 0 or n_censored:
        return undefined(CENSORED if n else ZERO_TRIALS, n=n, method="t_on_logs")
    mean = float(logs.mean())
    if n == 1:
        return Estimate(exp(mean), None, n, "t_on_logs")
    half = _t(n - 1) * float(logs.std(ddof=1)) / sqrt(n)
    return Estimate(exp(mean), (exp(mean - half), exp(mean + half)), n, "t_on_logs")


def winsorised(seconds: Floats) -> Floats:
    """The times with those beyond Q3 + 3 IQR of the logs [2]_ set to that fence: for a sensitivity line only."""
    if not len(seconds):
        return seconds
    logs = logarithms(seconds)
    q1, q3 = np.percentile(logs, [25, 75])
    return np.asarray(np.minimum(seconds, np.exp(q3 + 3 * (q3 - q1))))


@dataclass(frozen=True)
class VarianceComponents:
    """Variances of log seconds between readers, between questions, and the rest, on questions with all times."""

    reader: float
    question: float
    residual: float
    n_readers: int
    n_questions: int


def log_time_variance_components(seconds: Floats) -> VarianceComponents | None:
    """Balanced two-way analysis of variance of the logs, negative components set to 0.

    ``seconds``: shape (readers, questions), NaN: no time; questions without all times are left out. None below two
    readers or two such questions.
    """
    complete = seconds[:, ~np.isnan(seconds).any(axis=0)]
    squares = mean_squares(logarithms(complete))
    if squares is None:
        return None
    readers, questions = complete.shape
    return VarianceComponents(
        reader=max((squares.rows - squares.rest) / questions, 0.0),
        question=max((squares.columns - squares.rest) / readers, 0.0),
        residual=squares.rest,
        n_readers=readers,
        n_questions=questions,
    )


def log_slope_per_position(seconds: Floats, position: NDArray[np.integer], n_censored: int = 0) -> Estimate:
    """Slope of log seconds on the position at which a question was shown, by least squares, with its t interval.

    Shapes (n,), without the ``n_censored`` censored times. Undefined, ``too_few``, below ten times; ``censored`` where
    more than a tenth of all was; ``no_variation`` where all have one position.
    """
    logs, place = logarithms(seconds), position - position.mean() if len(position) else position.astype(float)
    n, spread = len(logs), float(place @ place)
    reason = _why_no_slope(n, n_censored) or (NO_VARIATION if spread == 0 else None)
    if reason:
        return undefined(reason, n=n, method="least_squares_t")
    slope = float(place @ logs) / spread
    rest = logs - logs.mean() - slope * place
    half = _t(n - 2) * sqrt(float(rest @ rest) / (n - 2) / spread)
    return Estimate(slope, (slope - half, slope + half), n, "least_squares_t", censored_flag(n_censored))


def is_too_censored(n: int, n_censored: int) -> bool:
    """Whether more than a tenth of the times are censored: the other n then no longer represent all."""
    return 10 * n_censored > n + n_censored


def censored_flag(n_censored: int) -> tuple[str, ...]:
    return (CENSORED,) if n_censored else ()


def _why_no_slope(n: int, n_censored: int) -> str | None:
    if n < FEWEST_FOR_SLOPE:
        return TOO_FEW
    return CENSORED if is_too_censored(n, n_censored) else None


def percent_per_ten(slope: Estimate) -> Estimate:
    """A slope of log seconds as percent change over ten questions: 100 (exp(10 slope) - 1)."""
    if slope.value is None:
        return slope
    interval: Interval | None = None
    if slope.ci95 is not None:
        interval = 100 * expm1(10 * slope.ci95[0]), 100 * expm1(10 * slope.ci95[1])
    return Estimate(100 * expm1(10 * slope.value), interval, slope.n, slope.method, slope.flags)


@dataclass(frozen=True)
class AdjustedSlope:
    """The pooled slope with its t interval, its standard error and degrees of freedom."""

    slope: Estimate
    se: float | None
    df: int


def pooled_log_slope_adjusted(seconds: Floats, position: NDArray[np.number], n_censored: int = 0) -> AdjustedSlope:
    """Slope of log seconds on position with reader and question as fixed factors, over all readers.

    Parameters
    ----------
    seconds, position : array, shape (readers, questions)
        NaN in ``seconds``: no time, or one of the ``n_censored`` censored ones.

    Returns
    -------
    The coefficient of position of the ordinary regression of log seconds on reader, question and position. Questions
    are taken out by their means, which is the same and needs no column for each of them. Undefined as the slope of one
    reader, and ``no_variation`` where position says nothing beyond reader and question or no degree of freedom is left.
    """
    reader, question = np.nonzero(~np.isnan(seconds))
    n, readers = len(reader), len(seconds)
    logs = logarithms(seconds[reader, question])
    dummies = (reader[:, np.newaxis] == np.arange(1, readers)).astype(float)
    columns = np.column_stack([logs, position[reader, question], dummies])
    within, n_questions = _within(columns, question)
    target, place, others = within[:, 0], within[:, 1], within[:, 2:]
    rank = int(np.linalg.matrix_rank(others)) if others.size else 0
    df = n - n_questions - rank - 1
    place, target = _residual(place, others), _residual(target, others)
    spread = float(place @ place)
    reason = _why_no_slope(n, n_censored) or (NO_VARIATION if df < 1 or spread < 1e-9 else None)
    if reason:
        return AdjustedSlope(undefined(reason, n=n, method="least_squares_t"), None, max(df, 0))
    slope = float(place @ target) / spread
    rest = target - slope * place
    se = sqrt(float(rest @ rest) / df / spread)
    half = _t(df) * se
    found = Estimate(slope, (slope - half, slope + half), n, "least_squares_t", censored_flag(n_censored))
    return AdjustedSlope(found, se, df)


def spearman_time_vs_position(seconds: Floats, position: NDArray[np.integer], n_censored: int = 0) -> Estimate:
    """Rank correlation of times and positions, ties at their mean rank; undefined where either does not vary.

    Without the ``n_censored`` censored times; undefined where they are more than a tenth of all.
    """
    n = len(seconds)
    if is_too_censored(n, n_censored):
        return undefined(CENSORED, n=n, method="spearman")
    first, second = _ranks(seconds), _ranks(position)
    first, second = first - first.mean() if n else first, second - second.mean() if n else second
    below = sqrt(float(first @ first) * float(second @ second))
    if below == 0:
        return undefined(NO_VARIATION, n=n, method="spearman")
    return Estimate(float(first @ second) / below, None, n, "spearman", censored_flag(n_censored))


def logarithms(seconds: Floats) -> Floats:
    """Natural logarithms; ValueError for a time that is not above 0."""
    if not (seconds > 0).all():
        raise ValueError("a time is above 0 seconds")
    return np.log(seconds)


def _within(columns: Floats, group: NDArray[np.integer]) -> tuple[Floats, int]:
    """The columns with the means of their groups taken off, and how many groups there are."""
    present, number = np.unique(group, return_inverse=True)
    size = np.bincount(number, minlength=len(present))
    means = np.stack(
        [np.bincount(number, column, minlength=len(present)) / np.maximum(size, 1) for column in columns.T]
    )
    return columns - means.T[number], len(present)


def _residual(values: Floats, columns: Floats) -> Floats:
    if not columns.size:
        return values
    return np.asarray(values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0])


def _ranks(values: NDArray[np.number]) -> Floats:
    _values, number, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[number], dtype=float)


def _t(df: int) -> float:
    """The 97.5 % quantile of Student's t."""
    from scipy.special import stdtrit  # here, since every start of the program would wait for it

    return float(stdtrit(df, 0.975))
