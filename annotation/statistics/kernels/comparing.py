"""Two raters on the same questions, several at once, and what may be claimed of them. Pure.

References
----------
.. [1] Q. McNemar, Psychometrika 12 (1947) 153-157; mid-p: M. W. Fagerland et al., BMC Med. Res. Methodol. 13 (2013) 91.
.. [2] N. A. Obuchowski, Stat. Med. 17 (1998) 1495-1507.
.. [3] W. G. Cochran, Biometrika 37 (1950) 256-266.
.. [4] S. Holm, Scand. J. Stat. 6 (1979) 65-70.
.. [5] G. Y. Zou, A. Donner, Stat. Med. 27 (2008) 1693-1702.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.estimate import (
    FEW_CLUSTERS,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    NO_WIDTH,
    ONE_RATER,
    POST_HOC,
    SMALL_N,
    ClusteredDifferenceValue,
    Estimate,
    Interval,
    TestValue,
    undefined,
)
from annotation.statistics.kernels.intervals import FEWEST_CLUSTERS, FEWEST_TRIALS, newcombe, tango, tango_limits

NONINFERIORITY_LEVEL, EQUIVALENCE_LEVEL = 0.025, 0.05  # one-sided, of the adjusted p
LEAST_TAIL, HALVINGS = 1e-60, 60  # between which and 1/2 a p is sought, and how often that is halved
QUESTION_T = "question_t"

Correct = NDArray[np.integer]


@dataclass(frozen=True)
class PairedTable:
    """Questions that count for both raters. In pairs of a model and a reader the model is the first."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def n(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither


def paired_table(first: Correct, second: Correct) -> PairedTable:
    """Of two rows of ``correct``, shape (questions,): 1 right, 0 wrong, negative not counted."""
    counted = (first >= 0) & (second >= 0)
    both, one, other, neither = np.bincount(3 - 2 * first[counted] - second[counted], minlength=4).tolist()
    return PairedTable(both, one, other, neither)


class DifferenceInterval(Enum):
    TANGO = "tango"
    NEWCOMBE = "newcombe"


def difference(table: PairedTable, interval: DifferenceInterval = DifferenceInterval.TANGO) -> Estimate:
    """Accuracy of the first minus that of the second. Undefined without a common question, flagged below 10."""
    limits = difference_limits(table, interval) if table.n else None
    return _difference(table, limits, interval)


def differences(tables: Sequence[PairedTable]) -> list[Estimate]:
    """``difference`` of many tables, with Tango's limits, which are found for all of them at once."""
    counted = [table for table in tables if table.n]
    b, c, n = (np.array([getattr(one, name) for one in counted]) for name in ("first_only", "second_only", "n"))
    low, high = tango_limits(b, c, n)
    limits = iter(zip(low.tolist(), high.tolist(), strict=True))
    return [_difference(table, next(limits) if table.n else None, DifferenceInterval.TANGO) for table in tables]


def _difference(table: PairedTable, limits: Interval | None, interval: DifferenceInterval) -> Estimate:
    if table.n == 0:
        return undefined(NO_COMMON_QUESTIONS, n=0, method=interval.value)
    flags = (SMALL_N,) if table.n < FEWEST_TRIALS else ()
    return Estimate((table.first_only - table.second_only) / table.n, limits, table.n, interval.value, flags)


def difference_limits(table: PairedTable, interval: DifferenceInterval, confidence: float = 0.95) -> Interval:
    """Limits of the difference, of 0.90 where equivalence is judged; at least one common question."""
    if interval is DifferenceInterval.TANGO:
        return tango(table.first_only, table.second_only, table.n, confidence)
    return newcombe(table.both, table.first_only, table.second_only, table.neither, confidence)


def mcnemar_exact_p(table: PairedTable) -> float:
    """Two-sided exact p [1]_: 1 without a question that only one of the two has right."""
    fewer, discordant = min(table.first_only, table.second_only), table.first_only + table.second_only
    return min(1.0, 2 * _half_binomial(fewer, discordant)[0]) if discordant else 1.0


def mcnemar_midp(table: PairedTable) -> float:
    """Mid-p [1]_: 1 by convention without a question that only one of the two has right."""
    fewer, discordant = min(table.first_only, table.second_only), table.first_only + table.second_only
    if discordant == 0:
        return 1.0
    at_most, exactly = _half_binomial(fewer, discordant)
    return 1 - exactly / 2 if 2 * fewer == discordant else 2 * at_most - exactly


@dataclass(frozen=True)
class ChiSquare:
    """A test statistic with its p value; None with a reason where it is undefined."""

    chi2: float | None
    df: int
    p: float | None
    n: int
    reason: str | None = None

    def as_json(self, method: str, flags: tuple[str, ...] = (POST_HOC,)) -> TestValue:
        """As any other value, with degrees of freedom and p; ``post_hoc`` unless the plan names the test."""
        return {
            "value": self.chi2,
            "ci95": None,
            "n": self.n,
            "method": method,
            "flags": list(flags),
            "reason": self.reason,
            "df": self.df,
            "p": self.p,
        }


def mcnemar_chi2(table: PairedTable) -> ChiSquare:
    """(b - c)^2/(b + c), without correction for continuity [1]_."""
    discordant = table.first_only + table.second_only
    if discordant == 0:
        return ChiSquare(None, 1, None, table.n, NO_VARIATION if table.n else NO_COMMON_QUESTIONS)
    return _chi_square((table.first_only - table.second_only) ** 2 / discordant, 1, table.n)


def cluster_mcnemar_chi2(first: Correct, second: Correct, cluster: NDArray[np.integer]) -> ChiSquare:
    """(m - 1)/m (sum d_g)^2 / sum d_g^2 over m clusters, d_g their question differences [2]_.

    ``first``, ``second``: rows of ``correct``; ``cluster``: exam or patient of each question; shapes (questions,).
    """
    differences, trials = _by_cluster(first, second, cluster)
    return obuchowski(differences, int(trials.sum()))


def obuchowski(differences: NDArray[np.float64], n: int) -> ChiSquare:
    """The same from the differences of clusters, and the questions that count for both."""
    squares = float(differences @ differences)
    if n == 0 or squares == 0:
        return ChiSquare(None, 1, None, n, NO_VARIATION if n else NO_COMMON_QUESTIONS)
    m = differences.size
    if m < 2:
        return ChiSquare(None, 1, None, n, FEW_CLUSTERS)
    return _chi_square((m - 1) / m * float(differences.sum()) ** 2 / squares, 1, n)


@dataclass(frozen=True)
class ClusteredDifference:
    """Difference of two accuracies where questions share exams; the error is None below two clusters."""

    difference: Estimate
    difference_cluster_se: float | None
    n_clusters: int

    def as_json(self) -> ClusteredDifferenceValue:
        return {
            **self.difference.as_json(),
            "difference_cluster_se": self.difference_cluster_se,
            "n_clusters": self.n_clusters,
        }


def clustered_difference(first: Correct, second: Correct, cluster: NDArray[np.integer]) -> ClusteredDifference:
    """The cluster-robust error of accuracy, of first minus second: d +- t(m-1) SE, clipped to [-1, 1].

    Arguments as for ``cluster_mcnemar_chi2``. Fewer than 10 clusters: no interval; neither where clusters do not differ
    at all, flag ``no_variation``.
    """
    return cluster_robust(*_by_cluster(first, second, cluster))


def cluster_robust(differences: NDArray[np.float64], trials: NDArray[np.int64]) -> ClusteredDifference:
    """The same from the differences of clusters, and the questions of each that count for both: one or more."""
    n, m = int(trials.sum()), trials.size
    if n == 0:
        return ClusteredDifference(undefined(NO_COMMON_QUESTIONS, n=0, method="cluster_t"), None, 0)
    value = float(differences.sum()) / n
    residuals = n * differences - differences.sum() * trials  # n times them: whole, and 0 where clusters do not differ
    error = sqrt(m / (m - 1) * float(residuals @ residuals)) / n**2 if m > 1 else None
    limits, flags = None, () if m >= FEWEST_CLUSTERS else (FEW_CLUSTERS,)
    if error == 0:
        flags = (*flags, NO_VARIATION)
    if error is not None and not flags:
        from scipy.special import stdtrit  # here, since every start of the program would wait for it

        half = float(stdtrit(m - 1, 0.975)) * error
        limits = (max(-1.0, value - half), min(1.0, value + half))
    return ClusteredDifference(Estimate(value, limits, n, "cluster_t", flags), error, m)


def share_difference(
    shares: NDArray[np.float64], correct: Correct, cluster: NDArray[np.integer] | None = None
) -> Estimate:
    """Mean of shares of right runs minus an accuracy, by the same rule over clusters, or over questions without them.

    ``shares``: shape (questions,), negative: not counted. Fewer than 10 questions or clusters: no interval.
    """
    unit = np.arange(len(correct)) if cluster is None else cluster
    method, few = (QUESTION_T, SMALL_N) if cluster is None else ("cluster_t", FEW_CLUSTERS)
    differences, trials = _by_cluster(shares, correct, unit)
    n, m = int(trials.sum()), trials.size
    if n == 0:
        return undefined(NO_COMMON_QUESTIONS, n=0, method=method)
    value = float(differences.sum()) / n
    residuals = differences - value * trials
    error = sqrt(m / (m - 1) * float(residuals @ residuals)) / n if m > 1 else 0.0
    flags = [] if m >= FEWEST_CLUSTERS else [few]
    if error < NO_WIDTH:
        flags.append(NO_VARIATION)
    if flags:
        return Estimate(value, None, n, method, tuple(flags))
    from scipy.special import stdtrit

    half = float(stdtrit(m - 1, 0.975)) * error
    return Estimate(value, (max(-1.0, value - half), min(1.0, value + half)), n, method)


def cochran_q(correct: Correct) -> ChiSquare:
    """Whether more than two raters differ at all [3]_, over questions that count for all of them.

    ``correct``: int array, shape (raters, questions).
    """
    complete = correct[:, (correct >= 0).all(axis=0)].astype(np.int64)
    raters, n = complete.shape
    if raters < 2 or n == 0:
        return ChiSquare(None, max(0, raters - 1), None, n, ONE_RATER if raters < 2 else NO_COMMON_QUESTIONS)
    of_rater, of_question = complete.sum(axis=1), complete.sum(axis=0)
    below = int((of_question * (raters - of_question)).sum())
    if below == 0:
        return ChiSquare(None, raters - 1, None, n, NO_VARIATION)
    above = (raters - 1) * (raters * int(of_rater @ of_rater) - int(of_rater.sum()) ** 2)
    return _chi_square(above / below, raters - 1, n)


def holm_adjusted(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment [4]_ within one family. None is no member of it and stays None."""
    members = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(members):
        highest = max(highest, min(1.0, (len(members) - rank) * p))
        adjusted[place] = highest
    return adjusted


def is_superior(ci95: Sequence[float]) -> bool:
    """The lower limit of the two-sided 95 % interval is above 0."""
    return ci95[0] > 0


def t_test_p(difference: float, se: float, df: float) -> float:
    """Two-sided p of a difference of 0."""
    from scipy.special import stdtr  # here, since every start of the program would wait for it

    return 2 * float(stdtr(df, -abs(difference) / se))


def noninferiority_p(difference: float, se: float, df: float, margin: float) -> float:
    """One-sided p of a difference of minus the margin or less; the margin was fixed before unblinding."""
    from scipy.special import stdtr

    return float(stdtr(df, -(difference + _checked(margin)) / se))


def is_non_inferior(p_holm: float) -> bool:
    """By ``noninferiority_p``, adjusted over the planned models; of one model as its 95 % interval says."""
    return p_holm <= NONINFERIORITY_LEVEL


def equivalence_p(difference: float, se: float, df: float, margin: float) -> float:
    """The larger one-sided p of a difference at or beyond the margin, to either side."""
    return max(noninferiority_p(one, se, df, margin) for one in (difference, -difference))


def is_equivalent(p_holm: float) -> bool:
    """By the p of equivalence, adjusted over the planned models; of one model as its 90 % interval says."""
    return p_holm <= EQUIVALENCE_LEVEL


@dataclass(frozen=True)
class Mover:
    """Other readers and other questions by a quantile of its own for each part of the variance [5]_: for few readers.

    ``reader_part`` (A) is above 0; ``case_part`` (B) counts as 0 below it. A tail of alpha has the half-width
    sqrt(t(J-1)^2 A + z^2 B), and p is the tail whose limit meets what is tested.
    """

    difference: float
    reader_part: float
    case_part: float
    n_readers: int

    def half(self, tail: float) -> float:
        from scipy.special import ndtri, stdtrit

        t, z = float(stdtrit(self.n_readers - 1, tail)), float(ndtri(tail))
        return sqrt(t * t * self.reader_part + z * z * max(self.case_part, 0.0))

    @property
    def p(self) -> float:
        """Two-sided p of a difference of 0."""
        return 2 * self._tail(abs(self.difference))

    def noninferiority_p(self, margin: float) -> float:
        return self._tail(self.difference + _checked(margin))

    def equivalence_p(self, margin: float) -> float:
        return max(self._tail(one + _checked(margin)) for one in (self.difference, -self.difference))

    def _tail(self, distance: float) -> float:
        """One-sided p of a mean so far above what is tested; mirrored above 1/2 where it is below."""
        low, high = log(LEAST_TAIL), log(0.5)
        for _halving in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.half(exp(middle)) < abs(distance) else (middle, high)
        return exp(low) if distance >= 0 else 1 - exp(low)


def _checked(margin: float) -> float:
    if margin <= 0:
        raise ValueError("a margin is above 0")
    return margin


def _half_binomial(k: int, n: int) -> tuple[float, float]:
    """P(X <= k) and P(X = k) for X ~ Bin(n, 1/2)."""
    from scipy.special import bdtr

    at_most = float(bdtr(k, n, 0.5))
    return at_most, at_most - (float(bdtr(k - 1, n, 0.5)) if k > 0 else 0.0)


def _chi_square(chi2: float, df: int, n: int) -> ChiSquare:
    from scipy.special import chdtrc

    return ChiSquare(chi2, df, float(chdtrc(df, chi2)), n)


def _by_cluster(
    first: Correct | NDArray[np.float64], second: Correct, cluster: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """First minus second, and questions that count for both, of each cluster that has one."""
    counted = (first >= 0) & (second >= 0)
    of_question = np.unique(cluster[counted], return_inverse=True)[1]
    apart = first[counted].astype(np.float64) - second[counted]
    differences = np.bincount(of_question, weights=apart).astype(np.float64, copy=False)
    return differences, np.bincount(of_question)
