"""What a study can show: the figures are those of the planning module, put together for a set of cases."""

from __future__ import annotations

import pytest

from annotation.enums import Task
from readerstudy.design.drawing import CellCount
from readerstudy.design.forecast import Assumptions, forecast, rare_in_random
from readerstudy.statistics.planning import mcnemar_questions, wilson_half_width

CELLS = [
    CellCount("presence", "easy", 500, 150),
    CellCount("presence", "hard", 300, 38),
    CellCount("location", "", 9, 10),
]


def test_each_number_has_its_n() -> None:
    found = forecast(CELLS, 3, Assumptions())
    assert (found.n, found.overall.estimate.n, found.n_readers) == (198, 198, 3)
    assert {one.task: one.estimate.n for one in found.tasks} == {
        "presence": 188,
        "negation": 0,
        "differential": 0,
        "location": 10,
        "geometric": 0,
    }


def test_the_interval_at_the_assumed_share_is_wilsons() -> None:
    found = forecast(CELLS, 3, Assumptions(accuracy=0.8)).overall
    assert found.estimate.interval is not None
    low, high = found.estimate.interval
    assert (high - low) / 2 == pytest.approx(wilson_half_width(0.8, 198))
    assert found.half_width == pytest.approx(wilson_half_width(0.8, 198), rel=0.02)


def test_a_task_without_cases_says_nothing() -> None:
    nothing = forecast(CELLS, 3, Assumptions()).tasks[1]
    assert (nothing.estimate.value, nothing.estimate.interval, nothing.width, nothing.half_width) == (None,) * 4


def test_the_smallest_difference_needs_as_many_cases_as_there_are() -> None:
    found = forecast(CELLS, 3, Assumptions(discordant=0.3))
    assert found.least_difference is not None
    d = found.least_difference
    assert mcnemar_questions((0.3 + d) / 2, (0.3 - d) / 2) == pytest.approx(198)
    assert forecast([], 3, Assumptions()).least_difference is None


def test_power_is_that_of_the_golden_case() -> None:
    found = forecast(CELLS, 3, Assumptions())
    assert found.power is not None
    assert found.power.power == pytest.approx(0.641630012563, abs=1e-5)


@pytest.mark.parametrize(
    ("cells", "readers", "assumed"),
    [
        (CELLS, 1, Assumptions()),
        ([], 3, Assumptions()),
        (CELLS, 3, Assumptions(var_reader=0, var_case=0, var_reader_case=0)),
        (CELLS, 3, Assumptions(var_reader=0, var_case=0.02, var_reader_case=0)),
    ],
)
def test_where_power_cannot_be_said(cells: list[CellCount], readers: int, assumed: Assumptions) -> None:
    assert forecast(cells, readers, assumed).power is None


def test_how_few_rare_questions_random_cases_hold() -> None:
    assert rare_in_random({"presence": 935, "location": 60, "geometric": 5}) == [
        (Task.GEOMETRIC, 1.0),
        (Task.LOCATION, 12.0),
    ]
    assert rare_in_random({}) == [(Task.GEOMETRIC, 0.0), (Task.LOCATION, 0.0)]
