"""How far the order of several raters is settled: the ranks that paired comparisons leave to each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.comparing import (
    ClusteredDifference,
    PairedTable,
    cluster_mcnemar_chi2,
    clustered_difference,
    differences,
    holm_adjusted,
    mcnemar_exact_p,
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
    if clustered:
        apart = [clustered_difference(correct[first], correct[second], cluster) for first, second in pairs]
        found = [one.difference for one in apart]
        p_values = [_p_by_cluster(correct, cluster, *pair, one) for pair, one in zip(pairs, apart, strict=True)]
    else:
        found = differences(tables)
        p_values = [mcnemar_exact_p(table) if table.n else None for table in tables]
    rows = zip(pairs, tables, found, p_values, holm_adjusted(p_values), strict=True)
    return [RankedPair(*pair, table, one, p, adjusted) for pair, table, one, p, adjusted in rows]


def _p_by_cluster(
    correct: NDArray[np.integer], cluster: NDArray[np.integer], first: int, second: int, apart: ClusteredDifference
) -> float | None:
    if apart.n_clusters < FEWEST_CLUSTERS:
        return None
    found = cluster_mcnemar_chi2(correct[first], correct[second], cluster)
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
