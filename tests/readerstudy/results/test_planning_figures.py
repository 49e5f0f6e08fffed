"""Figures that a finished study gives: those that it was made with, on average over many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annotation.statistics.kernels.comparing import paired_table
from readerstudy.design.kernels.assumptions import Assumptions, contradiction_in
from readerstudy.results.kernels.stored import planning_figures
from tests.annotation.statistics.forecast_check import Planned, Right, simulated


def result_of(model: Right, readers: Right) -> Any:
    rows = {"Model": model, **{f"R{place}": row for place, row in enumerate(readers, 1)}}
    names = list(rows)
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    panel = {
        "n": len(model),
        "raters": [{"name": name, "accuracy": {"value": float(row.mean())}} for name, row in rows.items()],
        "pairs": [
            {"first": one, "second": other, "table": vars(paired_table(rows[one], rows[other]))} for one, other in pairs
        ],
    }
    kinds = [{"name": name, "kind": "model" if name == "Model" else "reader"} for name in names]
    return {"panels": {"All tasks": panel}, "raters": kinds, "order": [*names[1:], "Model"]}


def test_the_figures_are_those_that_the_study_was_made_with() -> None:
    """The spread is that of readers, without what 200 cases add to it by chance: 5.5 points, not 6.3."""
    planned, rng, assumed = Planned(name="", n_readers=5, n_cases=200), np.random.default_rng(3), Assumptions()
    found = [planning_figures(result_of(*simulated(planned, rng)))[0] for _study in range(200)]
    assert np.mean([one.discordant_model_reader for one in found]) == pytest.approx(0.30, abs=0.01)
    assert np.mean([one.discordant_readers for one in found]) == pytest.approx(0.20, abs=0.01)
    assert np.mean([one.delta for one in found]) == pytest.approx(0.10, abs=0.01)
    assert np.mean([one.sd_reader**2 for one in found]) == pytest.approx(assumed.sd_reader**2, rel=0.15)
    usable = [one for one in found if contradiction_in(Assumptions(**one.figures)) is None]
    assert len(usable) > 190


def test_one_reader_or_readers_without_a_common_case_give_no_figures() -> None:
    model, readers = simulated(Planned(name="", n_readers=2, n_cases=20), np.random.default_rng(1))
    assert planning_figures(result_of(model, readers[:1])) == []
    apart = readers.copy()
    apart[0, :10], apart[1, 10:] = -1, -1
    assert planning_figures(result_of(model, apart)) == []
