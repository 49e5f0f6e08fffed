"""Accuracy as sheets: by task with every rule named, by category and difficulty, by confidence and position. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.exports.tables import Cell, Column
from readerstudy.report.sheets import KIND, PANEL, RATER, TEXT, VALUE, WHOLE, Sheet, value_cells, values_of
from readerstudy.results.stored import ALL_TASKS, Json, asks_guesses, kinds_of, order_of, raters_of

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
MEASURE = Column(
    "measure",
    TEXT,
    "accuracy: right answers over questions. accuracy_task_mean: plain mean of the tasks. accuracy_bank_mix: weighted "
    "to the mix of the bank. accuracy_best_guess: with the best guess in place of “cannot tell”, in studies that ask "
    "for it. accuracy_clopper_pearson, accuracy_cluster: accuracy with another interval.",
)


def accuracy_sheets(result: Json) -> list[Sheet]:
    return [
        Sheet(
            "accuracy",
            "accuracy by task and over all tasks, with failed extractions and every other state counted",
            (RATER, KIND, PANEL, MEASURE, *VALUE, *_counts(result)),
            list(_accuracy_rows(result)),
        ),
        _breakdown(result, "categories", "category"),
        _breakdown(result, "difficulties", "difficulty"),
        Sheet(
            "variants",
            "accuracy over all tasks under other rules, beside the primary result",
            (
                Column("variant", TEXT, "Short name of the rule; primary: the result as planned."),
                Column("label", TEXT, "The rule in words."),
                Column("n_questions", WHOLE, "Questions under this rule."),
                RATER,
                KIND,
                *VALUE,
            ),
            list(_variant_rows(result)),
        ),
        Sheet(
            "confidence",
            "accuracy of each reader by the stated chance of being right",
            (RATER, Column("said", WHOLE, "Stated chance of being right, percent."), *VALUE),
            [
                [one["name"], int(said), *value_cells(share)]
                for one in result["tables"]["confidence"]
                for said, share in one["accuracy"].items()
            ],
        ),
        Sheet(
            "positions",
            "accuracy of each reader along the order of the cases, in ten blocks",
            (
                RATER,
                Column("from", WHOLE, "First place of the block in the order of this reader."),
                Column("to", WHOLE, "Last place of the block."),
                *VALUE,
            ),
            [
                [one["name"], block["from"], block["to"], *value_cells(block["accuracy"])]
                for one in result["tables"]["positions"]
                for block in one["blocks"]
            ],
        ),
    ]


def _counts(result: Json) -> tuple[Column, ...]:
    return (*COUNTS, GUESSED) if asks_guesses(result) else COUNTS


def _accuracy_rows(result: Json) -> Iterator[Sequence[Cell]]:
    """Raters in the order of the analysis; of each the panels, all tasks first."""
    kinds = kinds_of(result)
    panels = {name: raters_of(panel) for name, panel in result["panels"].items()}
    for rater in order_of(result):
        for panel, entries in panels.items():
            entry = entries[rater]
            counts = [entry[column.name] for column in _counts(result)]
            for measure, value in values_of(entry).items():
                yield [rater, kinds[rater], panel, measure, *value_cells(value), *counts]


def _breakdown(result: Json, table: str, name: str) -> Sheet:
    kinds = kinds_of(result)
    return Sheet(
        table,
        f"accuracy by {name} of the questions",
        (
            Column(name, TEXT, f"The {name} of the questions as imported; empty: not known."),
            Column("n_questions", WHOLE, "Scored questions of it."),
            RATER,
            KIND,
            *VALUE,
        ),
        [
            [one[name], one["n"], rater, kinds[rater], *value_cells(one["accuracy"][rater])]
            for one in result["tables"][table]
            for rater in order_of(result)
        ],
    )


def _variant_rows(result: Json) -> Iterator[Sequence[Cell]]:
    kinds = kinds_of(result)
    primary = {"label": "primary result", "n": result["panels"][ALL_TASKS]["n"], "panels": result["panels"]}
    for variant, found in {"primary": primary, **result["variants"]}.items():
        raters = raters_of(found["panels"][ALL_TASKS])
        for rater in order_of(result):
            value = value_cells(raters[rater]["accuracy"])
            yield [variant, found["label"], found["n"], rater, kinds[rater], *value]
