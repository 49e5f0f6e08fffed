"""Times per case: of each reader, of all readers, and the lines that show how much the rules matter.

Pure. Seconds of active time; which times count is said in docs/analysis.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readerstudy.analysis.arrays import State, StudyArrays
from readerstudy.statistics import timing
from readerstudy.statistics.results import ZERO_TRIALS, Result, undefined

RULE = (
    "active time of answered and declined cases, not censored and without an excluding flag; voided cases left out; "
    "nothing trimmed"
)
TIMED = (State.ANSWERED, State.DECLINED)
LOG_MIDDLE = "t_on_logs"
Floats = NDArray[np.float64]


def time_results(arrays: StudyArrays) -> Mapping[str, Any]:
    """``rule``, ``readers`` (one entry each), ``all`` and the sensitivity lines; n is 0 where no time was kept."""
    readers = arrays.readers
    seconds = np.where(_counted(arrays), arrays.times.active_ms / 1000, np.nan)[readers]
    position = arrays.position[readers].astype(float)
    quiet = np.where(arrays.times.disturbed[readers], np.nan, seconds)
    return {
        "rule": RULE,
        "unit": "s",
        "readers": [
            _of_reader(arrays.raters[row].name, one, place, arrays, row)
            for row, one, place in zip(readers.tolist(), seconds, position, strict=True)
        ],
        "all": _of_all(seconds, position),
        "sensitivity": {
            "winsorised": _middle(timing.winsorised(_present(seconds))),
            "without_quiet_or_blurred": _middle(_present(quiet)),
        },
    }


def _counted(arrays: StudyArrays) -> NDArray[np.bool_]:
    times = arrays.times
    return np.isin(arrays.state, TIMED) & ~times.censored & ~np.isnan(times.active_ms)


def _present(seconds: Floats) -> Floats:
    return seconds[~np.isnan(seconds)]


def _of_reader(name: str, seconds: Floats, position: Floats, arrays: StudyArrays, row: int) -> Mapping[str, Any]:
    timed = ~np.isnan(seconds)
    placed = timed & (position > 0)
    slope = timing.log_slope_per_position(seconds[placed], position[placed].astype(np.int64))
    return {
        "name": name,
        **_middle(seconds[timed]),
        "n_censored": int(arrays.times.censored[row].sum()),
        "log_slope_per_position": slope.as_json(),
        "percent_per_ten": timing.percent_per_ten(slope).as_json(),
        "spearman_time_vs_position": timing.spearman_time_vs_position(
            seconds[placed], position[placed].astype(np.int64)
        ).as_json(),
    }


def _of_all(seconds: Floats, position: Floats) -> Mapping[str, Any]:
    placed = np.where(position > 0, seconds, np.nan)
    pooled = timing.pooled_log_slope_adjusted(placed, position)
    parts = timing.log_time_variance_components(seconds) if len(seconds) else None
    return {
        **_middle(_present(seconds)),
        "pooled_log_slope_adjusted": pooled.slope.as_json() | {"se": pooled.se, "df": pooled.df},
        "percent_per_ten": timing.percent_per_ten(pooled.slope).as_json(),
        "log_time_variance_components": None
        if parts is None
        else {
            "reader": parts.reader,
            "question": parts.question,
            "residual": parts.residual,
            "n_readers": parts.n_readers,
            "n": parts.n_questions,
            "method": "two-way mean squares of log seconds",
        },
    }


def _middle(seconds: Floats) -> dict[str, Any]:
    """Quartiles and geometric mean, each as a value with its n."""
    found = timing.quartiles(seconds)
    return {
        "median": _quantile(None if found is None else found.median, len(seconds)).as_json(),
        "q1": _quantile(None if found is None else found.q1, len(seconds)).as_json(),
        "q3": _quantile(None if found is None else found.q3, len(seconds)).as_json(),
        "geometric_mean": timing.geometric_mean(seconds).as_json(),
    }


def _quantile(value: float | None, n: int) -> Result:
    return undefined(ZERO_TRIALS, n=n, method="type_7") if value is None else Result(value, None, n, "type_7")
