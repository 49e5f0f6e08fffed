"""The mean of several readers, and a model against it; for these readers and others like them. Pure.

One formula for complete and incomplete designs: readers may have different case sets, answers may be missing, and
exams may hold several questions. Each question counts once, however many read it. What is drawn again is the unit: a
question, or a cluster of questions (an exam or a patient). Which of the three inferences is the primary one is a
matter of the plan, not of the result.

References
----------
.. [1] N. A. Obuchowski, H. E. Rockette, Commun. Stat. Simul. Comput. 24 (1995) 285-308.
.. [2] B. D. Gallas, G. A. Pennello, K. J. Myers, J. Opt. Soc. Am. A 24 (2007) B70-B80.
.. [3] A. C. Cameron, J. B. Gelbach, D. L. Miller, J. Bus. Econ. Stat. 29 (2011) 238-249.
.. [4] S. L. Hillis, Stat. Med. 26 (2007) 596-619.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.comparing import Mover, t_test_p
from annotation.statistics.kernels.estimate import (
    ANSWERS_MISSING,
    FEW_CLUSTERS,
    FEW_READERS,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    ONE_RATER,
    QUESTIONS_DROPPED,
    READERS_DROPPED,
    SMALL_N,
    TOO_FEW,
    InferenceValue,
    Interval,
    UnitValue,
)
from annotation.statistics.kernels.intervals import FEWEST_CLUSTERS, FEWEST_TRIALS

Floats = NDArray[np.float64]
NOTHING = 1e-14  # a mean or a variance below it is 0


@dataclass(frozen=True)
class Parts:
    """S and W of readers and units, both of shape (readers, units): what a cell is off the mean, and its weight."""

    mean: float
    off: Floats
    weight: Floats
    varies: bool

    @classmethod
    def of(cls, y: Floats, counted: NDArray[np.bool_]) -> Parts:
        """By question. Each question weighs the same, and on it each reader who has a cell."""
        weight = counted / (counted.sum(axis=0) * y.shape[1])
        mean = rounded(float((weight * y).sum()))
        return cls(mean, weight * (y - mean), weight, varies=float(np.ptp(y[counted])) > 0)

    def by(self, cluster: NDArray[np.integer]) -> Parts:
        place = np.unique(cluster, return_inverse=True)[1]
        n_units = int(place.max()) + 1

        def summed(of_question: Floats) -> Floats:
            return np.stack([np.bincount(place, weights=row, minlength=n_units) for row in of_question])

        return replace(self, off=summed(self.off), weight=summed(self.weight))

    @property
    def of_units(self) -> float:
        """Variance of the mean with these readers, other units: m/(m-1) times the sum of S squared over units."""
        n_units = self.off.shape[1]
        return rounded(n_units / (n_units - 1) * _squares(self.off.sum(axis=0)))

    def reader_and_case(self) -> tuple[float, float]:
        """A and B, of readers and of units; at least two of both."""
        readers, units, cells = map(_squares, (self.off.sum(axis=1), self.off.sum(axis=0), self.off))
        of_readers, of_units, of_cells = map(_squares, (self.weight.sum(axis=1), self.weight.sum(axis=0), self.weight))
        total = (readers + units - cells) / (1 - of_readers - of_units + of_cells)
        is_shared = ((self.weight > 0).sum(axis=0) > 1).any()  # a unit has two readers
        case = of_units * ((units - cells) / (of_units - of_cells) + total) if is_shared else 0.0
        return rounded(total - case), rounded(case)


def _squares(of: Floats) -> float:
    return float((of * of).sum())


def rounded(number: float) -> float:
    """A rounding error is 0."""
    return 0.0 if abs(number) < NOTHING else number


@dataclass(frozen=True)
class MeanSquares:
    """Of rows, of columns, of the rest, and within rows (columns and rest together), with the shape of the table."""

    rows: float
    columns: float
    rest: float
    within: float
    n_rows: int
    n_columns: int


def mean_squares(table: NDArray[np.floating]) -> MeanSquares | None:
    """Mean squares of a table without gaps, shape (rows, columns); None below two of either."""
    n, k = table.shape
    if n < 2 or k < 2:
        return None
    mean = table.mean()
    of_row, of_column = table.mean(axis=1) - mean, table.mean(axis=0) - mean
    rest = table - mean - of_row[:, np.newaxis] - of_column
    square_columns = n * float(of_column @ of_column)
    square_rest = float((rest**2).sum())
    return MeanSquares(
        rows=k * float(of_row @ of_row) / (n - 1),
        columns=square_columns / (k - 1),
        rest=square_rest / ((n - 1) * (k - 1)),
        within=(square_columns + square_rest) / (n * (k - 1)),
        n_rows=n,
        n_columns=k,
    )


FEWEST_READERS = 5  # below it the population of readers is poorly known: flagged
AS_FIXED_READERS = "as_fixed_readers"  # readers do not differ: their population adds nothing
MOST_LEFT_OUT = 0.05  # share of the questions, or of the assigned answers, above which it is flagged

Scores = NDArray[np.integer] | NDArray[np.floating]  # 1 right, 0 wrong, or a share of runs; negative or nan: no answer
Mask = NDArray[np.bool_]
Clusters = NDArray[np.integer]


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

    def as_json(self) -> InferenceValue:
        return {
            "se": self.se,
            "df": self.df,
            "ci95": _listed(self.ci95),
            "ci90": _listed(self.ci90),
            "p": self.p,
            "flags": list(self.flags),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class ByUnit:
    """What questions, or clusters of questions, as units say: two parts of a variance and three inferences.

    Parameters
    ----------
    n_units : int
        Questions or clusters with a cell.
    reader_part, case_part : float or None
        What readers and units add to the variance of the mean (A and B); None below two of either.
    mover_ci95, mover_ci90, mover_p
        Other readers and other questions with limits of each part combined (``Mover``): of fewer than five readers
        these stand for the t limits and p, which cover too little. None without a reader part; p of a mean is None.
    """

    n_units: int
    reader_part: float | None
    case_part: float | None
    random_readers_random_questions: Inference
    fixed_readers_random_questions: Inference
    random_readers_fixed_questions: Inference
    mover_ci95: Interval | None = None
    mover_ci90: Interval | None = None
    mover_p: float | None = None

    def as_json(self) -> UnitValue:
        """Where MOVER stands for them, the t limits and p of random readers are left out."""
        random = self.random_readers_random_questions
        if self.mover_ci95 and FEW_READERS in random.flags:
            random = replace(random, ci95=None, ci90=None, p=None)
        return {
            "n_units": self.n_units,
            "reader_part": self.reader_part,
            "case_part": self.case_part,
            "random_readers_random_questions": random.as_json(),
            "fixed_readers_random_questions": self.fixed_readers_random_questions.as_json(),
            "random_readers_fixed_questions": self.random_readers_fixed_questions.as_json(),
            "mover_ci95": _listed(self.mover_ci95),
            "mover_ci90": _listed(self.mover_ci90),
            "mover_p": self.mover_p,
        }


@dataclass(frozen=True)
class Design:
    """Who was to answer what, and which questions belong together.

    Parameters
    ----------
    cluster : int array, shape (questions,), or None
        Where given, the analysis is by cluster, too.
    assigned : bool array, shape (readers, questions), or None
        What each reader was to answer; all else is not missing. None: no answer is missing.
    n_absent : int
        Readers of the plan who have no row, since they answered nothing or left.
    """

    cluster: Clusters | None = None
    assigned: Mask | None = None
    n_absent: int = 0


COMPLETE = Design()


@dataclass(frozen=True)
class MultiReader:
    """Mean over readers and questions, each question once, with its inferences.

    Parameters
    ----------
    mean : float or None
        None without a cell: a question that counts for a reader (and the model).
    n_readers, n_questions, n_cells : int
        Those with a cell, and the cells.
    n_readers_dropped, n_questions_dropped : int
        Readers of the plan, and questions, without one.
    n_missing : int
        Assigned answers of the readers with a cell that do not count, on questions that count for the model.
    difference_by_reader : tuple of float or None
        Of each row of readers alone, over all their cells; of ``mean_of_readers`` their own shares.
    model_accuracy : float or None
        Of the model over the questions with a cell.
    complete_rows : MultiReader or None
        The same over the questions that no reader missed, where more than 5 % of the assigned answers are missing.
    """

    mean: float | None
    n_readers: int
    n_readers_dropped: int
    n_questions: int
    n_questions_dropped: int
    n_cells: int
    n_missing: int
    difference_by_reader: tuple[float | None, ...]
    by_question: ByUnit
    by_cluster: ByUnit | None = None
    model_accuracy: float | None = None
    complete_rows: MultiReader | None = None
    flags: tuple[str, ...] = ()
    reason: str | None = None


def mean_of_readers(correct: Scores, design: Design = COMPLETE) -> MultiReader:
    """Mean accuracy of the readers; ``correct`` of shape (readers, questions). No p values."""
    everything = np.ones(correct.shape[1], dtype=np.bool_)
    cells = _Cells.of(correct.astype(np.float64), correct >= 0, everything, design)
    return _analysed(cells, lowest=0.0, tested=False)


def model_minus_readers(model: Scores, readers: Scores, design: Design = COMPLETE) -> MultiReader:
    """A model's accuracy minus the mean of the readers, over questions that count for it and at least one of them.

    ``model``: shape (questions,), a share of runs too; ``readers``: shape (readers, questions).
    """
    answered = model >= 0
    cells = _Cells.of(model.astype(np.float64) - readers, answered & (readers >= 0), answered, design)
    found = _analysed(cells, lowest=-1.0, tested=True)
    used = cells.counted.any(axis=0)
    return replace(found, model_accuracy=float(model[used].mean()) if used.any() else None)


@dataclass(frozen=True)
class _Cells:
    """The values ``y`` of readers on questions, 0 where not ``counted``; of shape (readers, questions)."""

    y: Floats
    counted: Mask
    answered: Mask  # by the model; shape (questions,)
    assigned: Mask
    cluster: Clusters | None
    n_absent: int

    @classmethod
    def of(cls, y: Floats, counted: Mask, answered: Mask, design: Design) -> _Cells:
        assigned = counted if design.assigned is None else design.assigned | counted
        return cls(np.where(counted, y, 0.0), counted, answered, assigned, design.cluster, design.n_absent)

    @property
    def missing(self) -> Mask:
        """Assigned, without a cell, by a reader who has one elsewhere."""
        return self.assigned & self.answered & ~self.counted & self.counted.any(axis=1, keepdims=True)

    @property
    def n_readers_dropped(self) -> int:
        return self.n_absent + int((self.assigned.any(axis=1) & ~self.counted.any(axis=1)).sum())

    def complete_rows(self) -> _Cells:
        """Without the questions that a reader missed."""
        kept = ~self.missing.any(axis=0)
        return replace(self, y=self.y * kept, counted=self.counted & kept, answered=self.answered & kept)


def _analysed(cells: _Cells, *, lowest: float, tested: bool) -> MultiReader:
    """Intervals are clipped to [``lowest``, 1]."""
    counted = cells.counted
    readers: Mask = np.asarray(counted.any(axis=1))
    questions: Mask = np.asarray(counted.any(axis=0))
    n_questions, n_cells, n_missing = int(questions.sum()), int(counted.sum()), int(cells.missing.sum())
    few_answers = n_missing > MOST_LEFT_OUT * (n_cells + n_missing)
    flags = {
        SMALL_N: 0 < n_questions < FEWEST_TRIALS,
        READERS_DROPPED: cells.n_readers_dropped > 0,
        QUESTIONS_DROPPED: len(questions) - n_questions > MOST_LEFT_OUT * len(questions),
        ANSWERS_MISSING: few_answers,
    }
    by_question, by_cluster, mean = _nothing(NO_COMMON_QUESTIONS if len(counted) else ONE_RATER), None, None
    if n_cells:
        place = np.ix_(readers, questions)
        parts = Parts.of(cells.y[place], counted[place])
        mean, spread = parts.mean, _Spread(parts.mean, lowest, tested)
        by_question = _by_unit(parts, spread)
        if cells.cluster is not None:
            by_cluster = _by_unit(parts.by(cells.cluster[questions]), spread, FEWEST_CLUSTERS)
    elif cells.cluster is not None:
        by_cluster = by_question
    return MultiReader(
        mean=mean,
        n_readers=int(readers.sum()),
        n_readers_dropped=cells.n_readers_dropped,
        n_questions=n_questions,
        n_questions_dropped=len(questions) - n_questions,
        n_cells=n_cells,
        n_missing=n_missing,
        difference_by_reader=tuple(
            float(y.sum() / n) if (n := int(own.sum())) else None for y, own in zip(cells.y, counted, strict=True)
        ),
        by_question=by_question,
        by_cluster=by_cluster,
        complete_rows=_analysed(cells.complete_rows(), lowest=lowest, tested=tested) if few_answers else None,
        flags=tuple(name for name, is_so in flags.items() if is_so),
        reason=None if n_cells else by_question.fixed_readers_random_questions.reason,
    )


# --- inferences -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Spread:
    """The mean that an inference is about."""

    mean: float
    lowest: float
    tested: bool

    def limits(self, half: float) -> Interval:
        return max(self.lowest, self.mean - half), min(1.0, self.mean + half)

    def inference(self, variance: float, df: float, flags: tuple[str, ...] = ()) -> Inference:
        from scipy.special import stdtrit  # here, since every start of the program would wait for it

        se = sqrt(variance)
        ci95, ci90 = (self.limits(float(stdtrit(df, share)) * se) for share in (0.975, 0.95))
        return Inference(se, df, ci95, ci90, t_test_p(self.mean, se, df) if self.tested else None, flags)


def _by_unit(parts: Parts, spread: _Spread, fewest: int = 0) -> ByUnit:
    """Fewer than ``fewest`` units: errors without limits or p."""
    n_readers, n_units = parts.off.shape
    reader, case = parts.reader_and_case() if min(n_readers, n_units) > 1 else (None, None)
    both, readers, questions = _inferences(parts, reader, case, spread)
    if n_units < fewest:
        both, readers, questions = map(_without_limits, (both, readers, questions))
    found = ByUnit(n_units, reader, case, both, readers, questions)
    if n_units < fewest or reader is None or case is None or reader <= 0 or not parts.varies:
        return found
    mover = Mover(parts.mean, reader, case, n_readers)
    ci95, ci90 = (spread.limits(mover.half(tail)) for tail in (0.025, 0.05))
    return replace(found, mover_ci95=ci95, mover_ci90=ci90, mover_p=mover.p if spread.tested else None)


def _inferences(
    parts: Parts, reader: float | None, case: float | None, spread: _Spread
) -> tuple[Inference, Inference, Inference]:
    """Random readers and questions [4]_; these readers; these questions."""
    n_readers = len(parts.off)
    fixed = _fixed_readers(parts, spread)
    if n_readers < 2:
        alone = _undefined(ONE_RATER)
        return alone, fixed, alone
    few = (FEW_READERS,) if n_readers < FEWEST_READERS else ()
    if reader is None or case is None or not parts.varies:
        nothing = _undefined(NO_VARIATION if not parts.varies else TOO_FEW, few)
        return nothing, fixed, nothing
    if reader <= 0:
        return replace(fixed, flags=(*few, AS_FIXED_READERS)), fixed, _undefined(NO_VARIATION, few)
    variance = reader + max(case, 0.0)
    random = spread.inference(variance, variance**2 / (reader**2 / (n_readers - 1)), few)
    return random, fixed, spread.inference(reader, n_readers - 1, few)


def _fixed_readers(parts: Parts, spread: _Spread) -> Inference:
    n_units = parts.off.shape[1]
    if n_units < 2:
        return _undefined(TOO_FEW if parts.varies else NO_VARIATION)
    variance = parts.of_units
    return spread.inference(variance, n_units - 1) if variance else _undefined(NO_VARIATION)


def _without_limits(one: Inference) -> Inference:
    return one if one.se is None else replace(one, ci95=None, ci90=None, p=None, flags=(*one.flags, FEW_CLUSTERS))


def _undefined(reason: str, flags: tuple[str, ...] = ()) -> Inference:
    return Inference(None, None, None, None, None, flags, reason)


def _nothing(reason: str) -> ByUnit:
    undefined = _undefined(reason)
    return ByUnit(0, None, None, undefined, undefined, undefined)


def _listed(limits: Interval | None) -> list[float] | None:
    return None if limits is None else list(limits)
