"""Stated chances of being right against R."""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.statistics.kernels.calibration import calibration
from tests.annotation.statistics.goldencases import Found, Golden


def of_items(given: Any) -> Found:
    found: Found = {}
    for place, item in enumerate(given["items"]):
        stated = np.array([np.nan if one is None else one for one in item["stated"]], dtype=float)
        one = calibration(stated, np.array(item["right"]), np.array(item["clusters"]), item.get("levels", ()))
        values = {
            "n": one.brier_score.n,
            "brier_score": one.brier_score.value,
            "brier_score_se": one.brier_score_se,
            "brier_score_ci95": one.brier_score.ci95,
            "brier_reference": one.brier_reference.value,
            "mean_stated": one.mean_stated.value,
            "mean_right": one.mean_right.value,
            "stated_minus_right": one.stated_minus_right.value,
            "stated_minus_right_se": one.stated_minus_right_se,
            "stated_minus_right_ci95": one.stated_minus_right.ci95,
            "reliability_bins": [
                {"n": each.right.n, "mean_stated": each.mean_stated, "right": each.right.value, "ci95": each.right.ci95}
                for each in one.reliability_bins
            ],
        }
        found |= {f"item {place}: {name}": value for name, value in values.items()}
    return found


GOLDEN = Golden({"calibration": of_items}, {"calibration": ".*"})
