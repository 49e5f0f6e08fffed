"""The mean of several readers, and a model against that mean: for these readers, and for others like them.

All readers answered all questions that are used. Three inferences are made from the same mean squares; which one is the
primary is a matter of the plan, not of the result. The question is the unit: exams with several questions are not
allowed for.

References
----------
.. [1] N. A. Obuchowski, H. E. Rockette, Commun. Stat. Simul. Comput. 24 (1995) 285-308.
.. [2] B. D. Gallas, G. A. Pennello, K. J. Myers, J. Opt. Soc. Am. A 24 (2007) B70-B80.
.. [3] S. L. Hillis, Stat. Med. 26 (2007) 596-619.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.intervals import FEWEST_TRIALS
from readerstudy.statistics.mean_squares import MeanSquares, mean_squares
from readerstudy.statistics.results import (
    FEW_READERS,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    ONE_RATER,
    SMALL_N,
    Interval,
)

FEWEST_READERS = 5  # below it the population of readers is poorly known: flagged
AS_FIXED_READERS = "as_fixed_readers"  # readers do not differ: their population adds nothing

Correct = NDArray[np.integer]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Inference:
    """Error, degrees of freedom, 95 % and 90 % limits, and the p value of a mean of 0; None with a reason."""

    se: float | None
    df: float | None
    ci95: Interval | None
    ci90: Interval | None
    p: float | None
    flags: tuple[str, ...] = ()
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "se": self.se,
            "df": self.df,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "ci90": None if self.ci90 is None else list(self.ci90),
            "p": self.p,
            "flags": list(self.flags),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class MultiReader:
    """Mean over readers and questions with its three inferences.

    Parameters
    ----------
    mean : float or None
        None without a complete question.
    n_readers, n_questions, n_dropped : int
        J, K, and the questions left out because they do not count for somebody.
    ms_reader, ms_question, ms_residual : float or None
        Two-way mean squares; None below two readers or two questions.
    """

    mean: float | None
    n_readers: int
    n_questions: int
    n_dropped: int
    ms_reader: float | None
    ms_question: float | None
    ms_residual: float | None
    random_readers_random_questions: Inference
    fixed_readers_random_questions: Inference
    random_readers_fixed_questions: Inference
    flags: tuple[str, ...] = ()
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            **{name: value for name, value in vars(self).items() if not isinstance(value, Inference)},
            "flags": list(self.flags),
            "random_readers_random_questions": self.random_readers_random_questions.as_json(),
            "fixed_readers_random_questions": self.fixed_readers_random_questions.as_json(),
            "random_readers_fixed_questions": self.random_readers_fixed_questions.as_json(),
        }


def mean_of_readers(correct: Correct) -> MultiReader:
    """Mean accuracy of the readers; ``correct`` of shape (readers, questions), negative: not counted. No p values."""
    complete = (correct >= 0).all(axis=0)
    return _analysed(correct[:, complete].astype(np.float64), int((~complete).sum()), lowest=0.0, tested=False)


def model_minus_readers(model: Correct, readers: Correct) -> MultiReader:
    """A model's accuracy minus the mean of the readers, over questions that count for all of them.

    ``model``: row of ``correct``, shape (questions,); ``readers``: shape (readers, questions).
    """
    return paired_difference(np.broadcast_to(model, readers.shape), readers)


def paired_difference(first: Correct, second: Correct) -> MultiReader:
    """Accuracy of the same readers in two conditions, first minus second; both of shape (readers, questions)."""
    complete = (first >= 0).all(axis=0) & (second >= 0).all(axis=0)
    apart = first[:, complete].astype(np.float64) - second[:, complete]
    return _analysed(apart, int((~complete).sum()), lowest=-1.0, tested=True)


def _analysed(y: Floats, n_dropped: int, *, lowest: float, tested: bool) -> MultiReader:
    """``y``: whole numbers, shape (readers, questions); intervals are clipped to [``lowest``, 1]."""
    n_readers, n_questions = y.shape
    if y.size == 0:
        reason = NO_COMMON_QUESTIONS if n_readers else ONE_RATER
        nothing = _undefined(reason)
        return MultiReader(
            None, n_readers, n_questions, n_dropped, None, None, None, nothing, nothing, nothing, reason=reason
        )
    mean, squares = float(y.mean()), mean_squares(y)
    spread = _Spread(mean, lowest, tested)
    fixed = _fixed_readers(y, spread)
    return MultiReader(
        mean=mean,
        n_readers=n_readers,
        n_questions=n_questions,
        n_dropped=n_dropped,
        ms_reader=squares.rows if squares else None,
        ms_question=squares.columns if squares else None,
        ms_residual=squares.rest if squares else None,
        random_readers_random_questions=_random_readers(y, squares, fixed, spread),
        fixed_readers_random_questions=fixed,
        random_readers_fixed_questions=_fixed_questions(y, spread),
        flags=(SMALL_N,) if n_questions < FEWEST_TRIALS else (),
    )


@dataclass(frozen=True)
class _Spread:
    """The mean that an inference is about."""

    mean: float
    lowest: float
    tested: bool

    def inference(self, variance: float, df: float, flags: tuple[str, ...] = ()) -> Inference:
        from scipy.special import stdtr, stdtrit  # here, since every start of the program would wait for it

        se = sqrt(variance)

        def limits(confidence: float) -> Interval:
            half = float(stdtrit(df, (1 + confidence) / 2)) * se
            return max(self.lowest, self.mean - half), min(1.0, self.mean + half)

        p = 2 * float(stdtr(df, -abs(self.mean) / se)) if self.tested else None
        return Inference(se, df, limits(0.95), limits(0.90), p, flags)


def _fixed_readers(y: Floats, spread: _Spread) -> Inference:
    """These readers, other questions: one-sample t of the means of questions. MSC/(JK), K - 1."""
    n_questions = y.shape[1]
    if n_questions < 2 or np.ptp(y.sum(axis=0)) == 0:
        return _undefined(NO_VARIATION)
    return spread.inference(float(y.mean(axis=0).var(ddof=1)) / n_questions, n_questions - 1)


def _fixed_questions(y: Floats, spread: _Spread) -> Inference:
    """These questions, other readers: one-sample t of the means of readers. MSR/(JK), J - 1."""
    n_readers = len(y)
    if n_readers < 2:
        return _undefined(ONE_RATER)
    if np.ptp(y.sum(axis=1)) == 0:
        return _undefined(NO_VARIATION)
    return spread.inference(float(y.mean(axis=1).var(ddof=1)) / n_readers, n_readers - 1, _few(n_readers))


def _random_readers(y: Floats, squares: MeanSquares | None, fixed: Inference, spread: _Spread) -> Inference:
    """Other readers and other questions [1]_ [2]_, degrees of freedom of Hillis [3]_; as fixed where they are alike."""
    n_readers, n_questions = y.shape
    if n_readers < 2:
        return _undefined(ONE_RATER)
    if squares is None:
        return _undefined(NO_VARIATION)
    if np.ptp(y.sum(axis=1)) == 0:
        return replace(fixed, flags=(*fixed.flags, *_few(n_readers), AS_FIXED_READERS))
    total = squares.rows + max(squares.columns - squares.rest, 0.0)
    df = total**2 / (squares.rows**2 / (n_readers - 1))
    return spread.inference(total / (n_readers * n_questions), df, _few(n_readers))


def _few(n_readers: int) -> tuple[str, ...]:
    return (FEW_READERS,) if n_readers < FEWEST_READERS else ()


def _undefined(reason: str) -> Inference:
    return Inference(None, None, None, None, None, (), reason)
