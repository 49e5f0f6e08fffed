"""Accuracy over repeated runs of one model against R."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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


@pytest.mark.parametrize(("file", "name"), GOLDEN.parameters())
def test_golden(file: str, name: str) -> None:
    GOLDEN.check(file, name)


def test_one_run_has_no_spread_and_a_run_without_a_question_leaves_both_open() -> None:
    assert run_spread([0.8]).sd.reason == "too_few"
    nothing = run_spread([0.8, None])
    assert (nothing.n_runs, nothing.mean.reason, nothing.sd.reason) == (2, "zero_trials", "zero_trials")
