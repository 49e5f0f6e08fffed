"""Agreement of more than two raters on nominal answers: coefficients of sums over questions, and standard errors.

Each coefficient takes ``RatingSums`` and returns an array with its leading axes: one number for the data, one for each
draw of the bootstrap; NaN where it is undefined.

References
----------
.. [1] J. L. Fleiss, Psychol. Bull. 76 (1971) 378-382.
.. [2] K. L. Gwet, Br. J. Math. Stat. Psychol. 61 (2008) 29-48; Handbook of Inter-Rater Reliability (2014, 2021).
.. [3] R. L. Brennan, D. J. Prediger, Educ. Psychol. Meas. 41 (1981) 687-699.
.. [4] A. J. Conger, Psychol. Bull. 88 (1980) 322-328.
.. [5] K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).
.. [6] J. L. Fleiss, J. C. M. Nee, J. R. Landis, Psychol. Bull. 86 (1979) 974-977.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.pairs import NO_CHANCE_LEFT, chance_corrected
from annotation.statistics.kernels.rating_sums import (
    Codes,
    Floats,
    RatingSums,
    paired,
    question_agreement,
    question_shares,
)

NOMINAL, ORDINAL, INTERVAL, RATIO = "nominal", "ordinal", "interval", "ratio"


def percent_agreement(sums: RatingSums) -> Floats:
    """Mean over questions of the share of agreeing pairs of ratings."""
    return sums.agreement


def fleiss_kappa(sums: RatingSums) -> Floats:
    """Chance from the shares of the options over all raters [1]_."""
    return chance_corrected(sums.agreement, (sums.shares**2).sum(axis=-1))


def gwet_ac1(sums: RatingSums) -> Floats:
    """Chance from how evenly the options are used [2]_."""
    shares = sums.shares
    return chance_corrected(sums.agreement, (shares * (1 - shares)).sum(axis=-1) / (sums.n_options - 1))


def brennan_prediger(sums: RatingSums) -> Floats:
    """Chance 1/q [3]_."""
    return chance_corrected(sums.agreement, np.full_like(sums.agreement, 1 / sums.n_options))


def conger_kappa(sums: RatingSums) -> Floats:
    """Chance from the shares of each rater [4]_. Raters without an answer are left out; undefined below two raters."""
    chosen = sums.by_rater
    answered = chosen.sum(axis=-1, keepdims=True)
    present = answered > 0
    raters = present.sum(axis=-2).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.where(present, chosen / answered, 0.0)
        mean = each.sum(axis=-2) / raters
        spread = np.where(present, each - mean[..., np.newaxis, :], 0.0)
        variance = (spread**2).sum(axis=-2) / (raters - 1)
        expected = (mean**2).sum(axis=-1) - variance.sum(axis=-1) / raters[..., 0]
    return chance_corrected(sums.agreement, expected)


def krippendorff_alpha_nominal(sums: RatingSums) -> Floats:
    """1 - Do/De from the coincidences [5]_ of the same option; undefined when one option only is in use."""
    n = sums.used.sum(axis=-1)
    by_chance = n**2 - (sums.used**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(by_chance > 0, 1 - (n - 1) * (n - sums.matched) / by_chance, np.nan)
    return found


def krippendorff_alpha(
    coincidences: Floats, metric: str = NOMINAL, values: NDArray[np.floating] | None = None
) -> Floats:
    """1 - Do/De from the coincidences [5]_; undefined when one value only is in use.

    Parameters
    ----------
    coincidences : float array, shape (..., q, q)
        Sums over questions.
    metric : "nominal", "ordinal", "interval" or "ratio"
    values : float array, shape (q,)
        What the options stand for, where the metric is interval or ratio; 1 to q without it.
    """
    used = coincidences.sum(axis=-1)
    n = used.sum(axis=-1)
    squared = _differences(metric, used, values)
    with np.errstate(invalid="ignore", divide="ignore"):
        disagreement = (coincidences * squared).sum(axis=(-2, -1))
        by_chance = (used[..., :, np.newaxis] * used[..., np.newaxis, :] * squared).sum(axis=(-2, -1)) / (n - 1)
        varied = (used > 0).sum(axis=-1) > 1
        found: Floats = np.where(varied & (by_chance > 0), 1 - disagreement / by_chance, np.nan)
    return found


def _differences(metric: str, used: Floats, values: NDArray[np.floating] | None) -> Floats:
    """Squared differences of the options, shape (..., q, q)."""
    q = used.shape[-1]
    if metric == NOMINAL:
        return 1 - np.eye(q)
    if metric == ORDINAL:
        place = np.cumsum(used, axis=-1) - used / 2
        return np.asarray((place[..., :, np.newaxis] - place[..., np.newaxis, :]) ** 2)
    value = np.arange(1.0, q + 1) if values is None else np.asarray(values, dtype=float)
    apart = value[:, np.newaxis] - value
    if metric == INTERVAL:
        return np.asarray(apart**2)
    if metric == RATIO:
        both = value[:, np.newaxis] + value
        return np.asarray(np.divide(apart, both, out=np.zeros((q, q)), where=both != 0) ** 2)
    raise ValueError(f"no such metric: {metric}")


def fleiss_kappa_se(counts: Codes) -> float | None:
    """Standard error of Fleiss' kappa for intervals, any number of ratings for each question [2]_.

    ``counts``: r_ik, shape (questions, q). Questions with fewer than two ratings are dropped. None where kappa is
    undefined, or there are fewer than two questions.
    """
    return _linearised_se(counts, fleiss_kappa, lambda pi: pi)


def gwet_ac1_se(counts: Codes) -> float | None:
    """Standard error of AC1 for intervals [2]_; as ``fleiss_kappa_se``."""
    return _linearised_se(counts, gwet_ac1, lambda pi: (1 - pi) / (counts.shape[1] - 1))


def _linearised_se(
    counts: Codes, coefficient: Callable[[RatingSums], Floats], weight: Callable[[Floats], Floats]
) -> float | None:
    """Gwet's variance: sum of (kappa*_i - kappa)^2 over n (n - 1)."""
    rated = paired(counts)
    n = len(rated)
    if n < 2:
        return None
    sums = RatingSums.of_counts(rated)
    kappa = float(coefficient(sums))
    if np.isnan(kappa):
        return None
    expected_of = question_shares(rated) @ weight(sums.shares)
    expected = float(sums.shares @ weight(sums.shares))
    excess = (question_agreement(rated) - expected) / (1 - expected)
    linearised = excess - 2 * (1 - kappa) * (expected_of - expected) / (1 - expected)
    return sqrt(float(((linearised - kappa) ** 2).sum()) / (n * (n - 1)))


def fleiss_kappa_se_null(counts: Codes) -> float | None:
    """Standard error of Fleiss' kappa if it were 0 [6]_: for that test only, never for an interval.

    ``counts``: r_ik, shape (questions, q). None unless all questions have the same number of ratings, two or more,
    and two options are in use.
    """
    m = _ratings_of_each(counts)
    if m is None:
        return None
    p = counts.sum(axis=0) / counts.sum()
    spread = p * (1 - p)
    total = float(spread.sum())
    if total < NO_CHANCE_LEFT:
        return None
    root = total**2 - float((spread * (1 - 2 * p)).sum())
    return sqrt(2 * root / (len(counts) * m * (m - 1))) / total


def fleiss_kappa_by_category(counts: Codes) -> list[float | None] | None:
    """Kappa of each option against all others [1]_; None for one that nobody or everybody chose throughout.

    None instead of the list unless all questions have the same number of ratings, two or more.
    """
    m = _ratings_of_each(counts)
    if m is None:
        return None
    p = counts.sum(axis=0) / counts.sum()
    disagreement = (counts * (m - counts)).sum(axis=0) / (len(counts) * m * (m - 1))
    return [
        None if spread < NO_CHANCE_LEFT else 1 - apart / spread
        for apart, spread in zip(disagreement.tolist(), (p * (1 - p)).tolist(), strict=True)
    ]


def _ratings_of_each(counts: Codes) -> int | None:
    r = np.unique(counts.sum(axis=1))
    return int(r[0]) if len(r) == 1 and r[0] > 1 else None
