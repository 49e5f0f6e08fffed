"""Boards as arrays, for tests of the numbers of an edition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readerstudy.comparison.kernels.bank_comparison import BankArrays, Entrant
from readerstudy.leaderboard.kernels.board import Board, Options, ReadStudy
from readerstudy.leaderboard.kernels.release_rule import ToldCell


def board_of(
    option: NDArray[np.int8],
    key: NDArray[np.int8],
    *,
    cells: Sequence[ToldCell] | None = None,
    cluster: NDArray[np.int32] | None = None,
    edition: int = 1,
    n_editions: int = 1,
    without_images: Mapping[str, Options] | None = None,
    studies: Sequence[ReadStudy] = (),
    **about: Any,
) -> Board:
    """Tasks take turns; the entrants are called m0, m1, ..."""
    n = len(key)
    arrays = BankArrays(
        bank="Bank",
        slug="bank",
        simulated=True,
        cluster_level="patient",
        n_without_key=0,
        entrants=tuple(Entrant(f"m{row}", {"answers_sha256": f"{row}", **about}) for row in range(len(option))),
        key=key,
        task=(np.arange(n) % 5).astype(np.int8),
        category=("Heart",) * n,
        cluster=np.arange(n, dtype=np.int32) if cluster is None else cluster,
        option=option,
    )
    told = cells if cells is not None else (ToldCell("all", "All questions", n, tuple(range(1, n_editions + 1))),)
    return Board(
        arrays=arrays,
        difficulty=("easy",) * n,
        cells=tuple(told),
        edition=edition,
        n_editions=n_editions,
        without_images=without_images or {},
        studies=tuple(studies),
    )


def answered(key: NDArray[np.int8], shares: Sequence[float], rng: np.random.Generator) -> NDArray[np.int8]:
    """Of each share one row of answers that are right so often in the long run; the others are the next letter."""
    right = rng.random((len(shares), len(key))) < np.array(shares)[:, None]
    return np.where(right, key, (key + 1) % 4).astype(np.int8)
