"""The tables of the page of a comparison of models, and the same as rows of a file; and what Tables 2
and 3 of the ReXVQA paper hold beside accuracies: the best model, categories under domains. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from annotation.enums import _
from annotation.statistics.kernels.estimate import SMALL_N, Estimate, Value
from annotation.statistics.kernels.intervals import share
from annotation.tables.kernels.table import REAL, TEXT, WHOLE, Column
from readerstudy.analysis.kernels.panel_result import ComparedModel, StoredComparison
from readerstudy.analysis.kernels.result import ALL_TASKS, MODEL, StoredAnalysis
from readerstudy.results.kernels.stored import BreakdownTable, kinds_of, post_hoc_models


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


# The domains of the ReXVQA paper with their categories, as its Table 3 prints them.
DOMAINS: dict[str, tuple[str, ...]] = {
    _("Clinical assessment"): ("Quality of Exams",),
    _("Respiratory system"): ("Lung and Pleural Opacity", "Lung and Pleural Lucency", "Lung Volume"),
    _("Cardiovascular"): ("Heart", "Aorta", "Other Great Vessel"),
    _("Medical devices"): ("Tubes and Lines", "Implanted Devices"),
    _("Pathologies"): ("Infectious Disease", "Pulmonary Neoplasm", "Negation"),
    _("Musculoskeletal"): ("Rib", "Spine", "Clavicle", "Joint"),
}
OTHERS, MEAN = _("Other categories"), _("Mean of the categories")


class DomainRow(Struct, frozen=True):
    """``category`` is empty in the row over all questions of a domain, and in the mean of all categories."""

    domain: str
    category: str
    n: int
    shares: list[Value]


def domain_rows(categories: BreakdownTable) -> list[DomainRow]:
    """Each domain with its categories below, and last what is in none of them as one row.

    Nothing where no category is one of the paper's.
    """
    of_name = {value.casefold(): (value, n, shares) for value, n, shares in categories.by_value}
    rows: list[DomainRow] = []
    for domain, names in DOMAINS.items():
        found = [of_name.pop(name.casefold()) for name in names if name.casefold() in of_name]
        if found:
            rows.append(_pooled(domain, found))
            rows += [DomainRow(domain, *one) for one in found]
    return [*rows, *([_pooled(OTHERS, list(of_name.values()))] if rows and of_name else [])]


def _pooled(domain: str, found: Sequence[tuple[str, int, list[Value]]]) -> DomainRow:
    columns = zip(*(shares for _value, _n, shares in found), strict=True)
    pooled = [_as_labelled(share(sum(map(_n_right, of)), sum(one["n"] for one in of)), of) for of in columns]
    return DomainRow(domain, "", sum(n for _value, n, _shares in found), pooled)


def mean_row(categories: BreakdownTable) -> DomainRow:
    """Plain means over the categories, however few the questions of one: an interval where each has five."""
    import numpy as np

    from annotation.statistics.kernels.proportions import mean_of_shares  # loads numpy

    counts = [(shares, np.array([[_n_right(one), one["n"]] for one in shares]).T) for _name, shares in categories.rows]
    means = [_as_labelled(mean_of_shares(*of_one), shares) for shares, of_one in counts]
    return DomainRow(MEAN, "", sum(n for _value, n in categories.values), means)


def _n_right(one: Value) -> int:
    return round((one["value"] or 0) * one["n"])


def _as_labelled(one: Estimate, parts: Sequence[Value]) -> Value:
    """With the labels that all parts have, such as post hoc."""
    labels = [flag for flag in parts[0]["flags"] if flag != SMALL_N and all(flag in part["flags"] for part in parts)]
    return {**one.as_json(), "flags": [*one.flags, *labels]}


def best_model(result: StoredAnalysis) -> str | None:
    """The model that is significantly better than every other one over all tasks: paired test, Holm over all pairs.

    Late models are left out, so that none of them changes what is said of the others.
    """
    from annotation.statistics.kernels.comparing import holm_adjusted  # loads numpy
    from annotation.statistics.kernels.ranking import SIGNIFICANT

    late = {one["name"] for one in post_hoc_models(result)}
    pairs = [
        one
        for one in result["panels"][ALL_TASKS]["pairs"]
        if set(one["kinds"]) == {MODEL} and late.isdisjoint({one["first"], one["second"]})
    ]
    tests = [
        one["cluster_mcnemar_chi2"]["p"] if "cluster_mcnemar_chi2" in one else one["mcnemar_exact_p"]["value"]
        for one in pairs
    ]
    better = [
        one["first"] if (one["difference"]["value"] or 0.0) > 0 else one["second"]
        for one, p in zip(pairs, holm_adjusted(tests), strict=True)
        if p is not None and p < SIGNIFICANT
    ]
    n_models = sum(kind == MODEL and name not in late for name, kind in kinds_of(result).items())
    return next((name for name in better if n_models > 1 and better.count(name) == n_models - 1), None)
