"""Pairs of vectors that are near each other by their cosine, block by block. Pure.

The answer of ``/v1/embeddings`` as vectors of length 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.quality.kernels.neighbours import Neighbours, PairTally

Vectors = NDArray[np.float32]  # shape (n, dimension)


def unit_vectors(body: bytes, n_texts: int) -> Vectors:
    """In the order of the texts, whatever the order of the answer.

    Raises ValueError with what is wrong: another number of vectors, of different lengths, not finite, or all zero.
    """
    try:
        rows = sorted(json.loads(body)["data"], key=lambda row: int(row["index"]))
        numbers, lists = [int(row["index"]) for row in rows], [row["embedding"] for row in rows]
    except (KeyError, TypeError, ValueError):
        raise ValueError("it is no list of embeddings") from None
    if numbers != list(range(n_texts)):
        raise ValueError(f"{n_texts} texts were sent, and {len(rows)} vectors came")
    if not all(isinstance(one, list) and one and len(one) == len(lists[0]) for one in lists):
        raise ValueError("its vectors are no lists of numbers of one length")
    return of_length_1(lists)


def of_length_1(rows: Any) -> Vectors:
    """Raises ValueError for a vector that holds no number, is zero or not finite."""
    try:
        vectors = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("its vectors hold what is no number") from None
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise ValueError("a vector is zero or not finite")
    return np.asarray(vectors / lengths, dtype=np.float32)


# --- Pairs of vectors that are near each other by their cosine, block by block. Pure --------------
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
