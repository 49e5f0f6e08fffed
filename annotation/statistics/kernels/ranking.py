"""Every pair of several raters on the same questions, and which ranks are settled. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.comparing import (
    ClusteredDifference,
    PairedTable,
    cluster_robust,
    differences,
    holm_adjusted,
    mcnemar_exact_p,
    obuchowski,
    paired_table,
)
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import FEWEST_CLUSTERS

SIGNIFICANT = 0.05  # of the adjusted p


@dataclass(frozen=True)
class RankedPair:
    """Two raters on the questions that count for both; rows of ``correct``, ``first`` before ``second``."""

    first: int
    second: int
    table: PairedTable
    difference: Estimate  # of the first minus the second, by cluster where questions share one
    p: float | None  # None: no common question, or too few clusters
    p_holm: float | None  # over all pairs

    @property
    def better(self) -> int | None:
        """The row that is significantly better; None where the order of the two is open."""
        if self.p_holm is None or self.p_holm >= SIGNIFICANT:
            return None
        return self.first if (self.difference.value or 0.0) > 0 else self.second


@dataclass(frozen=True)
class RankBand:
    """One more than the raters that are significantly better, to all but those that are significantly worse."""

    best: int
    worst: int


def ranked_pairs(correct: NDArray[np.integer], cluster: NDArray[np.integer], *, clustered: bool) -> list[RankedPair]:
    """Every pair of rows of ``correct``, shape (raters, questions), adjusted by Holm as one family.

    Exact McNemar, Tango's interval; where questions share exams or patients (``clustered``) Obuchowski's test and the
    cluster-robust interval. Fewer than 10 clusters: no p, and the order stays open.
    """
    pairs = list(combinations(range(len(correct)), 2))
    tables = [paired_table(correct[first], correct[second]) for first, second in pairs]
    found: list[Estimate]
    p_values: list[float | None]
    if clustered:
        found, p_values = [], []
        for differences_of_pair, trials in _pairs_by_cluster(correct, cluster):
            apart = cluster_robust(differences_of_pair, trials)
            found.append(apart.difference)
            p_values.append(_p_by_cluster(differences_of_pair, apart))
    else:
        found = differences(tables)
        p_values = [mcnemar_exact_p(table) if table.n else None for table in tables]
    rows = zip(pairs, tables, found, p_values, holm_adjusted(p_values), strict=True)
    return [RankedPair(*pair, table, one, p, adjusted) for pair, table, one, p, adjusted in rows]


def _pairs_by_cluster(
    correct: NDArray[np.integer], cluster: NDArray[np.integer]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """``_by_cluster`` of every pair of rows, in the order of ``combinations``; those of one row are made at once."""
    order = np.argsort(cluster, kind="stable")
    starts = np.flatnonzero(np.diff(cluster[order], prepend=cluster.min(initial=0) - 1))
    counted = np.ascontiguousarray(correct[:, order] >= 0)
    right = np.where(counted, correct[:, order], 0).astype(np.int8)
    for row in range(len(correct) - 1):
        both = counted[row] & counted[row + 1 :]
        apart = np.add.reduceat((right[row] - right[row + 1 :]) * both, starts, axis=1, dtype=np.int64)
        trials = np.add.reduceat(both, starts, axis=1, dtype=np.int64)
        for of_pair, n in zip(apart, trials, strict=True):
            yield of_pair[n > 0].astype(np.float64), n[n > 0]


def _p_by_cluster(of_pair: NDArray[np.float64], apart: ClusteredDifference) -> float | None:
    if apart.n_clusters < FEWEST_CLUSTERS:
        return None
    found = obuchowski(of_pair, apart.difference.n)
    return 1.0 if found.p is None and found.n else found.p  # two that never differ are no evidence of an order


def rank_bands(n: int, pairs: Sequence[RankedPair]) -> list[RankBand]:
    """Of each of ``n`` raters the best and the worst rank that the pairs leave to it; 1 is the best."""
    above, below = [0] * n, [0] * n
    for pair in pairs:
        if pair.better is not None:
            worse = pair.second if pair.better == pair.first else pair.first
            above[worse] += 1
            below[pair.better] += 1
    return [RankBand(1 + more, n - fewer) for more, fewer in zip(above, below, strict=True)]
