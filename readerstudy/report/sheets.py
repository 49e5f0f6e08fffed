"""Tables of the report for programs, in full precision: shared columns; times, cases, what is left out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.statistics.kernels.catalogue import meanings
from annotation.statistics.kernels.estimate import Value
from annotation.tables.kernels.table import ESTIMATE, REAL, TEXT, WHOLE, YES_NO, Column, Table, TableCell, counted
from readerstudy.analysis.kernels.result import StoredAnalysis, TimeResult, Times, plain, values_of

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
    "statistic",
    TEXT,
    f"{meanings('time')}; log_time_variance_*: parts of the variance of the logarithm of seconds.",
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
        Table("excluded", "cases and readers that are left out, each with the reason", EXCLUDED, _excluded(result)),
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
