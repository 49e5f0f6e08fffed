"""Pairs of vectors that are near each other by their cosine, block by block. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from annotation.diversity.kernels.unit_vectors import Vectors
from annotation.quality.kernels.neighbours import Neighbours, PairTally

ROWS, COLUMNS = 512, 4_096  # of a block
MARGIN = 0.02  # below the threshold pairs are looked for, too
NO_PAIR = -2
Watch = Callable[[int, int], object]
Block = tuple[int, int, NDArray[np.float32]]  # first row, first column, similarities


def blocks_of(vectors: Vectors, watch: Watch | None = None) -> Iterator[Block]:
    """All pairs of rows, the first before the second; what is none is NO_PAIR. What ``watch`` raises ends it."""
    n, done = len(vectors), 0
    total = sum(n - top for top in range(0, n, ROWS))
    for top in range(0, n, ROWS):
        for left in range(top, n, COLUMNS):
            yield top, left, block_at(vectors, top, left)
        done += n - top
        if watch is not None:
            watch(done, total)


def block_at(vectors: Vectors, top: int, left: int) -> NDArray[np.float32]:
    block = vectors[top : top + ROWS] @ vectors[left : left + COLUMNS].T
    if left == top:
        block[np.tril_indices(len(block), m=block.shape[1])] = NO_PAIR
    return block


def near_vectors(vectors: Vectors, threshold: float, watch: Watch | None = None) -> Neighbours:
    """Every pair at or above the threshold. Raises ValueError for one that is not above 0 and at most 1."""
    if not 0 < threshold <= 1:
        raise ValueError("a threshold is above 0 and at most 1")
    tally = PairTally(np.ones(len(vectors), dtype=np.int64), threshold)
    for top, left, block in blocks_of(vectors, watch):
        places = np.flatnonzero(block >= threshold - MARGIN)
        if len(places):
            first, second = np.divmod(places, block.shape[1])
            exact = np.minimum(np.round(block.ravel()[places].astype(np.float64), 6), 1)
            tally.keep(first + top, second + left, exact)
    return tally.result()
