"""Times per question against R."""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.statistics.kernels import timing
from tests.annotation.statistics.goldencases import Found, Golden


def of_times(given: Any) -> Found:
    seconds, order = np.array(given["seconds"]), np.array(given["presentation_order"])
    readers = list(zip(seconds, order, strict=True))
    quartiles = [timing.quartiles(times) for times in seconds]
    means = [timing.geometric_mean(times) for times in seconds]
    slopes = [timing.log_slope_per_position(*reader) for reader in readers]
    components = timing.log_time_variance_components(seconds)
    pooled = timing.pooled_log_slope_adjusted(seconds, order)
    assert components is not None
    return {
        "quartiles": [[getattr(one, name) for one in quartiles] for name in ("q1", "median", "q3")],
        "geometric_mean": [mean.value for mean in means],
        "geometric_mean_ci95": list(zip(*(mean.ci95 or () for mean in means), strict=True)),
        "log_slope_per_position": [slope.value for slope in slopes],
        "log_slope_ci95": list(zip(*(slope.ci95 or () for slope in slopes), strict=True)),
        "spearman_time_vs_position": [timing.spearman_time_vs_position(*reader).value for reader in readers],
        "log_time_variance_components": {
            "reader": components.reader,
            "question": components.question,
            "residual": components.residual,
        },
        "pooled_log_slope_adjusted": {"slope": pooled.slope.value, "se": pooled.se},
    }


def of_censored(given: Any) -> Found:
    found, means = [], []
    for item in given["items"]:
        seconds, censored = np.array(item["seconds"]), np.array(item["censored"], dtype=bool)
        quartiles = timing.quartiles(seconds, censored)
        assert quartiles is not None
        found.append(quartiles)
        means.append(timing.geometric_mean(seconds, quartiles.n_censored).value)
    return {
        "quartiles": [[one.q1, one.median, one.q3] for one in found],
        "n_censored": [one.n_censored for one in found],
        "geometric_mean": means,
    }


GOLDEN = Golden({"time_per_case": of_times, "time_censored": of_censored}, {"time": ".*", "time_censored": ".*"})
