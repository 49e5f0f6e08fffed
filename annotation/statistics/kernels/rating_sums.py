"""What each question adds to the sums from which every agreement of a group of raters is computed.

Percent agreement, Fleiss' kappa, AC1, Conger's kappa and Krippendorff's alpha are functions of a few sums over
questions. So one array, a row for each question, serves all of them, on the data and on every draw of the bootstrap.
Questions with fewer than two ratings are dropped first and enter nothing, margins neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.integer]
Floats = NDArray[np.float64]


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
