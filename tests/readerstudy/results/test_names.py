"""Long names where room is short."""

from __future__ import annotations

from annotation.figures.kernels.forms import LONGEST_NAME, short


def test_a_long_name_loses_its_middle_so_that_versions_stay_apart() -> None:
    names = [f"consortium/chest-xray-assistant-27B-instruct-2026110{day}" for day in (1, 2)]
    first, second = map(short, names)
    assert first != second
    assert (first, len(first)) == ("consortium/c…-20261101", LONGEST_NAME)
    assert short("Simulated reader 1") == "Simulated reader 1"
