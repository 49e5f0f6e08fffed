"""Times per case: of each reader, of all readers, and the lines that show how much the rules matter.

Pure. Seconds of active time; docs/analysis.md defines which times count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels import timing
from annotation.statistics.kernels.estimate import CENSORED, ONE_RATER, TOO_FEW, ZERO_TRIALS, Estimate, undefined
from readerstudy.analysis.kernels.arrays import State, StudyArrays
from readerstudy.analysis.kernels.result import AllTimes, ReaderTimes, TimeResult, Times, VarianceParts

RULE = (
    "active time of answered and declined cases; a case that ended at a limit stands in the order at that limit and "
    "has no exact time; none with an excluding flag; voided cases left out; nothing trimmed"
)
TIMED = (State.ANSWERED, State.DECLINED)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Seconds:
    """Times of readers; arrays of shape (readers, questions), NaN: none."""

    all: Floats  # those that ended at a limit stand at that limit
    censored: NDArray[np.bool_]

    @property
    def exact(self) -> Floats:
        return np.where(self.censored, np.nan, self.all)

    def at(self, kept: NDArray[np.bool_] | int) -> Seconds:
        """Those of one reader, or only some of them."""
        if isinstance(kept, int):
            return Seconds(self.all[kept], self.censored[kept])
        return Seconds(np.where(kept, self.all, np.nan), self.censored & kept)

    @property
    def n_censored(self) -> int:
        return int(self.censored.sum())


def time_results(arrays: StudyArrays) -> TimeResult:
    """``rule``, ``readers`` (one entry each), ``all`` and the sensitivity analyses; n is 0 where no time was kept."""
    readers = arrays.readers
    times = _times_of(arrays)
    position = arrays.position[readers].astype(float)
    return {
        "rule": RULE,
        "unit": "s",
        "readers": [
            _of_reader(arrays.raters[row].name, times.at(place), position[place])
            for place, row in enumerate(readers.tolist())
        ],
        "all": _of_all(times, position),
        "sensitivity": {
            "winsorised": _middle(_winsorised(times)),
            "without_quiet_or_blurred": _middle(times.at(~arrays.times.disturbed[readers])),
        },
    }


def _times_of(arrays: StudyArrays) -> Seconds:
    times, readers = arrays.times, arrays.readers
    known = ~np.isnan(times.active_ms)
    censored = (times.censored & known)[readers]
    counted = (np.isin(arrays.state, TIMED) & known)[readers] | censored
    return Seconds(np.where(counted, times.active_ms[readers] / 1000, np.nan), censored)


def _winsorised(times: Seconds) -> Seconds:
    """Only the mean depends on the longest times, and it is not known where one is censored: then as they are."""
    if times.n_censored:
        return times
    seconds = times.all.copy()
    seconds[~np.isnan(seconds)] = timing.winsorised(seconds[~np.isnan(seconds)])
    return Seconds(seconds, times.censored)


def _of_reader(name: str, times: Seconds, position: Floats) -> ReaderTimes:
    placed = times.at(position > 0)
    exact = ~np.isnan(placed.exact)
    of_order = placed.exact[exact], position[exact].astype(np.int64), placed.n_censored
    slope = timing.log_slope_per_position(*of_order)
    return {
        "name": name,
        **_middle(times),
        "log_slope_per_position": slope.as_json(),
        "percent_per_ten": timing.percent_per_ten(slope).as_json(),
        "spearman_time_vs_position": timing.spearman_time_vs_position(*of_order).as_json(),
    }


def _of_all(times: Seconds, position: Floats) -> AllTimes:
    placed = times.at(position > 0)
    pooled = timing.pooled_log_slope_adjusted(placed.exact, position, placed.n_censored)
    return {
        **_middle(times),
        "pooled_log_slope_adjusted": {**pooled.slope.as_json(), "se": pooled.se, "df": pooled.df},
        "percent_per_ten": timing.percent_per_ten(pooled.slope).as_json(),
        "log_time_variance_components": _components(times),
    }


def _components(times: Seconds) -> VarianceParts:
    """Of the questions with an exact time of every reader."""
    n_readers, n_exact = len(times.all), int((~np.isnan(times.exact)).sum())
    too_censored = timing.is_too_censored(n_exact, times.n_censored)
    parts = timing.log_time_variance_components(times.exact) if n_readers and not too_censored else None
    reason = CENSORED if too_censored else ONE_RATER if n_readers < 2 else TOO_FEW
    return {
        "reader": parts.reader if parts else None,
        "question": parts.question if parts else None,
        "residual": parts.residual if parts else None,
        "n_readers": n_readers,
        "n": int((~np.isnan(times.exact)).all(axis=0).sum()) if n_readers else 0,
        "method": "two-way mean squares of log seconds",
        "flags": list(timing.censored_flag(times.n_censored)) if parts else [],
        "reason": None if parts else reason,
    }


def _middle(times: Seconds) -> Times:
    """Quartiles, outer percentiles and geometric mean, each with its n; and how many times ended at a limit."""
    timed = ~np.isnan(times.all)
    seconds, censored = times.all[timed], times.censored[timed]
    found = timing.quartiles(seconds, censored)
    return {
        "median": _quantile(found, "median").as_json(),
        "q1": _quantile(found, "q1").as_json(),
        "q3": _quantile(found, "q3").as_json(),
        "p5": _quantile(found, "p5").as_json(),
        "p95": _quantile(found, "p95").as_json(),
        "geometric_mean": timing.geometric_mean(seconds, times.n_censored).as_json(),
        "n_censored": times.n_censored,
    }


def _quantile(found: timing.Quartiles | None, name: str) -> Estimate:
    if found is None:
        return undefined(ZERO_TRIALS, n=0, method="type_7")
    value = getattr(found, name)
    if value is None:
        return undefined(CENSORED, n=found.n, method="type_7")
    return Estimate(value, None, found.n, "type_7")
