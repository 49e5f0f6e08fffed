"""The two parts of the variance of a mean over readers and questions: what readers add, and what questions or exams.

References as in ``multireader``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

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
