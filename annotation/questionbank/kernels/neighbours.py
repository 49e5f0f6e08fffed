"""Near-duplicates: questions whose stem and options are similar, by TF-IDF and cosine, in one bank or two. Pure.

Every pair at or above the threshold is found, none is estimated. Words are put together into few buckets; of two
texts the product of the lengths in each bucket, added up, is never below their similarity (Cauchy and Schwarz). That
is a product of small dense matrices, block by block, of which memory holds a few; only the few pairs that it leaves
are multiplied out. Questions of the same words count once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import TfidfVectorizer

from annotation.questionbank.kernels.rules import THRESHOLD

MARGIN, SMALL_MARGIN = 0.05, 0.3  # below the threshold pairs are looked for, too: who sets it sees what it leaves out
SMALL = 10_000  # questions, of which all those pairs are soon multiplied out
SHOWN = 10  # pairs on each side of the threshold
BUCKETS = 128
ROWS, COLUMNS = 256, 2_048  # of a block: its products stay in the cache of a core
VERIFIED = 50_000  # pairs multiplied out at once
THREADS = 2
_WORD = r"(?u)\b\w+\b"  # one letter is a word, too: option texts hold numbers

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Watch = Callable[[int, int], object]
FoundPairs = tuple[Ints, Ints, Floats]  # first row, second row, similarity


@dataclass(frozen=True)
class SimilarPair:
    """Two rows, the first before the second."""

    first: int
    second: int
    similarity: float


@dataclass
class Neighbours:
    """Of each row the nearest other one at or above the threshold, -1 where there is none; of equals the first.

    ``n_similar`` counts all others at or above it. ``first_of``: the first row of its group, into which each brings
    whatever is near it; of who is near nobody the row itself. ``around``: up to ten pairs of different words just below
    the threshold and just above it, by similarity.
    """

    threshold: float
    nearest: Ints
    similarity: Floats
    n_similar: Ints
    first_of: Ints
    around: list[SimilarPair] = field(default_factory=list)

    @property
    def n_pairs(self) -> int:
        return int(self.n_similar.sum()) // 2


def find_neighbours(texts: Sequence[str], threshold: float = THRESHOLD, watch: Watch | None = None) -> Neighbours:
    """Near-duplicates among texts; ``watch`` gets how many of how many blocks are done.

    Raises ValueError for a threshold that is not above 0 and at most 1.
    """
    if not 0 < threshold <= 1:
        raise ValueError("a threshold is above 0 and at most 1")
    rows = _vectors(texts)
    if rows is None:
        return Neighbours(threshold, *_nobody(len(texts)))
    first, group = _same_words(rows)
    unique = _Unique(rows[first], np.bincount(group), threshold)
    unique.search(watch or _unwatched)
    return unique.of_all(first, group)


def find_twins(
    own: Sequence[str], others: Sequence[str], threshold: float = THRESHOLD, watch: Watch | None = None
) -> Neighbours:
    """The same for pairs of one text of ``own`` and one of ``others``: a row of ``own``, its nearest of ``others``.

    How rare a word is, is counted over all texts. Of ``around`` the second row is one of ``others``.
    """
    if not 0 < threshold <= 1:
        raise ValueError("a threshold is above 0 and at most 1")
    rows = _vectors([*own, *others])
    if rows is None or not own or not others:
        return Neighbours(threshold, *_nobody(len(own)))
    (first, group), (first_other, group_other) = _same_words(rows[: len(own)]), _same_words(rows[len(own) :])
    n_rows = np.concatenate((np.bincount(group), np.bincount(group_other)))
    unique = _Unique(rows[np.concatenate((first, first_other + len(own)))], n_rows, threshold, n_own=len(first))
    unique.search(watch or _unwatched)
    return unique.of_own(first, group, first_other)


def _unwatched(_done: int, _total: int) -> None:
    pass


def _nobody(n: int) -> tuple[Ints, Floats, Ints, Ints]:
    return np.full(n, -1, dtype=np.int64), np.zeros(n), np.zeros(n, dtype=np.int64), np.arange(n)


def _vectors(texts: Sequence[str]) -> Any | None:
    """TF-IDF of length 1, a row for each text; None where no text holds a word."""
    try:
        rows = TfidfVectorizer(token_pattern=_WORD, dtype=np.float32).fit_transform(texts)
    except ValueError:  # an empty vocabulary
        return None
    rows = csr_array(rows)
    rows.sort_indices()
    return rows


def _same_words(rows: Any) -> tuple[Ints, Ints]:
    """The first row of each group of equal ones, and the group of each row."""
    numbers: dict[int, int] = {}
    first: list[int] = []
    group = np.empty(rows.shape[0], dtype=np.int64)
    ends = rows.indptr.tolist()
    for row, (start, end) in enumerate(pairwise(ends)):
        own = hash((rows.indices[start:end].tobytes(), rows.data[start:end].tobytes()))
        group[row] = numbers.setdefault(own, len(numbers))
        if len(numbers) > len(first):
            first.append(row)
    return np.array(first, dtype=np.int64), group


class PairTally:
    """Counts near pairs as they are found, each once; ``n_rows`` says how many questions each row represents."""

    def __init__(self, n_rows: Ints, threshold: float) -> None:
        self.n_rows, self.threshold = n_rows, threshold
        self.nearest, self.similarity, self.n_similar, self._up = _nobody(len(n_rows))
        self.below, self.above = _Kept(highest=True), _Kept(highest=False)

    def keep(self, first: Ints, second: Ints, exact: Floats) -> None:
        similar = exact >= self.threshold
        self.below.keep(first[~similar], second[~similar], exact[~similar])
        self.above.keep(first[similar], second[similar], exact[similar])
        self._count(first[similar], second[similar], exact[similar])
        self._join(first[similar], second[similar])

    def _join(self, first: Ints, second: Ints) -> None:
        """Put their groups together, under the first row of either."""
        rows, places = np.unique(np.concatenate((self.firsts(first), self.firsts(second))), return_inverse=True)
        ends = places.reshape(2, -1)
        graph = csr_array((np.ones(len(first)), (ends[0], ends[1])), shape=(len(rows), len(rows)))
        _n, group = connected_components(graph, directed=False)
        lowest = np.full(len(rows), len(self._up))
        np.minimum.at(lowest, group, rows)
        self._up[rows] = lowest[group]

    def firsts(self, rows: Ints) -> Ints:
        """The first row of the group of each, as far as pairs were found."""
        while (up := self._up[rows]).tobytes() != rows.tobytes():
            rows = up
        return rows

    def _count(self, first: Ints, second: Ints, exact: Floats) -> None:
        for one, other in ((first, second), (second, first)):
            np.add.at(self.n_similar, one, self.n_rows[other])
            order = np.lexsort((other, -exact, one))
            best = order[np.unique(one[order], return_index=True)[1]]
            rows, others, values = one[best], other[best], exact[best]
            better = (values > self.similarity[rows]) | (
                (values == self.similarity[rows]) & (others < self.nearest[rows])
            )
            self.nearest[rows[better]], self.similarity[rows[better]] = others[better], values[better]

    def result(self) -> Neighbours:
        pairs = sorted([*self.below.pairs(), *self.above.pairs()])
        around = [SimilarPair(first, second, similar) for similar, first, second in pairs]
        first_of = self.firsts(np.arange(len(self.nearest)))
        return Neighbours(self.threshold, self.nearest, self.similarity, self.n_similar, first_of, around)


class _Unique(PairTally):
    """The search among rows of different words.

    ``n_own``: only pairs of one of the first so many rows and one of those behind them.
    """

    def __init__(self, rows: Any, n_rows: Ints, threshold: float, n_own: int | None = None) -> None:
        super().__init__(n_rows, threshold)
        self.rows, self.n_own = rows, n_own
        self.floor = max(threshold / 2, threshold - (SMALL_MARGIN if rows.shape[0] <= SMALL else MARGIN))
        self.lengths = _bucket_lengths(rows)

    def search(self, watch: Watch) -> None:
        """Every pair once. What ``watch`` raises ends the search."""
        n, done = self.rows.shape[0], 0
        tops = range(0, n if self.n_own is None else self.n_own, ROWS)
        total = sum(n - self._left(top) for top in tops)
        pool = ThreadPoolExecutor(THREADS)
        try:
            for top, found in zip(tops, pool.map(self._strip, tops), strict=True):
                for first, second, exact in found:
                    self.keep(first, second, exact)
                done += n - self._left(top)
                watch(done, total)
        finally:
            pool.shutdown(cancel_futures=True)

    def _left(self, top: int) -> int:
        """The first row that is compared with those from ``top`` on."""
        return top if self.n_own is None else self.n_own

    def _strip(self, top: int) -> list[FoundPairs]:
        """Some rows with all that come after them."""
        rows = self.lengths[top : min(top + ROWS, self.n_own or top + ROWS)]
        chosen: list[Ints] = []
        for left in range(self._left(top), len(self.lengths), COLUMNS):
            columns = self.lengths[left : left + COLUMNS]
            places = np.flatnonzero(rows @ columns.T >= self.floor - 1e-4)
            if len(places):
                pairs = np.stack((places // len(columns) + top, places % len(columns) + left))
                chosen.append(pairs[:, pairs[0] < pairs[1]])
        if not chosen:
            return []
        first, second = np.concatenate(chosen, axis=1)
        parts = (slice(start, start + VERIFIED) for start in range(0, len(first), VERIFIED))
        return [self._multiplied_out(first[part], second[part]) for part in parts]

    def _multiplied_out(self, first: Ints, second: Ints) -> FoundPairs:
        """Those that are at least as similar as is looked for."""
        exact = np.asarray(self.rows[first].multiply(self.rows[second]).sum(axis=1), dtype=np.float64).ravel()
        exact = np.minimum(np.round(exact, 6), 1)
        near = exact >= self.floor
        return first[near], second[near], exact[near]

    def of_all(self, first: Ints, group: Ints) -> Neighbours:
        """The result for all rows, those of equal words again one by one."""
        nearest = np.where(self.nearest[group] >= 0, first[self.nearest[group]], -1)
        similarity, n_similar = self.similarity[group], self.n_similar[group]
        is_several = self.n_rows[group] > 1
        rows = np.arange(len(group))
        is_first = rows == first[group]
        nearest = np.where(is_several, np.where(is_first, _second_of(group, first), first[group]), nearest)
        similarity = np.where(is_several, 1.0, similarity)
        n_similar = n_similar + self.n_rows[group] - 1
        pairs = [*self.below.pairs(), *self.above.pairs()]
        around = [SimilarPair(int(first[a]), int(first[b]), similar) for similar, a, b in sorted(pairs)]
        return Neighbours(self.threshold, nearest, similarity, n_similar, first[self.firsts(group)], around)

    def of_own(self, first: Ints, group: Ints, first_other: Ints) -> Neighbours:
        """The result for all own rows of two banks, with the numbers that rows have in theirs."""
        n_own = len(first)
        nearest, n_similar = self.nearest[group], self.n_similar[group]
        nearest = np.where(nearest >= 0, first_other[np.maximum(nearest - n_own, 0)], -1)
        pairs = sorted([*self.below.pairs(), *self.above.pairs()])
        around = [SimilarPair(int(first[a]), int(first_other[b - n_own]), similar) for similar, a, b in pairs]
        alone = np.arange(len(group))  # of twins none is left out for another
        return Neighbours(self.threshold, nearest, self.similarity[group], n_similar, alone, around)


def _second_of(group: Ints, first: Ints) -> Ints:
    """For each row the second row of its group, -1 where there is none."""
    rows = np.arange(len(group))
    rest = rows[rows != first[group]]
    second = np.full(len(first), -1, dtype=np.int64)
    second[group[rest][::-1]] = rest[::-1]
    return second[group]


def _bucket_lengths(rows: Any) -> NDArray[np.float32]:
    """Of each row the length that it has in each bucket of words, shape (rows, BUCKETS)."""
    squares = csr_array((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)
    n_words = rows.shape[1]
    buckets = _buckets(np.bincount(rows.indices, squares.data, minlength=n_words).astype(np.float64))
    of_word = csr_array((np.ones(n_words, dtype=np.float32), buckets, np.arange(n_words + 1)), shape=(n_words, BUCKETS))
    lengths = np.empty((rows.shape[0], BUCKETS), dtype=np.float32)
    for start in range(0, len(lengths), COLUMNS):
        lengths[start : start + COLUMNS] = np.sqrt((squares[start : start + COLUMNS] @ of_word).toarray())
    return lengths


def _buckets(weights: Floats) -> Ints:
    """The heaviest words apart, the others where there is least so far."""
    free = [(0.0, bucket) for bucket in range(BUCKETS)]
    found = np.empty(len(weights), dtype=np.int64)
    for word in np.argsort(-weights, kind="stable").tolist():
        weight, bucket = free[0]
        found[word] = bucket
        heapq.heapreplace(free, (weight + float(weights[word]), bucket))
    return found


class _Kept:
    """The pairs nearest to the threshold on one side of it."""

    def __init__(self, *, highest: bool) -> None:
        self._sign = -1 if highest else 1
        self._found: list[tuple[float, int, int]] = []

    def keep(self, first: Ints, second: Ints, exact: Floats) -> None:
        order = np.lexsort((second, first, self._sign * exact))[:SHOWN]
        new = zip(exact[order].tolist(), first[order].tolist(), second[order].tolist(), strict=True)
        best = sorted([*self._found, *new], key=lambda pair: (self._sign * pair[0], pair[1], pair[2]))
        self._found = best[:SHOWN]

    def pairs(self) -> list[tuple[float, int, int]]:
        return self._found
