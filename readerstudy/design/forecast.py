"""What a study of these cases and readers will be able to show, under stated assumptions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.enums import Task
from annotation.statistics.estimate import ZERO_TRIALS, Estimate, undefined
from annotation.statistics.intervals import wilson
from readerstudy.design.drawing import CellCount
from readerstudy.statistics.planning import (
    ReaderPower,
    expected_width,
    reader_vs_model_power,
    smallest_difference,
)

RANDOM_CASES = 200  # of which the page says how few rare questions they hold
RARE = (Task.GEOMETRIC, Task.LOCATION)


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """The variance components are those of the paper-shaped example that the planning figures are checked with."""

    accuracy: float = 0.8
    discordant: float = 0.3  # share of cases on which one rater is right and the other wrong
    delta: float = 0.1  # model minus the mean of the readers
    var_reader: float = 0.0012
    var_case: float = 0.022
    var_reader_case: float = 0.15


@dataclass(frozen=True)
class ExpectedInterval:
    """Wilson's 95 % interval where exactly the assumed share is right, and the mean width over what can happen.

    ``task`` empty: all of them together. Both are missing without a case.
    """

    task: str
    estimate: Estimate
    width: float | None

    @property
    def half_width(self) -> float | None:
        return None if self.width is None else self.width / 2

    @property
    def label(self) -> str:
        return Task(self.task).label if self.task else ""


@dataclass(frozen=True)
class Forecast:
    assumed: Assumptions
    n: int
    n_readers: int
    overall: ExpectedInterval
    tasks: list[ExpectedInterval]
    least_difference: float | None  # of two raters by McNemar's test; None: no difference can be found
    power: ReaderPower | None  # None for fewer than two readers or cases, and where no reader varies


def forecast(cells: Sequence[CellCount], n_readers: int, assumed: Assumptions) -> Forecast:
    """``cells`` are those of one reader's set: what stands beside them is per reader, power is over all of them."""
    n_of: dict[str, int] = dict.fromkeys(Task.values(), 0)
    for cell in cells:
        n_of[cell.task] += cell.n_drawn
    n = sum(n_of.values())
    return Forecast(
        assumed=assumed,
        n=n,
        n_readers=n_readers,
        overall=_expected("", n, assumed.accuracy),
        tasks=[_expected(task, n_task, assumed.accuracy) for task, n_task in n_of.items()],
        least_difference=smallest_difference(n, assumed.discordant),
        power=_power(n, n_readers, assumed),
    )


def _expected(task: str, n: int, accuracy: float) -> ExpectedInterval:
    if n == 0:
        return ExpectedInterval(task, undefined(ZERO_TRIALS, n=0, method="wilson"), None)
    estimate = Estimate(accuracy, wilson(accuracy * n, n), n, "wilson")
    return ExpectedInterval(task, estimate, expected_width(accuracy, n))


def _power(n: int, n_readers: int, assumed: Assumptions) -> ReaderPower | None:
    if n < 2 or n_readers < 2 or assumed.var_reader + assumed.var_reader_case == 0:
        return None
    return reader_vs_model_power(
        var_reader=assumed.var_reader,
        var_case=assumed.var_case,
        var_reader_case=assumed.var_reader_case,
        readers=n_readers,
        cases=n,
        delta=assumed.delta,
    )


def rare_in_random(n_by_task: Mapping[str, int], n: int = RANDOM_CASES) -> list[tuple[Task, float]]:
    """How many questions of the rare tasks ``n`` random ones of a bank hold on average."""
    total = sum(n_by_task.values())
    return [(task, n * n_by_task.get(task, 0) / total if total else 0.0) for task in RARE]
