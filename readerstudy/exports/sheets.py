"""Tables of the report for programs, in full precision: shared columns; times, cases, what is left out; accuracy by
task with every rule named, by category and difficulty, by confidence and position. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from annotation.statistics.kernels.catalogue import meanings
from annotation.statistics.kernels.estimate import Value
from annotation.tables.kernels.table import ESTIMATE, REAL, TEXT, WHOLE, YES_NO, Column, Table, TableCell, counted
from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis, TimeResult, Times, plain, values_of
from readerstudy.results.kernels.comparison_tables import domain_rows, mean_row
from readerstudy.results.kernels.stored import asks_guesses, breakdown, calibrations, kinds_of, order_of, raters_of

RATER = Column("rater", TEXT, "Pseudonym of the reader, or name of the model.")
KIND = Column("kind", TEXT, "Who answered.", "reader, model")
PANEL = Column("panel", TEXT, "All tasks, or the task of the questions.")
STATISTIC = Column(
    "statistic",
    TEXT,
    f"What the value is, as analysis.json names it. {meanings('pair', 'group')}; mean_kappa_*, mean_excess_*, "
    "mean_error_consistency_*: means of cohen_kappa, excess_agreement and error_consistency over pairs that share an "
    "assigned question, of two readers (*_readers), of a reader and a model (*_reader_model), the first minus the "
    "second (*_difference); n_pairs_*: how many pairs these are; table_*: questions that both, the first only, the "
    "second only or neither had right.",
)
TIME_STATISTIC = Column(
    "statistic", TEXT, f"{meanings('time')}; log_time_variance_*: parts of the variance of the logarithm of seconds."
)
TEST = (
    Column("df", REAL, "Degrees of freedom of a test statistic."),
    Column("p", REAL, "p of a test statistic, not adjusted."),
)
UNDEFINED_DRAWS = Column("bootstrap_undefined_fraction", REAL, "Share of bootstrap draws without a value.")


def other_sheets(result: StoredAnalysis) -> list[Table]:
    return [
        Table(
            "time",
            "seconds per case of each reader and of all, their change along the order, and the sensitivity analyses",
            (
                Column(
                    "of", TEXT, "Pseudonym of the reader; or all readers; or a sensitivity analysis over all readers."
                ),
                TIME_STATISTIC,
                ESTIMATE,
                Column(
                    "n_censored",
                    WHOLE,
                    "How many of the times ended at a limit; slopes, correlation and variances are over the others.",
                ),
            ),
            list(_time_rows(result["time"])),
        ),
        Table("cases", "the cases one by one: key, who was right, discrimination", CASES, list(_case_rows(result))),
        Table(
            "excluded",
            "what is left out, or was voided later and is kept, with the reason",
            EXCLUDED,
            _excluded(result),
        ),
    ]


def _time_rows(time: TimeResult) -> Iterator[Sequence[TableCell]]:
    cut, undisturbed = time["sensitivity"]["winsorised"], time["sensitivity"]["without_quiet_or_blurred"]
    rows: list[tuple[str, Times]] = [(one["name"], one) for one in time["readers"]]
    rows += [("all readers", time["all"]), ("all readers, winsorised", cut)]
    rows += [("all readers, without_quiet_or_blurred", undisturbed)]
    for name, entry in rows:
        for statistic, one in values_of(entry):
            yield [name, statistic, one, entry["n_censored"]]
    parts = time["all"]["log_time_variance_components"]
    of = {"reader": parts["reader"], "question": parts["question"], "residual": parts["residual"]}
    for part, variance in of.items():
        found = counted(variance, parts["n"], parts["method"])
        value: Value = {**found, "flags": parts["flags"], "reason": parts["reason"]}
        yield ["all readers", f"log_time_variance_{part}", value, time["all"]["n_censored"]]


CASES = (
    Column("case", WHOLE, "Number of the case in the study."),
    Column("case_id", TEXT, "Random id of the case in the study."),
    Column("question", WHOLE, "Number of the question in its bank."),
    Column("task", TEXT, "Task of the question."),
    Column("category", TEXT, "Category of the question as imported."),
    Column("difficulty", TEXT, "Difficulty stated by the bank; empty: not known."),
    Column("key", TEXT, "The right option.", "A, B, C, D"),
    Column("voided", TEXT, "Whether the case was voided, before or after unblinding.", "before, after"),
    Column("n_right", WHOLE, "Raters who were right."),
    Column("n_counted", WHOLE, "Raters whose answer counts."),
    Column(
        "discrimination",
        REAL,
        "Correlation of being right here with the share right on the other scored cases; missing: undefined.",
    ),
    Column("missed_by_all", YES_NO, "Whether nobody who counts was right."),
)


def _case_rows(result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    items = result["items"]
    missed, columns = set(items["missed_by_all"]), [plain(items)[column.name] for column in CASES[:-1]]
    for place in range(len(items["key"])):
        yield [*(column[place] for column in columns), place in missed]


EXCLUDED = (
    Column("kind", TEXT, "What is left out.", "case, reader"),
    Column("case", WHOLE, "Number of the case in the study."),
    Column("case_id", TEXT, "Random id of the case in the study."),
    Column("question", WHOLE, "Number of the question in its bank."),
    Column("task", TEXT, "Task of the question."),
    Column("reader", TEXT, "Pseudonym of the reader."),
    Column(
        "decided",
        TEXT,
        "When; after unblinding the case stays in the primary result. declared_with_readings: in the original study, "
        "as the coordinator declared with the import of its readings.",
        "before_unblinding, declared_with_readings, after_unblinding",
    ),
    Column("reason", TEXT, "Why, as it was written down."),
)


def _excluded(result: StoredAnalysis) -> list[Sequence[TableCell]]:
    kinds = {column.name: column.kind for column in EXCLUDED}
    return [
        [plain(one).get(name, None if kind == WHOLE else "") for name, kind in kinds.items()]
        for one in result["excluded"]
    ]


# --- Accuracy as sheets: by task with every rule named, by category and difficulty, by ------------
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
            (PANEL, Column("statistic", TEXT, f"{meanings('panel')}."), ESTIMATE),
            [[name, statistic, one] for name, panel in result["panels"].items() for statistic, one in values_of(panel)],
        ),
        *_domains(result),
        _breakdown(result, "categories", "category"),
        _breakdown(result, "difficulties", "difficulty"),
        Table(
            "variants",
            "accuracy over all tasks under other rules, beside the primary result",
            (
                Column("variant", TEXT, "Short name of the rule; primary: that of the analysis."),
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


def _domains(result: StoredAnalysis) -> Iterator[Table]:
    """Nothing where no category is one of the paper's."""
    kinds, categories = kinds_of(result), breakdown(result, "categories")
    if not (rows := domain_rows(categories)):
        return
    columns = (
        Column("domain", TEXT, "Domain of the ReXVQA paper; what is in none; the plain mean of all categories."),
        Column("category", TEXT, "Category of the questions; empty: all of the domain."),
        Column("n_questions", WHOLE, "Scored questions of it."),
        *(RATER, KIND, ESTIMATE),
    )
    cells: list[Sequence[TableCell]] = [
        [row.domain, row.category, row.n, rater, kinds[rater], value]
        for row in (*rows, mean_row(categories))
        for rater, value in zip(order_of(result), row.shares, strict=True)
    ]
    yield Table("domains", "accuracy by domain with its categories, and the mean of the categories", columns, cells)


def _variant_rows(result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    kinds, whole = kinds_of(result), result["panels"][ALL_TASKS]
    every = [("primary", "primary result", whole["n"], whole)]
    every += [(name, one["label"], one["n"], one["panels"][ALL_TASKS]) for name, one in result["variants"].items()]
    for variant, label, n, panel in every:
        raters = raters_of(panel)
        for rater in order_of(result):
            if rater in raters:
                yield [variant, label, n, rater, kinds[rater], raters[rater]["accuracy"]]
