"""The tables of the results page, from the stored JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from readerstudy.results.stored import (
    ALL_TASKS,
    INFERENCES,
    READER,
    Json,
    asks_guesses,
    kinds_of,
    order_of,
    panel_names,
    planned_comparisons,
    planned_pairs,
    raters_of,
)


@dataclass(frozen=True)
class Planned:
    """Each model minus the mean of the readers, by the inference of the plan and by the two others."""

    row: Json
    inferences: list[tuple[str, Json]]  # name in words and value, the planned one first


def planned_rows(result: Json) -> list[Planned]:
    found = []
    for row in planned_comparisons(result):
        model, primary = result["mrmc"]["models"][row["first"]], row["difference"]["method"]
        names = [primary, *(name for name in INFERENCES if name != primary)]
        values: list[tuple[str, Json]] = [
            (name, {**row["difference"], **model[name], "value": row["difference"]["value"]}) for name in names
        ]
        found.append(Planned(row, values))
    return found


@dataclass(frozen=True)
class PlannedPairs:
    """The family of pairs that the plan names, one test for each."""

    rows: list[tuple[Json, tuple[int, int] | None]]  # with the places of the two in the order of raters
    n_tests: int  # over which p is adjusted

    @property
    def has_clusters(self) -> bool:
        return any("difference_cluster" in row for row, _places in self.rows)

    def of(self, first: str, second: str) -> Json | None:
        return next((row for row, _places in self.rows if {row["first"], row["second"]} == {first, second}), None)


def planned_pairs_table(result: Json) -> PlannedPairs | None:
    """Nothing where the plan names no pair."""
    found, place = planned_pairs(result), {name: row for row, name in enumerate(order_of(result))}
    rows = [(one, (place[one["first"]], place[one["second"]]) if one["table"] else None) for one in found]
    return PlannedPairs(rows, sum(one["p"]["value"] is not None for one in found)) if rows else None


@dataclass(frozen=True)
class Claims:
    """Which models the margin of the plan lets call not inferior to the mean of the readers, and equivalent to it."""

    margin: float
    not_inferior: list[str]
    equivalent: list[str]


def claims_of(result: Json) -> Claims | None:
    """Nothing where the plan names no margin."""
    rows = planned_comparisons(result)
    if not rows or not rows[0]["margin"]:
        return None
    held = [[one["first"] for one in rows if one[claim]] for claim in ("non_inferior", "equivalent")]
    return Claims(rows[0]["margin"], *held)


@dataclass(frozen=True)
class AccuracyRow:
    name: str
    is_reader: bool
    overall: Json
    best_guess: Json | None  # the same with guesses in place of "cannot tell", where the study asks for them
    n_guessed: int
    n_declined: int
    by_cluster: Json | None  # the same share, its interval allowing for patients or exams with several questions
    tasks: list[Json]
    task_mean: Json | None
    bank_mix: Json | None
    n_failed: int
    failed_share: float | None  # of everything but missing
    n_no_option: int  # declined, ended without a choice, too late
    n_missing: int


@dataclass(frozen=True)
class AccuracyTable:
    """Table 2 of the paper: columns are tasks, and three ways of saying "overall"."""

    tasks: list[tuple[str, int]]  # name and questions
    n: int
    rows: list[AccuracyRow]
    has_bank_mix: bool
    has_clusters: bool
    has_guesses: bool


def accuracy_table(result: Json) -> AccuracyTable:
    tasks = [name for name in panel_names(result) if name != ALL_TASKS]
    panels = {name: raters_of(panel) for name, panel in result["panels"].items()}
    kinds, whole = kinds_of(result), panels[ALL_TASKS]
    rows = [
        _accuracy_row(whole[name], kinds[name] == READER, [panels[task][name]["accuracy"] for task in tasks])
        for name in order_of(result)
    ]
    n_of = {name: panel["n"] for name, panel in result["panels"].items()}
    has_bank_mix = any(row.bank_mix is not None for row in rows)
    has_clusters = any(row.by_cluster is not None for row in rows)
    return AccuracyTable(
        tasks=[(task, n_of[task]) for task in tasks],
        n=n_of[ALL_TASKS],
        rows=rows,
        has_bank_mix=has_bank_mix,
        has_clusters=has_clusters,
        has_guesses=asks_guesses(result),
    )


def _accuracy_row(rater: Json, is_reader: bool, tasks: list[Json]) -> AccuracyRow:
    n_no_option = rater["n_declined"] + rater["n_timed_out"] + rater["n_late"]
    n_said = rater["n_answered"] + rater["n_unconfirmed"] + rater["n_failed"] + n_no_option
    return AccuracyRow(
        name=rater["name"],
        is_reader=is_reader,
        overall=rater["accuracy"],
        best_guess=rater.get("accuracy_best_guess"),
        n_guessed=rater.get("n_guessed", 0),
        n_declined=rater["n_declined"],
        by_cluster=rater.get("accuracy_cluster"),
        tasks=tasks,
        task_mean=rater.get("accuracy_task_mean"),
        bank_mix=rater.get("accuracy_bank_mix"),
        n_failed=rater["n_failed"],
        failed_share=rater["n_failed"] / n_said if n_said else None,
        n_no_option=n_no_option,
        n_missing=rater["n_missing"],
    )


@dataclass(frozen=True)
class Breakdown:
    """Accuracy by a property of the questions: its values with the number of questions, and a row for each rater."""

    values: list[tuple[str, int]]
    rows: list[tuple[str, list[Json]]]

    @property
    def by_value(self) -> list[tuple[str, int, list[Json]]]:
        """A row for each value: a page holds them, however many. The shares stand as ``rows`` name the raters."""
        return [
            (value, n, [shares[place] for _name, shares in self.rows]) for place, (value, n) in enumerate(self.values)
        ]


GRADES = ("easy", "medium", "hard")


def breakdown(result: Json, table: str, name: str) -> Breakdown:
    """``table`` and ``name`` as in the JSON, such as categories and category; grades in their order, else as stored."""
    found = result["tables"][table]
    if all(one[name] in ("", *GRADES) for one in found):
        found = sorted(found, key=lambda one: (*GRADES, "").index(one[name]))
    rows = [(rater, [one["accuracy"][rater] for one in found]) for rater in order_of(result)]
    return Breakdown([(one[name], one["n"]) for one in found], rows)


@dataclass(frozen=True)
class Variants:
    """The main numbers over all tasks under other rules, each beside the primary result."""

    names: list[tuple[str, int]]  # label and questions of each variant
    rows: list[tuple[str, Json, list[Json]]]  # rater, primary accuracy, under each variant
    differences: list[tuple[str, list[Json]]]  # model, its difference from the readers: primary, under each variant
    pairs: list[tuple[Json, list[Json]]]  # planned pair, and its comparison: primary, under each variant
    kappas: dict[str, list[Json]]  # of mean_kappas: primary, under each variant


def variants_table(result: Json) -> Variants | None:
    """Nothing where every rule gives the same questions and answers."""
    variants: Mapping[str, Json] = result["variants"]
    if not variants:
        return None
    every = [result, *variants.values()]
    primary, *others = [raters_of(one["panels"][ALL_TASKS]) for one in every]
    compared = [{one["first"]: one["difference"] for one in planned_comparisons(each)} for each in every]
    means, families = [mean_kappas(one) for one in every], [planned_pairs(one) for one in every]
    return Variants(
        names=[(one["label"], one["n"]) for one in variants.values()],
        rows=[
            (name, primary[name]["accuracy"], [other[name]["accuracy"] for other in others if name in other])
            for name in order_of(result)
        ],
        differences=[(name, [one[name] for one in compared]) for name in compared[0]],
        pairs=[(same[0], list(same)) for same in zip(*families, strict=True)],
        kappas={name: [one[name] for one in means] for name in means[0]},
    )


COEFFICIENTS = (  # of a group of raters
    "fleiss_kappa",
    "conger_kappa",
    "gwet_ac1",
    "brennan_prediger",
    "krippendorff_alpha_nominal",
    "light_kappa",
)
GROUPS = ("readers", "models", "all")


@dataclass(frozen=True)
class GroupTable:
    """Agreement within groups of raters in one panel, on the chosen option."""

    sizes: list[tuple[str, int]]  # group and its raters
    rows: list[tuple[str, list[Json]]]  # coefficient, its value in each group


def group_table(result: Json, panel: str) -> GroupTable:
    groups = result["panels"][panel]["groups"]
    return GroupTable(
        sizes=[(group, groups[group]["n_raters"]) for group in GROUPS],
        rows=[(name, [groups[group][name] for group in GROUPS]) for name in COEFFICIENTS],
    )


def mean_kappas(result: Json) -> dict[str, Json]:
    """Readers among themselves, readers with models, and the difference of the two means, on shared draws."""
    groups = result["panels"][ALL_TASKS]["groups"]
    return {
        "readers": groups["readers"]["mean_kappa_readers"],
        "mixed": groups["all"]["mean_kappa_reader_model"],
        "difference": groups["all"]["mean_kappa_difference"],
    }
