"""How reviewers agree on issues and grades of questions, and how often experts choose the key when they answer blind.

The page of a round shows agreement field by field, by ``annotation.outcomes.kernels.field_agreement``, whose values are
those of these functions.

Rates of issues by question are in the module ``issues``. Agreement is computed on locked reviews, before adjudication.
Rare issues make kappa alone misleading, so specific agreement is given beside it.

References
----------
.. [1] D. V. Cicchetti, A. R. Feinstein, J. Clin. Epidemiol. 43 (1990) 551-558.
.. [2] J. Cohen, Psychol. Bull. 70 (1968) 213-220; D. V. Cicchetti, T. Allison, Am. J. EEG Technol. 11 (1971) 101-110.
.. [3] J. L. Fleiss, J. Cohen, Educ. Psychol. Meas. 33 (1973) 613-619.
.. [4] P. E. Shrout, J. L. Fleiss, Psychol. Bull. 86 (1979) 420-428.
.. [5] K. L. Gwet, Handbook of Inter-Rater Reliability (2014, 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import DRAWS, Units, generator, percentile_intervals, resampled_totals
from annotation.statistics.kernels.estimate import (
    CLUSTERS_IGNORED,
    EXPECTED_AGREEMENT_IS_ONE,
    FEWEST_FOR_INTERVAL,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    ONE_RATER,
    OUTSIDE_RANGE,
    SMALL_AGREEMENT_N,
    SMALL_N,
    TOO_FEW,
    Estimate,
    Interval,
    undefined,
)
from annotation.statistics.kernels.group_intervals import agreement_result
from annotation.statistics.kernels.groups import (
    ORDINAL,
    coincidences,
    common_denominator,
    krippendorff_alpha,
    paired,
    question_shares,
    rating_counts,
)
from annotation.statistics.kernels.multireader import MeanSquares, mean_squares
from annotation.statistics.kernels.pair_tables import Codes, pair_tables
from annotation.statistics.kernels.pairs import cohen_kappa

NOTHING_LEFT = 1e-12  # a denominator up to it counts as 0
PANEL = "reviews"  # names the panel in the seed of draws
GRADES = "grades"  # the family of draws
LINEARISED_T = "gwet_linearised_t"
ICC_NAMES = ("icc1_1", "icc2_1", "icc3_1", "icc1_k", "icc2_k", "icc3_k")


def linear_weights(n_grades: int) -> NDArray[np.float64]:
    """1 - |i - j| / (q - 1) [2]_, shape (q, q); grades that nobody gave count in q."""
    return 1 - _apart(n_grades)


def quadratic_weights(n_grades: int) -> NDArray[np.float64]:
    """1 - ((i - j) / (q - 1))^2 [3]_, shape (q, q)."""
    return 1 - _apart(n_grades) ** 2


def _apart(n_grades: int) -> NDArray[np.float64]:
    if n_grades < 2:
        raise ValueError("a scale has two grades or more")
    grade = np.arange(float(n_grades))
    return np.asarray(np.abs(grade[:, np.newaxis] - grade) / (n_grades - 1))


def grade_agreement(
    grades: Codes, n_grades: int, units: Units, *, seed: int, panel: str, draws: int = DRAWS
) -> dict[str, Estimate]:
    """Agreement of reviewers on a scale of ordered grades, with bootstrap intervals over questions or clusters.

    Parameters
    ----------
    grades : int array, shape (reviewers, questions)
        0 to q - 1 from the lowest; negative: no grade.
    n_grades : int
        q, the grades of the declared scale, used or not.
    units : Units
        Of the questions.

    Returns
    -------
    ``krippendorff_alpha_ordinal`` of all reviewers, and ``cohen_kappa_linear`` and ``cohen_kappa_quadratic`` where
    there are two. n is the questions with two grades or more.
    """
    counts = rating_counts(grades, n_grades)
    whole = common_denominator(counts)
    columns = units.sums(np.rint(coincidences(counts) * whole))
    drawn = resampled_totals(columns, generator(seed, panel, GRADES), draws) / whole
    n = int((counts.sum(axis=1) > 1).sum())
    n_clusters = int(columns.any(axis=(1, 2)).sum()) if units.clustered else None
    values = {"krippendorff_alpha_ordinal": krippendorff_alpha(columns.sum(axis=0) / whole, ORDINAL)}
    replicates = {"krippendorff_alpha_ordinal": krippendorff_alpha(drawn, ORDINAL)}
    if len(grades) == 2:
        tables = pair_tables(grades, n_grades, group=units.number, n_groups=units.m)[0]
        drawn_tables = resampled_totals(tables, generator(seed, panel, GRADES), draws)
        for name, weights in (("linear", linear_weights(n_grades)), ("quadratic", quadratic_weights(n_grades))):
            values[f"cohen_kappa_{name}"] = cohen_kappa(tables.sum(axis=0), weights)
            replicates[f"cohen_kappa_{name}"] = cohen_kappa(drawn_tables, weights)
    found = {}
    for name, value in values.items():
        interval = percentile_intervals(replicates[name][:, np.newaxis], n, n_clusters)[0]
        reason = NO_VARIATION if name.startswith("krippendorff") else EXPECTED_AGREEMENT_IS_ONE
        found[name] = agreement_result(float(value), interval, n, units.method, reason if n else NO_COMMON_QUESTIONS)
    return found


@dataclass(frozen=True)
class WeightedAgreement:
    """Of ordered grades with one set of weights; the error is None where it is undefined."""

    percent_agreement_weighted: Estimate
    gwet_ac2: Estimate
    gwet_ac2_se: float | None


def weighted_agreement(grades: Codes, weights: NDArray[np.float64], *, clustered: bool = False) -> WeightedAgreement:
    """Gwet's AC2 [5]_ of any number of reviewers, grades missing or not; robust to grades that pile up.

    Parameters
    ----------
    grades : int array, shape (reviewers, questions)
        0 to q - 1 from the lowest; negative: no grade. Questions with fewer than two grades are dropped.
    weights : float array, shape (q, q)
        ``linear_weights`` (``gwet_ac2_linear``) or ``quadratic_weights`` of the declared scale, used or not.
    clustered : bool
        Whether questions share patients or exams: the interval does not allow for that, and is flagged.

    Returns
    -------
    WeightedAgreement: the mean over questions of the weighted share of pairs that agree, without an interval, and AC2
    with +- t(n-1) SE, SE Gwet's linearised error; none below 10 questions or where nothing varies.
    """
    q = len(weights)
    counts = paired(rating_counts(grades, q))
    n, shares, r = len(counts), question_shares(counts), counts.sum(axis=1)
    if n == 0:
        nothing = undefined(ONE_RATER if len(grades) < 2 else NO_COMMON_QUESTIONS, n=0, method=LINEARISED_T)
        return WeightedAgreement(nothing, nothing, None)
    agreed = (counts * (counts @ weights.T - 1)).sum(axis=1) / (r * (r - 1))
    expected_of = float(weights.sum()) * (shares @ (1 - shares.mean(axis=0))) / (q * (q - 1))
    po, pe = float(agreed.mean()), float(expected_of.mean())
    flags = (SMALL_N,) if n < SMALL_AGREEMENT_N else ()
    percent = Estimate(po, None, n, "mean", flags)
    if 1 - pe < NOTHING_LEFT:
        return WeightedAgreement(percent, undefined(EXPECTED_AGREEMENT_IS_ONE, n=n, method=LINEARISED_T), None)
    ac2 = (po - pe) / (1 - pe)
    if n < 2:
        return WeightedAgreement(percent, Estimate(ac2, None, n, LINEARISED_T, flags), None)
    apart = (agreed - pe) / (1 - pe) - 2 * (1 - ac2) * (expected_of - pe) / (1 - pe) - ac2
    error, limits = sqrt(float(apart @ apart) / (n * (n - 1))), None
    if error < NOTHING_LEFT:
        error, flags = 0.0, (*flags, NO_VARIATION)
    elif n >= FEWEST_FOR_INTERVAL:
        from scipy.special import stdtrit  # here, since every start of the program would wait for it

        half = float(stdtrit(n - 1, 0.975)) * error
        limits, flags = (max(-1.0, ac2 - half), min(1.0, ac2 + half)), (*flags, *[CLUSTERS_IGNORED] * clustered)
    return WeightedAgreement(percent, Estimate(ac2, limits, n, LINEARISED_T, flags), error)


def intraclass_correlations(grades: NDArray[np.floating]) -> dict[str, Estimate]:
    """The six intraclass correlations [4]_ of k judges on n targets, the interval for ``icc2_1``.

    Parameters
    ----------
    grades : float array, shape (targets, judges)
        NaN: no grade; targets without all grades are left out.

    Returns
    -------
    ``icc1_1``, ``icc2_1`` (absolute agreement of single grades), ``icc3_1`` (consistency), and ``icc1_k``, ``icc2_k``,
    ``icc3_k`` of the mean of k grades. Undefined: ``one_rater``; ``too_few``, below two targets; ``no_variation``,
    where the denominator is not above 0; ``outside_range``, below -1.
    """
    complete = grades[~np.isnan(grades).any(axis=1)]
    n, k = complete.shape
    squares = mean_squares(complete)
    if squares is None:
        reason = ONE_RATER if k < 2 else TOO_FEW
        return {name: undefined(reason, n=n, method="mean_squares") for name in ICC_NAMES}
    return {name: _result(name, squares, n) for name in ICC_NAMES}


def _fractions(ms: MeanSquares) -> dict[str, tuple[float, float]]:
    """Numerator and denominator of each."""
    n, k = ms.n_rows, ms.n_columns
    judges = (ms.columns - ms.rest) / n
    return {
        "icc1_1": (ms.rows - ms.within, ms.rows + (k - 1) * ms.within),
        "icc2_1": (ms.rows - ms.rest, ms.rows + (k - 1) * ms.rest + k * judges),
        "icc3_1": (ms.rows - ms.rest, ms.rows + (k - 1) * ms.rest),
        "icc1_k": (ms.rows - ms.within, ms.rows),
        "icc2_k": (ms.rows - ms.rest, ms.rows + judges),
        "icc3_k": (ms.rows - ms.rest, ms.rows),
    }


def _result(name: str, squares: MeanSquares, n: int) -> Estimate:
    above, below = _fractions(squares)[name]
    method = "shrout_fleiss" if name == "icc2_1" else "mean_squares"
    if below <= NOTHING_LEFT:
        return undefined(NO_VARIATION, n=n, method=method)
    if above < -below * (1 + NOTHING_LEFT):
        return undefined(OUTSIDE_RANGE, n=n, method=method)
    interval = icc2_1_interval(squares) if name == "icc2_1" else None
    return Estimate(above / below, interval, n, method, (SMALL_N,) if n < FEWEST_FOR_INTERVAL else ())


def icc2_1_interval(ms: MeanSquares) -> Interval | None:
    """95 % limits of ``icc2_1`` after Shrout and Fleiss [4]_, clipped to [-1, 1].

    None where the grades leave no residual or their denominators or degrees of freedom nothing, and where the limits
    come in the wrong order.
    """
    from scipy.special import fdtri  # here, since every start of the program would wait for it

    n, k = ms.n_rows, ms.n_columns
    above, below = _fractions(ms)["icc2_1"]
    if ms.rest <= NOTHING_LEFT or below <= NOTHING_LEFT:
        return None
    rho, ratio = above / below, ms.columns / ms.rest
    part, other = k * rho * ratio, n * (1 + (k - 1) * rho) - k * rho
    spread = (n - 1) * part**2 + other**2
    if spread <= NOTHING_LEFT:
        return None
    df = (k - 1) * (n - 1) * (part + other) ** 2 / spread
    if not df > 0:
        return None
    f_low, f_high = float(fdtri(n - 1, df, 0.975)), float(fdtri(df, n - 1, 0.975))
    judges = k * ms.columns + (k * n - k - n) * ms.rest
    below_low, below_high = f_low * judges + n * ms.rows, judges + n * f_high * ms.rows
    if min(below_low, below_high) <= NOTHING_LEFT:
        return None
    low = n * (ms.rows - f_low * ms.rest) / below_low
    high = n * (f_high * ms.rows - ms.rest) / below_high
    return (max(-1.0, low), min(1.0, high)) if low <= high else None


def positive_agreement(tables: NDArray[np.number]) -> NDArray[np.float64]:
    """2a/(2a + b + c) of tables [[a, b], [c, d]], shape (..., 2, 2) [1]_; NaN where nobody flagged."""
    return _specific(tables, 0)


def negative_agreement(tables: NDArray[np.number]) -> NDArray[np.float64]:
    """2d/(2d + b + c) [1]_; NaN where both flagged everything."""
    return _specific(tables, 1)


def _specific(tables: NDArray[np.number], cell: int) -> NDArray[np.float64]:
    both = 2.0 * tables[..., cell, cell]
    all_of_it = both + tables[..., 0, 1] + tables[..., 1, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(both / all_of_it)
