"""The bootstrap: questions or clusters of questions, such as exams, are drawn again with replacement; raters stay.

Everything that is resampled here is a function of counts or sums over questions. So a draw never copies questions:
it is a small table drawn from a multinomial distribution, or how often each cluster was drawn times what each cluster
holds, as one product of matrices [1]_.

References
----------
.. [1] B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 13.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.estimate import (
    FEW_CLUSTERS,
    FEWEST_FOR_INTERVAL,
    NO_VARIATION,
    NO_WIDTH,
    UNSTABLE_BOOTSTRAP,
    Interval,
)

DRAWS = 10_000
BY_QUESTION, BY_CLUSTER = "bootstrap_questions", "bootstrap_clusters"
FEWEST_CLUSTERS = 10
MOST_UNDEFINED = 0.05
SHARES = (0.025, 0.975)
CELLS_AT_ONCE = 4_000_000  # of draws by units: a block stays within some 50 MB
FEW_UNITS = 0.5  # of all units: where fewer than this share add anything, only they are multiplied
IN_CACHE = 50_000  # counts of a few draws, where there are few units
EXACT_IN_SINGLE = 2**24  # whole numbers up to here add up exactly in 32-bit floats, in any order

Floats = NDArray[np.float64]
Kind = type[np.float32 | np.float64]
Number = TypeVar("Number", bound=np.number)


@dataclass(frozen=True)
class Units:
    """What is drawn: single questions, or clusters of them when any cluster holds more than one question.

    ``number`` is the unit of each question, shape (questions,), 0 to m - 1, none of them empty.
    """

    number: NDArray[np.int64]
    m: int
    clustered: bool

    @property
    def method(self) -> str:
        return BY_CLUSTER if self.clustered else BY_QUESTION

    def sums(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Rows of questions, shape (questions, ...), added up by unit: shape (m, ...)."""
        if not self.clustered:
            return columns
        order = np.argsort(self.number, kind="stable")
        starts = np.searchsorted(self.number[order], np.arange(self.m))
        return np.asarray(np.add.reduceat(columns[order], starts, axis=0))

    def counts(self, columns: Sequence[NDArray[np.bool_ | np.integer]]) -> list[NDArray[np.floating]]:
        """Of each array of flags or counts, shape (columns, questions), what a unit adds: shape (m, columns).

        In the floats in which they add up exactly over all units.
        """
        order = np.argsort(self.number, kind="stable")
        starts = np.searchsorted(self.number[order], np.arange(self.m))
        largest = int(np.diff(starts, append=len(order)).max(initial=0))
        kinds = [exact_kind(self.m, largest * int(one.max(initial=0))) for one in columns]
        if not self.clustered:
            return [one.T.astype(kind) for one, kind in zip(columns, kinds, strict=True)]
        return [
            np.add.reduceat(one[:, order], starts, axis=1, dtype=kind).T
            for one, kind in zip(columns, kinds, strict=True)
        ]


def units_of(cluster: NDArray[np.integer]) -> Units:
    """The units of a panel, from the exam or patient of each of its questions, shape (questions,)."""
    present, number = np.unique(cluster, return_inverse=True)
    if len(present) == len(cluster):
        return Units(np.arange(len(cluster)), len(cluster), clustered=False)
    return Units(number, len(present), clustered=True)


def generator(seed: int, panel: str, family: str) -> np.random.Generator:
    """The source of draws of one family of statistics in one panel: PCG64, whatever was computed before.

    ``seed`` is that of the study, 0 or above. Statistics that are compared share one family, and so their draws.
    """
    words = int.from_bytes(sha256(f"{panel}\n{family}".encode()).digest(), "big")
    return np.random.Generator(np.random.PCG64([seed, words]))


def resampled_tables(table: NDArray[np.integer], rng: np.random.Generator, draws: int = DRAWS) -> NDArray[np.int64]:
    """Question bootstrap of one table of counts, of any shape: Multinomial(n, table / n).

    Returns
    -------
    int array, shape (draws, *table.shape); all zero for a table without questions.
    """
    n = int(table.sum())
    if n == 0:
        return np.zeros((draws, *table.shape), dtype=np.int64)
    return _draws_inside(rng.multinomial(n, table.ravel() / n, size=draws).T, table.shape)


def resampled_totals(columns: NDArray[Any], rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Bootstrap of units (clusters, or single questions): sums over m units drawn with replacement.

    Parameters
    ----------
    columns : array, shape (m, ...)
        What each unit adds to each sum, or 32-bit floats that ``exact_kind`` allowed. All statistics made from one call
        share their draws.

    Returns
    -------
    float array, shape (draws, ...). Sums of whole numbers are exact; the draws depend on m and the generator only.
    """
    return resampled_each([columns], rng, draws)[0]


def resampled_each(parts: Sequence[NDArray[Any]], rng: np.random.Generator, draws: int = DRAWS) -> list[Floats]:
    """``resampled_totals`` of several arrays about the same m units, all on the same draws."""
    m, shapes = len(parts[0]), [part.shape[1:] for part in parts]
    if m == 0:
        return [np.zeros((draws, *shape)) for shape in shapes]
    flat = [_for_products(part.reshape(m, -1)) for part in parts]
    chosen = [_units_with_something(part) for part in flat]
    flat = [part if some is None else part[some] for part, some in zip(flat, chosen, strict=True)]
    totals = [np.empty((part.shape[1], draws)) for part in flat]
    for start, counts in _blocks(m, rng, draws):
        for part, some, total in zip(flat, chosen, totals, strict=True):
            of_units = counts if some is None else counts[:, some]
            drawn = slice(start, start + len(counts))
            total[:, drawn] = part.T @ of_units.T.astype(part.dtype, copy=False)
    return [_draws_inside(total, shape) for total, shape in zip(totals, shapes, strict=True)]


def _blocks(m: int, rng: np.random.Generator, draws: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The counts of some draws with the number of the first; the next ones are drawn while these are multiplied."""
    step = max(1, CELLS_AT_ONCE // m)
    starts = range(0, draws, step)
    with ThreadPoolExecutor(1) as ahead:
        sizes = iter([min(step, draws - start) for start in starts])
        coming = ahead.submit(drawn_counts, m, rng, next(sizes), np.float32)
        for start in starts:
            counts = coming.result()
            if (size := next(sizes, 0)) > 0:
                coming = ahead.submit(drawn_counts, m, rng, size, np.float32)
            yield start, counts


def _units_with_something(part: NDArray[np.floating]) -> NDArray[np.intp] | None:
    """The units that add anything, where they are few; None where nearly all of them do."""
    some = np.flatnonzero(part.any(axis=1))
    return some if len(some) < FEW_UNITS * len(part) else None


def _for_products(flat: NDArray[Any]) -> NDArray[np.floating]:
    """As floats of 32 bits where they are already, or where whole numbers add up exactly in them; else of 64."""
    kind: Kind = np.float64
    if np.issubdtype(flat.dtype, np.integer):
        kind = exact_kind(len(flat), int(np.abs(flat).max(initial=0)))
    elif flat.dtype == np.float32:
        kind = np.float32
    return flat.astype(kind, copy=False)


def exact_kind(m: int, largest: int) -> Kind:
    """The floats in which m whole numbers up to ``largest`` add up exactly, of 32 bits where they do: twice as fast."""
    return np.float32 if m * largest < EXACT_IN_SINGLE else np.float64


def _draws_inside(totals: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Cells by draws as draws by ``shape``, with the draws of a cell side by side in memory.

    What is computed of tables adds up over their few cells: numpy does that three times as fast along many draws.
    """
    return np.moveaxis(np.ascontiguousarray(totals).reshape(*shape, totals.shape[1]), -1, 0)


def drawn_counts(m: int, rng: np.random.Generator, draws: int, kind: type[Number]) -> NDArray[Number]:
    """How often each of m units was drawn in m draws: Multinomial(m, 1/m), shape (draws, m), numbers of ``kind``."""
    counts = np.empty((draws, m), dtype=kind)
    step = max(1, IN_CACHE // max(m, 1))
    for start in range(0, draws, step):  # not all at once: that would leave the cache of the processor
        block = counts[start : start + step]
        drawn = rng.integers(m, size=block.shape, dtype=np.int32) + np.arange(len(block))[:, np.newaxis] * m
        block[:] = np.bincount(drawn.ravel(), minlength=block.size).reshape(block.shape)
    return counts


@dataclass(frozen=True)
class Bootstrapped:
    """Percentile limits of one statistic, the share of draws in which it was undefined, and why there are no limits."""

    ci95: Interval | None
    bootstrap_undefined_fraction: float
    flags: tuple[str, ...] = ()


def percentile_intervals(
    replicates: NDArray[np.floating], n: NDArray[np.integer] | int, n_clusters: NDArray[np.integer] | int | None = None
) -> list[Bootstrapped]:
    """Percentile intervals of statistics, each over the draws in which it is defined.

    Parameters
    ----------
    replicates : float array, shape (draws, statistics)
        NaN: undefined in this draw.
    n : int or int array, shape (statistics,)
        Questions behind each; no interval below 10.
    n_clusters : int, int array or None
        Clusters behind each where clusters were drawn; no interval below 10, flag ``few_clusters``.

    Returns
    -------
    One ``Bootstrapped`` for each statistic. Above 5 % of undefined draws: no limits, flag ``unstable_bootstrap``. All
    draws the same: no limits, flag ``no_variation``, since a width of zero would say that nothing is uncertain.
    """
    draws, size = replicates.shape
    limits = percentiles(replicates)
    undefined = np.isnan(replicates).sum(axis=0) / draws
    widths = np.fmax.reduce(replicates, axis=0) - np.fmin.reduce(replicates, axis=0)
    questions = np.broadcast_to(n, size)
    clusters = None if n_clusters is None else np.broadcast_to(n_clusters, size)
    found = []
    for each in range(size):
        flags = []
        if clusters is not None and clusters[each] < FEWEST_CLUSTERS:
            flags.append(FEW_CLUSTERS)
        if undefined[each] > MOST_UNDEFINED:
            flags.append(UNSTABLE_BOOTSTRAP)
        if widths[each] < NO_WIDTH and questions[each] >= FEWEST_FOR_INTERVAL:
            flags.append(NO_VARIATION)
        without = bool(flags) or questions[each] < FEWEST_FOR_INTERVAL
        low, high = limits[:, each].tolist()
        found.append(Bootstrapped(None if without else (low, high), float(undefined[each]), tuple(flags)))
    return found


def percentiles(replicates: NDArray[np.floating], shares: tuple[float, ...] = SHARES) -> Floats:
    """Quantiles over the first axis by linear interpolation (type 7), NaN left out; NaN where nothing is left.

    Returns shape (shares, *replicates.shape[1:]).
    """
    ordered = np.sort(replicates, axis=0)  # NaN last
    last = (~np.isnan(replicates)).sum(axis=0) - 1
    found = np.empty((len(shares), *replicates.shape[1:]))
    for row, share in enumerate(shares):
        place = share * np.maximum(last, 0)
        below = np.floor(place).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(last, 0))
        low = np.take_along_axis(ordered, below[np.newaxis], axis=0)[0]
        high = np.take_along_axis(ordered, above[np.newaxis], axis=0)[0]
        found[row] = low + (high - low) * (place - below)
    return found
