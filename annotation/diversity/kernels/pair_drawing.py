"""Pairs of vectors drawn over the range of their similarity, each pair of a band with the same chance. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from annotation.diversity.kernels.near_vectors import NO_PAIR, Vectors, Watch, block_at, blocks_of
from annotation.quality.kernels.neighbours import SimilarPair

BANDS = 10
STEPS = 100  # for each 1 of similarity

Ints = NDArray[np.int64]


def drawn_pairs(vectors: Vectors, n_pairs: int, *, seed: int, watch: Watch | None = None) -> list[SimilarPair]:
    """The range from the least to the most similar pair in ten bands, as many pairs of each; in a drawn order.

    A band that has too few gives all, and the others more. All pairs are counted first; then only the blocks are looked
    at again in which one was drawn.
    """
    places: list[tuple[int, int]] = []
    counted: list[Ints] = []
    for top, left, block in blocks_of(vectors, watch):
        places.append((top, left))
        counted.append(np.bincount(_steps(block[block != NO_PAIR]), minlength=2 * STEPS + 1))
    if not counted or not np.any(counted):
        return []
    steps = np.flatnonzero(np.sum(counted, axis=0))
    bands = np.array_split(np.arange(steps[0], steps[-1] + 1), BANDS)
    by_block = np.array([[counts[band].sum() for band in bands] for counts in counted])  # shape (blocks, bands)
    rng = np.random.default_rng(seed)
    found: list[SimilarPair] = []
    for number, n in enumerate(shares_of(by_block.sum(axis=0), n_pairs)):
        ranks = rng.choice(int(by_block[:, number].sum()), size=n, replace=False) if n else np.empty(0, np.int64)
        ends = np.cumsum(by_block[:, number])
        for place in np.unique(np.searchsorted(ends, ranks, side="right")).tolist():
            begin = ends[place] - by_block[place, number]
            own = ranks[(ranks >= begin) & (ranks < ends[place])] - begin
            top, left = places[place]
            found += _pairs_at(vectors, top, left, bands[number], own)
    return [found[place] for place in rng.permutation(len(found))]


def _steps(similarities: NDArray[np.float32]) -> Ints:
    return np.clip((similarities.astype(np.float64) + 1) * STEPS, 0, 2 * STEPS).astype(np.int64)


def shares_of(counts: Ints, n_pairs: int) -> list[int]:
    """How many of each band: one more in turn, where there is one, until there are enough."""
    taken = np.zeros(len(counts), dtype=np.int64)
    while taken.sum() < min(n_pairs, counts.sum()):
        for band in np.flatnonzero(taken < counts)[::-1].tolist():  # the most similar first: there pairs are few
            if taken.sum() < n_pairs:
                taken[band] += 1
    return [int(n) for n in taken]


def _pairs_at(vectors: Vectors, top: int, left: int, band: Ints, ranks: Ints) -> list[SimilarPair]:
    block = block_at(vectors, top, left)
    steps = _steps(block.ravel())
    inside = np.flatnonzero((block.ravel() != NO_PAIR) & (steps >= band[0]) & (steps <= band[-1]))[ranks]
    first, second = np.divmod(inside, block.shape[1])
    values = np.minimum(np.round(block.ravel()[inside].astype(np.float64), 6), 1)
    rows = zip(first.tolist(), second.tolist(), values.tolist(), strict=True)
    return [SimilarPair(a + top, b + left, value) for a, b, value in rows]
