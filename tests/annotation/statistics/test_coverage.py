"""Intervals that can be counted out hold the truth as often as they say; ``make proof`` simulates the others."""

from __future__ import annotations

import pytest

from tests.annotation.statistics.coverage import ACCURACIES, AGREEMENTS, DISCORDANT, of_agreement, of_tango, of_wilson

pytestmark = pytest.mark.check


@pytest.mark.parametrize("p", ACCURACIES)
def test_wilson(p: float) -> None:
    assert of_wilson(p).is_as_said


@pytest.mark.parametrize(("p_first", "p_second"), DISCORDANT)
def test_tango(p_first: float, p_second: float) -> None:
    assert of_tango(p_first, p_second).is_as_said


@pytest.mark.parametrize("share", AGREEMENTS)
def test_nearly_perfect_agreement_holds_or_is_flagged(share: float) -> None:
    found = of_agreement(share)
    assert found.is_as_said
    assert found.share > 0.92
