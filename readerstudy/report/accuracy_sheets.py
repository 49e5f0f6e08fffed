"""Accuracy as sheets: by task with every rule named, by category and difficulty, by confidence and position. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from annotation.statistics.kernels.catalogue import meanings
from annotation.tables.kernels.table import ESTIMATE, REAL, TEXT, WHOLE, Column, Table, TableCell
from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis, plain, values_of
from readerstudy.report.sheets import KIND, PANEL, RATER
from readerstudy.results.kernels.stored import asks_guesses, calibrations, kinds_of, order_of, raters_of

COUNTS = (
    Column("n_correct", WHOLE, "Right answers."),
    Column("n_answered", WHOLE, "Answers with an option, confirmed."),
    Column("n_unconfirmed", WHOLE, "Options that were saved but not confirmed when time ended; scored as chosen."),
    Column("n_declined", WHOLE, "“Cannot tell”; counted wrong."),
    Column("n_timed_out", WHOLE, "Time ended without a choice; counted wrong."),
    Column("n_late", WHOLE, "Answers after the limit; counted wrong."),
    Column("n_failed", WHOLE, "Answers of a model from which no option could be taken, by the rule of the settings."),
    Column("n_missing", WHOLE, "Not reached, or not in the file of the model; not counted."),
)
GUESSED = Column("n_guessed", WHOLE, "“Cannot tell” with a best guess.")
MERGED = Column(
    "merged_tasks",
    TEXT,
    "Tasks whose difficulties are taken together in the mix of the bank, since fewer than two questions of one of them "
    "count; joined by |.",
)
MEASURE = Column("measure", TEXT, f"{meanings('rater')}.")


def accuracy_sheets(result: StoredAnalysis) -> list[Table]:
    return [
        Table(
            "accuracy",
            "accuracy by task and over all tasks, with failed extractions and every other state counted",
            (RATER, KIND, PANEL, MEASURE, ESTIMATE, MERGED, *_counts(result)),
            list(_accuracy_rows(result)),
        ),
        Table(
            "expert_ceiling",
            "how often blind answers of reviewers to these questions equal the key",
            (
                PANEL,
                Column("statistic", TEXT, f"{meanings('panel')}."),
                ESTIMATE,
            ),
            [[name, statistic, one] for name, panel in result["panels"].items() for statistic, one in values_of(panel)],
        ),
        _breakdown(result, "categories", "category"),
        _breakdown(result, "difficulties", "difficulty"),
        Table(
            "variants",
            "accuracy over all tasks under other rules, beside the primary result",
            (
                Column("variant", TEXT, "Short name of the rule; primary: the result as planned."),
                Column("label", TEXT, "The rule in words."),
                Column("n_questions", WHOLE, "Questions under this rule."),
                RATER,
                KIND,
                ESTIMATE,
            ),
            list(_variant_rows(result)),
        ),
        Table(
            "confidence",
            "accuracy of each reader by the stated chance of being right",
            (RATER, Column("said", WHOLE, "Stated chance of being right, percent."), ESTIMATE),
            [
                [one["name"], int(chance), share]
                for one in result["tables"]["confidence"]
                for chance, share in one["accuracy"].items()
            ],
        ),
        Table(
            "runs",
            "accuracy of every run of each model over all tasks, with mean and standard deviation over the runs",
            (
                RATER,
                Column("statistic", TEXT, f"{meanings('run')}."),
                Column("run", WHOLE, "Number of the run; missing: all of them."),
                ESTIMATE,
            ),
            list(_run_rows(result)),
        ),
        Table(
            "calibration",
            "stated chance of being right against being right, of each rater who stated one, over all tasks",
            (
                RATER,
                KIND,
                Column(
                    "statistic",
                    TEXT,
                    f"{meanings('calibration')}; *_se: their cluster-robust errors; right: share right of the answers "
                    "of one bin.",
                ),
                Column("stated", REAL, "Of a bin, the mean stated chance from 0 to 1; missing: all answers."),
                ESTIMATE,
            ),
            list(_calibration_rows(result)),
        ),
        Table(
            "positions",
            "accuracy of each reader along the order of the cases, in ten blocks",
            (
                RATER,
                Column("from", WHOLE, "First place of the block in the order of this reader."),
                Column("to", WHOLE, "Last place of the block."),
                ESTIMATE,
            ),
            [
                [one["name"], block["from"], block["to"], block["accuracy"]]
                for one in result["tables"]["positions"]
                for block in one["blocks"]
            ],
        ),
    ]


def _run_rows(result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    for name, entry in raters_of(result["panels"][ALL_TASKS]).items():
        runs = entry.get("runs")
        if runs:
            for one in runs["accuracy_of_runs"]:
                yield [name, "accuracy_of_runs", one["number"], one]
            yield [name, "accuracy_run_mean", None, runs["accuracy_run_mean"]]
            yield [name, "accuracy_run_sd", None, runs["accuracy_run_sd"]]


def _calibration_rows(result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    for one in calibrations(result):
        rater = [one["name"], one["kind"]]
        for statistic, value in values_of(one):
            yield [*rater, statistic, None, value]
            if (error := plain(value).get("se")) is not None:
                yield [*rater, f"{statistic}_se", None, {**value, "value": error, "ci95": None}]
        for part in one["reliability_bins"]:
            yield [*rater, "right", part["mean_stated"], part["right"]]


def _counts(result: StoredAnalysis) -> tuple[Column, ...]:
    return (*COUNTS, GUESSED) if asks_guesses(result) else COUNTS


def _accuracy_rows(result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    """Raters in the order of the analysis; of each the panels, all tasks first."""
    kinds = kinds_of(result)
    panels = {name: raters_of(panel) for name, panel in result["panels"].items()}
    for rater in order_of(result):
        for panel, entries in panels.items():
            entry = entries[rater]
            counts = [plain(entry)[column.name] for column in _counts(result)]
            for measure, value in values_of(entry):
                is_mix = measure == "accuracy_bank_mix" and "accuracy_bank_mix" in entry
                merged = "|".join(entry["accuracy_bank_mix"]["merged_tasks"]) if is_mix else ""
                yield [rater, kinds[rater], panel, measure, value, merged, *counts]


def _breakdown(result: StoredAnalysis, table: Literal["categories", "difficulties"], name: str) -> Table:
    kinds = kinds_of(result)
    return Table(
        table,
        f"accuracy by {name} of the questions",
        (
            Column(name, TEXT, f"The {name} of the questions as imported; empty: not known."),
            Column("n_questions", WHOLE, "Scored questions of it."),
            RATER,
            KIND,
            ESTIMATE,
        ),
        [
            [plain(one)[name], one["n"], rater, kinds[rater], one["accuracy"][rater]]
            for one in result["tables"][table]
            for rater in order_of(result)
        ],
    )


def _variant_rows(result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    kinds, whole = kinds_of(result), result["panels"][ALL_TASKS]
    every = [("primary", "primary result", whole["n"], whole)]
    every += [(name, one["label"], one["n"], one["panels"][ALL_TASKS]) for name, one in result["variants"].items()]
    for variant, label, n, panel in every:
        raters = raters_of(panel)
        for rater in order_of(result):
            yield [variant, label, n, rater, kinds[rater], raters[rater]["accuracy"]]
