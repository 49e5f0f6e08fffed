"""The tables of the results page, from the stored JSON. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from annotation.statistics.kernels.estimate import Value
from annotation.statistics.kernels.intervals import FEWEST_TRIALS
from readerstudy.analysis.kernels.result import (
    ALL_TASKS,
    StoredAnalysis,
    plain,
)
from readerstudy.results.kernels.stored import (
    order_of,
    task_label,
)


def without_flags(one: Value, flags: Collection[str]) -> Value:
    """The same value in a table that says these cautions of all of its rows."""
    return {**one, "flags": [flag for flag in one["flags"] if flag not in flags]}


@dataclass(frozen=True)
class BreakdownTable:
    """Accuracy by a property of the questions: its values with the number of questions, and a row for each rater."""

    values: list[tuple[str, int]]
    rows: list[tuple[str, list[Value]]]

    @property
    def by_value(self) -> list[tuple[str, int, list[Value]]]:
        """A row for each value: a page holds them, however many. The shares stand as ``rows`` name the raters."""
        return [
            (value, n, [shares[place] for _name, shares in self.rows]) for place, (value, n) in enumerate(self.values)
        ]


GRADES = ("easy", "medium", "hard")


def breakdown(result: StoredAnalysis, table: Literal["categories", "difficulties"]) -> BreakdownTable:
    """By a property of the questions; grades in their order, else as stored."""
    name = {"categories": "category", "difficulties": "difficulty"}[table]
    found = [(plain(one)[name], one) for one in result["tables"][table]]
    if all(value in ("", *GRADES) for value, _one in found):
        found = sorted(found, key=lambda named: (*GRADES, "").index(named[0]))
    rows = [(rater, [one["accuracy"][rater] for _name, one in found]) for rater in order_of(result)]
    return BreakdownTable([(value, one["n"]) for value, one in found], rows)


Group = tuple[str, int, dict[str, Value]]  # a task or category, its questions, the accuracy of each rater
MOST_GROUPS = 12  # that a figure draws


def large_tasks(result: StoredAnalysis) -> list[Group]:
    """Those of questions enough for an interval."""
    found = [(task_label(name), panel) for name, panel in result["panels"].items() if name != ALL_TASKS]
    return [
        (label, panel["n"], {one["name"]: one["accuracy"] for one in panel["raters"]})
        for label, panel in found
        if panel["n"] >= FEWEST_TRIALS
    ]


def large_categories(result: StoredAnalysis) -> list[Group]:
    """The largest first; a single one tells nothing beside the accuracy over all questions."""
    found = breakdown(result, "categories").by_value
    large = sorted((one for one in found if one[1] >= FEWEST_TRIALS), key=lambda one: -one[1])[:MOST_GROUPS]
    names = order_of(result)
    groups = [(value or "no category", n, dict(zip(names, shares, strict=True))) for value, n, shares in large]
    return groups if len(groups) > 1 else []
