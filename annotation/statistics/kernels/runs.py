"""How much repeated runs of one model on the same questions differ in accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from annotation.statistics.kernels.estimate import TOO_FEW, ZERO_TRIALS, Estimate, undefined

MEAN, SD = "mean_of_runs", "sd_of_runs"


@dataclass(frozen=True)
class RunSpread:
    """Mean and standard deviation (R - 1) over R runs; n of both is R."""

    n_runs: int
    mean: Estimate
    sd: Estimate


def run_spread(accuracies: Sequence[float | None]) -> RunSpread:
    """``accuracies``: of each run, None where none of its questions counts; both are undefined then.

    The deviation of a single run is undefined, ``too_few``.
    """
    n, known = len(accuracies), [one for one in accuracies if one is not None]
    if n == 0 or len(known) < n:
        return RunSpread(n, undefined(ZERO_TRIALS, n=n, method=MEAN), undefined(ZERO_TRIALS, n=n, method=SD))
    sd = Estimate(stdev(known), None, n, SD) if n > 1 else undefined(TOO_FEW, n=n, method=SD)
    return RunSpread(n, Estimate(fmean(known), None, n, MEAN), sd)
