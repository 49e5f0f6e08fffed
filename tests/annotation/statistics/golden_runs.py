"""Accuracy over repeated runs of one model against R."""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.statistics.kernels.proportions import accuracy, run_spread
from tests.annotation.statistics.goldencases import Found, Golden


def of_runs(given: Any) -> Found:
    shares = [[accuracy(np.array(run)).value for run in item["runs"]] for item in given["items"]]
    spreads = [run_spread(one) for one in shares]
    return {
        "n_runs": [one.n_runs for one in spreads],
        "accuracy_of_runs": shares,
        "accuracy_run_mean": [one.mean.value for one in spreads],
        "accuracy_run_sd": [one.sd.value for one in spreads],
    }


GOLDEN = Golden({"model_runs": of_runs}, {"runs": ".*"})
