"""A result is a number with its interval, or nothing with a reason; never a NaN."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from annotation.statistics.kernels.estimate import NO_COMMON_QUESTIONS, ZERO_TRIALS, Estimate, undefined
from annotation.statistics.kernels.intervals import share


def test_a_result_of_numpy_numbers_is_plain_json() -> None:
    result = Estimate(np.float64(0.5), (np.float64(0.25), np.float64(0.75)), int(np.int64(8)), "wilson", ("small_n",))
    assert json.loads(json.dumps(result.as_json())) == {
        "value": 0.5,
        "ci95": [0.25, 0.75],
        "n": 8,
        "method": "wilson",
        "flags": ["small_n"],
        "reason": None,
    }


def test_undefined_is_null_with_a_reason() -> None:
    stored = undefined(NO_COMMON_QUESTIONS, n=0, method="cohen_kappa").as_json()
    assert (stored["value"], stored["ci95"], stored["reason"]) == (None, None, "no_common_questions")


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": float("nan")},
        {"value": float("inf")},
        {"value": None},
        {"value": 0.5, "reason": "zero_trials"},
        {"value": 0.5, "ci95": (0.6, 0.4)},
        {"value": 0.5, "ci95": (float("nan"), 0.4)},
        {"value": None, "ci95": (0.1, 0.4), "reason": "zero_trials"},
    ],
    ids=["nan", "infinite", "no reason", "value and reason", "reversed", "nan limit", "limits of nothing"],
)
def test_what_is_no_result_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="reason|interval"):  # noqa: RUF043
        Estimate(**{"ci95": None, "n": 3, "method": "wilson", **wrong})


def test_a_share_of_reviews_becomes_a_result() -> None:
    assert share(0, 0) == undefined(ZERO_TRIALS, n=0, method="wilson")
    half = share(50, 100)
    assert (half.value, half.n, half.reason) == (0.5, 100, None)
    assert half.ci95 == pytest.approx((0.4038, 0.5962), abs=1e-4)
