"""Pairs of vectors that are near each other, drawn for people to judge, and what each threshold would leave. Pure.

The answer of ``/v1/embeddings`` as vectors of length 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.questionbank.kernels.neighbours import Neighbours, PairTally, SimilarPair
from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.reviewers import grade_agreement

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


DRAWS = 2_000
WIDTH, HEIGHT = 600, 200  # of the drawing


@dataclass(frozen=True)
class TwiceJudged:
    similarity: float
    first: bool  # the first person says that it is the same question
    second: bool


@dataclass(frozen=True)
class CurveBand:
    """Pairs from ``low`` to below ``high``, the last band to its end. Shares are of all its pairs, by Wilson.

    A threshold at ``low`` would leave ``n_missed`` pairs below it that both call the same, and have ``n_wrong`` pairs
    at or above it that both call different.
    """

    low: float
    high: float
    first: Estimate
    second: Estimate
    both: Estimate
    n_missed: int
    n_wrong: int


@dataclass(frozen=True)
class CurveMark:
    """A band in the drawing: the share that both call the same with its interval, from the upper left corner."""

    x: int
    y: int
    top: int
    bottom: int


@dataclass(frozen=True)
class ThresholdCurve:
    n: int
    n_same: int  # pairs that both call the same
    n_split: int  # pairs on which they differ
    kappa: Estimate
    bands: list[CurveBand]

    @property
    def marks(self) -> list[CurveMark]:
        found, width = [], WIDTH / max(1, len(self.bands))
        for number, band in enumerate(self.bands):
            if band.both.value is not None and band.both.ci95 is not None:
                low, high = band.both.ci95
                y, top, bottom = (round(HEIGHT * (1 - value)) for value in (band.both.value, high, low))
                found.append(CurveMark(round((number + 0.5) * width), y, top, bottom))
        return found

    @property
    def line(self) -> str:
        """The points of the curve as SVG wants them."""
        return " ".join(f"{mark.x},{mark.y}" for mark in self.marks)


def threshold_curve(pairs: Sequence[TwiceJudged], *, seed: int = 1) -> ThresholdCurve:
    """Ten bands of equal width over the similarities, one where all are equal.

    Kappa of the two comes with a percentile bootstrap over pairs.
    """
    similarity = np.array([one.similarity for one in pairs])
    codes = np.array([[one.first for one in pairs], [one.second for one in pairs]], dtype=np.int64).reshape(2, -1)
    units = units_of(np.arange(len(pairs)))
    agreement = grade_agreement(codes, 2, units, seed=seed, panel="pairs", draws=DRAWS)
    same, different = codes.sum(axis=0) == 2, codes.sum(axis=0) == 0
    edges = np.zeros(1)
    if pairs:
        least, most = similarity.min(), similarity.max()
        edges = np.linspace(least, most, (BANDS if most > least else 1) + 1)
    bands = []
    n_bands = len(edges) - 1
    for number in range(n_bands):
        low, high = edges[number], edges[number + 1]
        inside = (similarity >= low) & ((similarity < high) | (number == n_bands - 1))
        n = int(inside.sum())
        first, second, both = (share(int(judged[inside].sum()), n) for judged in (codes[0], codes[1], same))
        missed, wrong = int((same & (similarity < low)).sum()), int((different & (similarity >= low)).sum())
        bands.append(CurveBand(float(low), float(high), first, second, both, missed, wrong))
    # With two grades the linear weights are those of the plain kappa.
    n_split = int((codes[0] != codes[1]).sum())
    return ThresholdCurve(len(pairs), int(same.sum()), n_split, agreement["cohen_kappa_linear"], bands)
