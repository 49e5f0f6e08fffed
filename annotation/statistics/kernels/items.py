"""How single questions behave: how hard they are, whether they tell raters apart, which wrong options are chosen.

An item that stands out is a candidate for a blinded re-review, never a reason to void a question silently.

References
----------
.. [1] R. L. Ebel, D. A. Frisbie, Essentials of Educational Measurement, 5th ed. (1991), chapter 13.
.. [2] T. M. Haladyna, S. M. Downing, Educ. Psychol. Meas. 53 (1993) 999-1010.
.. [3] R. A. Fisher, Metron 1 (1921) 3-32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.estimate import (
    FEWEST_FOR_INTERVAL,
    NO_VARIATION,
    SMALL_N,
    Estimate,
    Interval,
    undefined,
)
from annotation.statistics.kernels.groups import Codes
from annotation.statistics.kernels.intervals import Z95, share

FUNCTIONING = 0.05  # a wrong option that at least this share of the raters chose does something [2]_
FEWEST_TO_MISS = 2  # raters who must have been counted before an item counts as missed by all


@dataclass(frozen=True)
class ItemStatistics:
    """One question.

    Parameters
    ----------
    difficulty : Estimate
        Share of counted raters who were right: high is easy. Wilson's interval.
    discrimination : Estimate
        Correlation over raters of being right here with the share right on the other scored questions.
    chosen : tuple of int, length q
        Raters who chose each option.
    functioning_distractors : int
        Wrong options that at least 5 % of the answers chose.
    beaten_by : tuple of int
        Wrong options chosen more often than the key: the key may be wrong.
    missed_by_all : bool
        Two raters or more were counted and none of them was right.
    """

    difficulty: Estimate
    discrimination: Estimate
    chosen: tuple[int, ...]
    functioning_distractors: int
    beaten_by: tuple[int, ...]
    missed_by_all: bool


def item_of(
    chosen: Sequence[int], key: int, n_right: int, n_counted: int, item_rest: float, missed: bool
) -> ItemStatistics:
    """One question from its sums: raters who chose each option, were right, and counted; its item-rest correlation."""
    fewest = FUNCTIONING * sum(chosen)
    wrong = [option for option, n in enumerate(chosen) if option != key and n]
    return ItemStatistics(
        difficulty=share(n_right, n_counted),
        discrimination=_correlation(item_rest, n_counted),
        chosen=tuple(chosen),
        functioning_distractors=sum(chosen[option] >= fewest for option in wrong),
        beaten_by=beaten_by(chosen, key),
        missed_by_all=missed,
    )


def beaten_by(chosen: Sequence[int], key: int) -> tuple[int, ...]:
    """Wrong options that more raters chose than the key."""
    return tuple(option for option, n in enumerate(chosen) if option != key and n > chosen[key])


def discrimination(correct: Codes, scored: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """Corrected item-rest correlation of each question over raters [1]_, shape (questions,).

    The rest score of a rater is the share right among the other ``scored`` questions, shape (questions,), that counted
    for them; None: all are scored. A voided question is in no rest score; it is itself correlated with the scored ones.
    NaN where all counted raters were right, all were wrong, or all have the same rest score.
    """
    counted, right = correct >= 0, correct == 1
    in_rest, right_in_rest = (one if scored is None else one & scored for one in (counted, right))
    others = in_rest.sum(axis=1, keepdims=True) - in_rest
    with np.errstate(invalid="ignore", divide="ignore"):
        right_elsewhere = right_in_rest.sum(axis=1, keepdims=True) - right_in_rest
        rest = np.where(counted & (others > 0), right_elsewhere / others, 0.0)
        n = counted.sum(axis=0)
        here = np.where(counted, right - right.sum(axis=0) / n, 0.0)
        rest = np.where(counted, rest - rest.sum(axis=0) / n, 0.0)
        below = np.sqrt((here**2).sum(axis=0) * (rest**2).sum(axis=0))
        return np.where(below > 1e-12, (here * rest).sum(axis=0) / below, np.nan)


def missed_by_all(correct: Codes) -> NDArray[np.bool_]:
    """Questions that two raters or more were counted on and none had right, shape (questions,)."""
    return np.asarray(((correct >= 0).sum(axis=0) >= FEWEST_TO_MISS) & ~(correct == 1).any(axis=0))


def _correlation(value: float, n: int) -> Estimate:
    """With Fisher's interval [3]_ from four raters on; flagged below ten."""
    flags = (SMALL_N,) if n < FEWEST_FOR_INTERVAL else ()
    if np.isnan(value):
        return undefined(NO_VARIATION, n=n, method="fisher_z", flags=flags)
    value = min(1.0, max(-1.0, value))
    interval: Interval | None = None
    if n > 3 and abs(value) < 1:
        half = Z95 / sqrt(n - 3)
        interval = tanh(atanh(value) - half), tanh(atanh(value) + half)
    return Estimate(value, interval, n, "fisher_z", flags)
