"""What is stored of a comparison of models, the tables of its page, and the same as rows of a file. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NotRequired, TypedDict

from msgspec import Struct

from annotation.statistics.kernels.estimate import ClusteredAccuracyValue, Value
from annotation.tables.kernels.table import REAL, TEXT, WHOLE, Column
from readerstudy.results.kernels.stored import BreakdownTable


class ComparedModel(TypedDict):
    """One model with its main run on the bank."""

    name: str
    model: str
    version: str
    run: str
    number: int
    rule: str
    file_sha256: str
    n_elsewhere: int
    n_failed: int
    n_missing: int
    n_not_asked: NotRequired[int]  # of rule comparison-4 on: before it they counted as missing
    n_earlier: NotRequired[int]
    rank: NotRequired[dict[str, int]]
    accuracy: Value
    accuracy_task_mean: Value
    tasks: list[Value]
    categories: list[Value]
    accuracy_cluster: NotRequired[ClusteredAccuracyValue]


class TaskSize(TypedDict):
    task: str
    n: int


class CategorySize(TypedDict):
    category: str
    n: int


class StoredComparison(TypedDict):
    """The JSON of a comparison; see docs/predictions.md."""

    format: str
    bank: str
    slug: str
    simulated: bool
    rules: dict[str, Any]
    n: int
    n_clusters: int
    n_without_key: int
    clustered: bool
    tasks: list[TaskSize]
    categories: list[CategorySize]
    models: list[ComparedModel]
    pairs: list[dict[str, Any]]


class BandRow(Struct, frozen=True):
    """The ranks that a model can have; ``ranks`` has one entry for each rank, whether it is one of them."""

    name: str
    accuracy: Value
    best: int
    worst: int
    ranks: list[bool]


def band_rows(result: StoredComparison) -> list[BandRow]:
    """Nothing for fewer than two models, and for somebody who sees only some of them."""
    models = [one for one in result["models"] if "rank" in one]
    if len(models) < 2:
        return []
    places = range(1, len(models) + 1)
    return [
        BandRow(
            one["name"],
            one["accuracy"],
            one["rank"]["best"],
            one["rank"]["worst"],
            [one["rank"]["best"] <= place <= one["rank"]["worst"] for place in places],
        )
        for one in models
    ]


def category_table(result: StoredComparison) -> BreakdownTable:
    values = [(one["category"], one["n"]) for one in result["categories"]]
    return BreakdownTable(values, [(one["name"], one["categories"]) for one in result["models"]])


FILE_COLUMNS = (
    Column("model", TEXT, "Name of the model."),
    Column("version", TEXT, "Its version."),
    Column("run", WHOLE, "Number of its main run on the bank."),
    Column("of", TEXT, "All questions, a mean, a task or a category."),
    Column("name", TEXT, "Which task or category."),
    Column("n", WHOLE, "Questions that count."),
    Column("accuracy", REAL, "Share right, from 0 to 1; missing: undefined, reason says why."),
    Column("low", REAL, "Lower limit of the 95 % interval; missing: no interval."),
    Column("high", REAL, "Upper limit."),
    Column("method", TEXT, "How the interval was made."),
    Column("flags", TEXT, "What to be careful about."),
    Column("reason", TEXT, "Why there is no value."),
    Column("failed", WHOLE, "Answers from which no option could be taken; counted wrong."),
    Column("missing", WHOLE, "Questions without an answer; counted wrong."),
    Column("best_rank", WHOLE, "One more than the models that are significantly better."),
    Column("worst_rank", WHOLE, "All models but those that are significantly worse."),
    Column("not_asked", WHOLE, "Questions that the run was not asked; not counted."),
    Column("earlier_wording", WHOLE, "Questions that it was asked in an earlier wording; not counted."),
)
Cell = str | int | float | None


def file_rows(result: StoredComparison) -> Iterator[list[Cell]]:
    """Each accuracy of each model as one row; counts and ranks stand in the row over all questions."""
    tasks = [one["task"] for one in result["tasks"]]
    categories = [one["category"] for one in result["categories"]]
    for model in result["models"]:
        rank: dict[str, int] = model.get("rank", {})
        counts: list[Cell] = [model["n_failed"], model["n_missing"], rank.get("best"), rank.get("worst")]
        counts += [model.get("n_not_asked"), model.get("n_earlier")]
        yield [*_share(model, "all questions", "", model["accuracy"]), *counts]
        named: list[tuple[str, str, Value]] = [
            *([("all questions, by cluster", "", model["accuracy_cluster"])] if "accuracy_cluster" in model else []),
            ("mean of tasks", "", model["accuracy_task_mean"]),
            *(("task", name, one) for name, one in zip(tasks, model["tasks"], strict=True)),
            *(("category", name, one) for name, one in zip(categories, model["categories"], strict=True)),
        ]
        for of, name, one in named:
            yield [*_share(model, of, name, one), *[None] * len(counts)]


def _share(model: ComparedModel, of: str, name: str, one: Value) -> list[Cell]:
    low, high = one["ci95"] or (None, None)
    about: list[Cell] = [model["name"], model["version"], model["number"], of, name, one["n"]]
    return [*about, one["value"], low, high, one["method"], " ".join(one["flags"]), one["reason"] or ""]
