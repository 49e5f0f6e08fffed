"""Simulated studies show what they were planned for about as often as the forecast says; ``make proof`` draws more."""

from __future__ import annotations

import numpy as np
import pytest

from readerstudy.design.kernels.assumptions import Assumptions
from tests.annotation.statistics.forecast_check import DESIGNS, Planned, check, simulated

pytestmark = pytest.mark.check

QUICK = 300


@pytest.mark.parametrize("planned", DESIGNS, ids=lambda planned: planned.name)
def test_the_forecast_tells_what_simulated_studies_show(planned: Planned) -> None:
    """The forecast of the first, ten points with five readers and 200 cases, was once 96 %."""
    found = check(planned, QUICK)
    assert abs(found.share - found.power) <= 0.08  # 300 studies tell a share to about six points
    if planned is DESIGNS[0]:
        assert found.power == pytest.approx(0.653, abs=0.001)
        assert 0.57 <= found.share <= 0.73


def test_the_simulated_studies_have_what_is_assumed() -> None:
    planned, assumed, rng = Planned(name="large", n_readers=40, n_cases=4000), Assumptions(), np.random.default_rng(1)
    model, readers = simulated(planned, rng)
    assert (model - readers).mean() == pytest.approx(assumed.delta, abs=0.03)
    assert (model != readers).mean() == pytest.approx(assumed.discordant_model_reader, abs=0.02)
    assert (readers[:-1] != readers[1:]).mean() == pytest.approx(assumed.discordant_readers, abs=0.02)
    assert readers.mean(axis=1).std(ddof=1) == pytest.approx(assumed.sd_reader, abs=0.02)
