"""Agreement of more than two raters on nominal answers: coefficients of sums over questions, and standard errors.

Each coefficient takes ``RatingSums`` and returns an array with its leading axes: one number for the data, one for each
draw of the bootstrap; NaN where it is undefined. All are functions of a few sums over questions: one array, a row for
each question, serves all of them, on the data and on every draw. Questions with fewer than two ratings are dropped
first and enter nothing, margins neither.

References
----------
.. [1] J. L. Fleiss, Psychol. Bull. 76 (1971) 378-382.
.. [2] K. L. Gwet, Br. J. Math. Stat. Psychol. 61 (2008) 29-48; Handbook of Inter-Rater Reliability (2014, 2021).
.. [3] R. L. Brennan, D. J. Prediger, Educ. Psychol. Meas. 41 (1981) 687-699.
.. [4] A. J. Conger, Psychol. Bull. 88 (1980) 322-328.
.. [5] K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import lcm, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.pairs import chance_corrected

Codes = NDArray[np.integer]
Floats = NDArray[np.float64]

NOMINAL, ORDINAL, INTERVAL, RATIO = "nominal", "ordinal", "interval", "ratio"


def rating_counts(answers: Codes, n_options: int) -> NDArray[np.int64]:
    """r_ik, how many raters chose option k on question i: shape (questions, q).

    ``answers`` are codes, shape (raters, questions); negative: no rating. Raises ValueError for a code of no option.
    """
    if answers.size and int(answers.max()) >= n_options:
        raise ValueError(f"code {int(answers.max())} is no option: there are {n_options}")
    return np.stack([(answers == option).sum(axis=0) for option in range(n_options)], axis=1)


def paired(counts: Codes) -> Codes:
    """The questions with two ratings or more, of r_ik, shape (questions, q)."""
    return np.asarray(counts[counts.sum(axis=1) > 1])


def question_agreement(counts: Codes) -> Floats:
    """pa_i: of the ordered pairs of ratings of a question, the share that agree; 0 below two ratings."""
    r = counts.sum(axis=1)
    return np.asarray(_agreeing(counts) / np.maximum(r * (r - 1), 1))


def question_shares(counts: Codes) -> Floats:
    """r_ik / r_i, shape (questions, q); 0 without ratings."""
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def _agreeing(counts: Codes) -> Codes:
    """Ordered pairs of ratings of a question that agree."""
    return np.asarray((counts * (counts - 1)).sum(axis=1))


def coincidences(counts: Codes) -> Floats:
    """Krippendorff's coincidences of each question, shape (questions, q, q); 0 below two ratings."""
    r = counts.sum(axis=1)
    pairs = counts[:, :, np.newaxis] * counts[:, np.newaxis, :]
    diagonal = np.arange(counts.shape[1])
    pairs[:, diagonal, diagonal] -= counts
    weight = np.where(r > 1, 1 / np.maximum(r - 1, 1), 0.0)
    return np.asarray(weight[:, np.newaxis, np.newaxis] * pairs)


def common_denominator(counts: Codes) -> int:
    """A number that makes all coincidences whole: these add up exactly, in any order and on any processor."""
    return lcm(*(r - 1 for r in np.unique(counts.sum(axis=1)).tolist() if r > 1))


def columns_by_size(counts: Codes) -> dict[int, NDArray[np.int64]]:
    """Of each number of ratings r from 2 on that a question has: what its questions add, shape (2 + q, questions).

    One, the ordered pairs of ratings that agree, and r_ik; 0 for questions with another number of ratings. All whole.
    Without such a question two ratings, all 0.
    """
    r = counts.sum(axis=1)
    rows = np.concatenate([np.ones((1, len(r)), dtype=np.int64), _agreeing(counts)[np.newaxis], counts.T])
    sizes = [size for size in np.unique(r).tolist() if size > 1] or [2]
    return {size: rows * (r == size) for size in sizes}


def columns_of_raters(answers: Codes, n_options: int) -> NDArray[np.bool_]:
    """Whether the rater chose the option, shape (raters*q, questions)."""
    chosen: NDArray[np.bool_] = answers[:, np.newaxis, :] == np.arange(n_options)[:, np.newaxis]
    return chosen.reshape(len(answers) * n_options, answers.shape[1])


@dataclass(frozen=True)
class RatingSums:
    """Sums over the questions with two ratings or more, or over a draw of them.

    Parameters
    ----------
    by_size : array, shape (..., 2 + q), of each number of ratings
        Sums of ``columns_by_size``.
    by_rater : array, shape (..., raters, q)
        How often each rater chose each option on these questions.
    """

    by_size: Mapping[int, NDArray[Any]]
    by_rater: NDArray[Any]

    @classmethod
    def of(cls, answers: Codes, n_options: int) -> RatingSums:
        """Of the data: codes of options, shape (raters, questions), negative: no rating."""
        counts = rating_counts(answers, n_options)
        chosen = columns_of_raters(answers, n_options)[:, counts.sum(axis=1) > 1].sum(axis=1)
        return cls.of_counts(counts, chosen.reshape(len(answers), n_options))

    @classmethod
    def of_counts(cls, counts: Codes, by_rater: Codes | None = None) -> RatingSums:
        """Of r_ik, shape (questions, q); nothing about single raters is known without ``by_rater``."""
        nobody = np.zeros((0, counts.shape[1]), dtype=np.int64)
        sums = {size: columns.sum(axis=1) for size, columns in columns_by_size(counts).items()}
        return cls(sums, nobody if by_rater is None else by_rater)

    @property
    def n_options(self) -> int:
        return int(self.by_rater.shape[-1])

    @cached_property
    def n_paired(self) -> Floats:
        """Questions."""
        return self._total(lambda _r, sums: sums[..., 0])

    @cached_property
    def agreement(self) -> Floats:
        """pa, the mean of pa_i; NaN without a question."""
        return _share(self._total(lambda r, sums: sums[..., 1] / (r * (r - 1))), self.n_paired)

    @cached_property
    def shares(self) -> Floats:
        """pi_k, the mean share of each option, shape (..., q)."""
        return _share(self._total(lambda r, sums: sums[..., 2:] / r), self.n_paired[..., np.newaxis])

    @cached_property
    def matched(self) -> Floats:
        """Of Krippendorff's coincidences those of the same option."""
        return self._total(lambda r, sums: sums[..., 1] / (r - 1))

    @cached_property
    def used(self) -> Floats:
        """n_k, how often each option was chosen, shape (..., q)."""
        return self._total(lambda _r, sums: sums[..., 2:])

    def _total(self, of_size: Callable[[int, NDArray[Any]], NDArray[Any]]) -> Floats:
        return np.asarray(sum(of_size(r, sums) for r, sums in self.by_size.items()), dtype=np.float64)


def _share(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(whole > 0, part / whole, np.nan)
    return found


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
        The values of the options, where the metric is interval or ratio; 1 to q without it.
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
