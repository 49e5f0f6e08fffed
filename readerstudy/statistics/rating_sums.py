"""What each question adds to the sums from which every agreement of a group of raters is computed.

Percent agreement, Fleiss' kappa, AC1, Conger's kappa and Krippendorff's alpha are functions of a few sums over
questions. So one array, a row for each question, serves all of them, on the data and on every draw of the bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lcm

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


def question_agreement(counts: Codes) -> Floats:
    """pa_i: of the ordered pairs of ratings of a question, the share that agree; 0 below two ratings."""
    r = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    return np.asarray(agreeing / np.maximum(r * (r - 1), 1))


def question_shares(counts: Codes) -> Floats:
    """r_ik / r_i, shape (questions, q); 0 without ratings."""
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def coincidences(counts: Codes) -> Floats:
    """Krippendorff's coincidences of each question, shape (questions, q, q); 0 below two ratings."""
    r = counts.sum(axis=1)
    pairs = counts[:, :, np.newaxis] * counts[:, np.newaxis, :]
    diagonal = np.arange(counts.shape[1])
    pairs[:, diagonal, diagonal] -= counts
    weight = np.where(r > 1, 1 / np.maximum(r - 1, 1), 0.0)
    return np.asarray(weight[:, np.newaxis, np.newaxis] * pairs)


def common_denominator(counts: Codes) -> int:
    """A number that makes whole numbers of all columns: these add up exactly, in any order and on any processor."""
    of_question = np.unique(counts.sum(axis=1)).tolist()
    return lcm(*(r * (r - 1) for r in of_question if r > 1))


def columns_of_counts(counts: Codes) -> Floats:
    """What each question adds, shape (questions, 3 + q + q*q): see ``RatingSums``; nothing about single raters."""
    n, q = counts.shape
    r = counts.sum(axis=1)
    whole = np.stack([r > 0, r > 1, question_agreement(counts)], axis=1)
    return np.concatenate([whole, question_shares(counts), coincidences(counts).reshape(n, q * q)], axis=1)


def columns_of(answers: Codes, n_options: int) -> Floats:
    """What each question adds, shape (questions, 3 + q + q*q + raters*q), with the answers of each rater last."""
    counts = columns_of_counts(rating_counts(answers, n_options))
    return np.concatenate([counts, columns_of_raters(answers, n_options)], axis=1)


def columns_of_raters(answers: Codes, n_options: int) -> NDArray[np.int64]:
    """The last columns alone, shape (questions, raters*q): 1 where the rater chose the option."""
    chosen = answers.T[:, :, np.newaxis] == np.arange(n_options)
    columns: NDArray[np.int64] = chosen.reshape(answers.shape[1], len(answers) * n_options).astype(np.int64)
    return columns


@dataclass(frozen=True)
class RatingSums:
    """Sums over questions (or over a draw of them); every property has the leading axes of ``totals``.

    Parameters
    ----------
    totals : float array, shape (..., columns)
        Sums of the rows of ``columns_of`` or ``columns_of_counts``.
    n_options : int
        q.
    """

    totals: Floats
    n_options: int

    @property
    def n_rated(self) -> Floats:
        """Questions with a rating."""
        return self.totals[..., 0]

    @property
    def n_paired(self) -> Floats:
        """Questions with two ratings or more."""
        return self.totals[..., 1]

    @cached_property
    def agreement(self) -> Floats:
        """pa, over questions with two ratings or more; NaN without any."""
        return _share(self.totals[..., 2], self.n_paired)

    @cached_property
    def shares(self) -> Floats:
        """pi_k, the mean share of each option over questions with a rating, shape (..., q)."""
        return _share(self.totals[..., 3 : 3 + self.n_options], self.n_rated[..., np.newaxis])

    @cached_property
    def coincidences(self) -> Floats:
        """Krippendorff's matrix, shape (..., q, q)."""
        q, start = self.n_options, 3 + self.n_options
        part = self.totals[..., start : start + q * q]
        return part.reshape(*part.shape[:-1], q, q)

    @cached_property
    def by_rater(self) -> Floats:
        """How often each rater chose each option, shape (..., raters, q)."""
        part = self.totals[..., 3 + self.n_options + self.n_options**2 :]
        return part.reshape(*part.shape[:-1], part.shape[-1] // self.n_options, self.n_options)


def _share(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(whole > 0, part / whole, np.nan)
    return found
