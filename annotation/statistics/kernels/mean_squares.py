"""Two-way mean squares of a complete table: what ICCs and the variance components of times are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
