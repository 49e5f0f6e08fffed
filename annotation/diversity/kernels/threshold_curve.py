"""How many pairs two people call the same question, by similarity; and what each threshold would leave on the wrong
side. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.reviewers import grade_agreement

BANDS = 10
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
