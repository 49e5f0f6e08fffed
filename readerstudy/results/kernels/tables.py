"""The tables of the results page, from the stored JSON. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from annotation.statistics.kernels.catalogue import Statistic
from annotation.statistics.kernels.estimate import CLUSTERS_IGNORED, POST_HOC, STRATA_MERGED, Value
from annotation.statistics.kernels.intervals import FEWEST_TRIALS
from readerstudy.analysis.kernels.panel_result import RaterEntry, Runs
from readerstudy.analysis.kernels.result import (
    ALL_TASKS,
    READER,
    Comparison,
    ResultPart,
    StoredAnalysis,
    plain,
)
from readerstudy.results.kernels.agreement_tables import reader_agreement
from readerstudy.results.kernels.stored import (
    asks_guesses,
    kinds_of,
    order_of,
    panel_names,
    planned_comparisons,
    planned_pairs,
    raters_of,
    runs_in_mean,
    task_label,
)


@dataclass(frozen=True)
class AccuracyRow:
    name: str
    is_reader: bool
    is_post_hoc: bool  # once for the row, not with every number
    overall: Value
    best_guess: Value | None  # the same with guesses in place of "cannot tell", where the study asks for them
    n_guessed: int
    n_declined: int
    by_cluster: Value | None  # the same share, its interval allowing for patients or exams with several questions
    tasks: list[Value]
    task_mean: Value
    bank_mix: Value | None
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
    merged_tasks: list[str]  # in the mix of the bank, of any rater
    has_clusters: bool
    has_guesses: bool


def accuracy_table(result: StoredAnalysis) -> AccuracyTable:
    tasks = [name for name in panel_names(result) if name != ALL_TASKS]
    panels = {name: raters_of(panel) for name, panel in result["panels"].items()}
    kinds, whole = kinds_of(result), panels[ALL_TASKS]
    merged = {
        tuple(one["accuracy_bank_mix"].get("merged_tasks", ())) for one in whole.values() if "accuracy_bank_mix" in one
    }
    common = {CLUSTERS_IGNORED, *([STRATA_MERGED] if len(merged) == 1 else [])}  # once, above the table
    rows = [
        _accuracy_row(whole[name], kinds[name] == READER, [panels[task][name]["accuracy"] for task in tasks], common)
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
        merged_tasks=sorted({task for one in merged for task in one}, key=tasks.index),
        has_clusters=has_clusters,
        has_guesses=asks_guesses(result),
    )


def without_flags(one: Value, flags: Collection[str]) -> Value:
    """The same value in a table that says these cautions of all of its rows."""
    return {**one, "flags": [flag for flag in one["flags"] if flag not in flags]}


def _accuracy_row(rater: RaterEntry, is_reader: bool, tasks: list[Value], common: Collection[str]) -> AccuracyRow:
    """``common``: flags that the head of the table names for all rows; post hoc is shown at the head of its row."""
    is_post_hoc = POST_HOC in rater["accuracy"]["flags"]
    common = {*common, POST_HOC}
    n_no_option = rater["n_declined"] + rater["n_timed_out"] + rater["n_late"]
    n_not_missing = rater["n_answered"] + rater["n_unconfirmed"] + rater["n_failed"] + n_no_option
    return AccuracyRow(
        name=rater["name"],
        is_reader=is_reader,
        is_post_hoc=is_post_hoc,
        overall=without_flags(rater["accuracy"], {POST_HOC}),
        best_guess=without_flags(guess, {POST_HOC}) if (guess := rater.get("accuracy_best_guess")) else None,
        n_guessed=rater.get("n_guessed", 0),
        n_declined=rater["n_declined"],
        by_cluster=without_flags(by, {POST_HOC}) if (by := rater.get("accuracy_cluster")) else None,
        tasks=[without_flags(one, {POST_HOC}) for one in tasks],
        task_mean=without_flags(rater["accuracy_task_mean"], common),
        bank_mix=without_flags(mix, common) if (mix := rater.get("accuracy_bank_mix")) else None,
        n_failed=rater["n_failed"],
        failed_share=rater["n_failed"] / n_not_missing if n_not_missing else None,
        n_no_option=n_no_option,
        n_missing=rater["n_missing"],
    )


@dataclass(frozen=True)
class RunsRow:
    """A model with several runs on these questions."""

    name: str
    named: int | None  # the number of the run that represents it everywhere else
    found: Runs
    n_in_mean: int = 0  # which represents the model against the readers; 0: one run does


def runs_table(result: StoredAnalysis) -> list[RunsRow]:
    """Nothing where no model has a second run."""
    numbers = {one["name"]: one.get("number") for one in result["raters"]}
    whole = raters_of(result["panels"][ALL_TASKS])
    found = [(name, whole[name].get("runs")) for name in order_of(result)]
    means = runs_in_mean(result)
    return [
        RunsRow(name, numbers[name], runs, means.get(name, 0)) for name, runs in found if runs and runs["n_runs"] > 1
    ]


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


@dataclass(frozen=True)
class Variants:
    """The main numbers over all tasks under other rules, each beside the primary result."""

    names: list[tuple[str, int]]  # label and questions of each variant
    rows: list[tuple[str, Value, list[Value]]]  # rater, primary accuracy, under each variant
    differences: list[tuple[str, list[Value]]]  # model, its difference from the readers: primary, under each variant
    pairs: list[tuple[Comparison, list[Comparison]]]  # planned pair, and its comparison: primary, under each variant
    agreement: list[tuple[Statistic, list[Value]]]  # measure, readers minus mixed pairs: primary, under each variant


def variants_table(result: StoredAnalysis) -> Variants | None:
    """Nothing where every rule gives the same questions and answers."""
    variants = result["variants"]
    if not variants:
        return None
    every: list[ResultPart] = [result, *variants.values()]
    primary, *others = [raters_of(one["panels"][ALL_TASKS]) for one in every]
    compared = [{one["first"]: one["difference"] for one in planned_comparisons(each)} for each in every]
    means, families = [reader_agreement(one).rows for one in every], [planned_pairs(one) for one in every]
    return Variants(
        names=[(one["label"], one["n"]) for one in variants.values()],
        rows=[
            (name, primary[name]["accuracy"], [other[name]["accuracy"] for other in others if name in other])
            for name in order_of(result)
        ],
        differences=[(name, [one[name] for one in compared]) for name in compared[0]],
        pairs=[(same[0], list(same)) for same in zip(*families, strict=True)],
        agreement=[(same[0].measure, [one.difference for one in same]) for same in zip(*means, strict=True)],
    )
