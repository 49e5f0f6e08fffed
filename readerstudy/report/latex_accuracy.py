"""Accuracy for print: by task with every rule named, by category and difficulty, and under other rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.statistics.kernels.estimate import Value
from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis
from readerstudy.report.kernels.latex import (
    INTERVAL,
    Rows,
    TexTable,
    caption,
    escaped,
    failed_rule,
    layout,
    marked,
    percent,
    percent_limits,
    percent_of,
    quotes,
    rater_head,
    stacked,
    with_n,
)
from readerstudy.results.kernels.inferences import means_of_runs
from readerstudy.results.kernels.stored import expert_ceiling, task_label
from readerstudy.results.kernels.tables import (
    AccuracyRow,
    AccuracyTable,
    accuracy_table,
    breakdown,
    runs_table,
    variants_table,
)
from readerstudy.results.wording import caution

AT_ONCE, MOST_AT_ONCE = 6, 8  # columns of shares beside each other; of the table of tasks
GUESSES = (
    "“With best guesses” has the best guess in place of “cannot tell”, which is wrong in every other column; without a "
    "guess it is wrong there, too. "
)
CLUSTERED = "These intervals take questions as independent, although patients or exams share some. "
SMALL = r"\textdagger{} n below 10."


def accuracy_tex(result: StoredAnalysis) -> TexTable:
    table = accuracy_table(result)
    guessed = [("With best guesses", table.n)] if table.has_guesses else []
    heads = [("Over questions", table.n), *guessed, *((task_label(task), n) for task, n in table.tasks)]
    heads += [("Mean of tasks", table.n), *([("Weighted to the bank", table.n)] if table.has_bank_mix else [])]
    shares = [_shares_of(row, table) for row in table.rows]
    names = [rater_head(result, row.name) for row in table.rows]
    parts = list(_blocks(names, heads, shares, MOST_AT_ONCE))
    states = [[name, *_states_of(row)] for name, row in zip(names, table.rows, strict=True)]
    n_columns = max(3, min(MOST_AT_ONCE, len(heads)))
    head = ["Rater", "Failed extraction", "No option", "Missing"]
    parts.append(([*head, *[""] * (n_columns - 3)], [[*row, *[""] * (n_columns - 3)] for row in states]))
    text = (
        r"Accuracy in percent with 95\,\% intervals (Wilson) over the scored questions that the rater did not miss; n "
        r"in the head, and with a share where it is another. “Over questions” counts every question once, “mean "
        r"of tasks” every task once (no interval where one has fewer than five questions)"
        f"{_of_bank(table)}. {CLUSTERED if table.has_clusters else ''}No option: "
        f"declined, time ended without a choice, or too late; counted wrong. Failed extractions {failed_rule(result)}. "
        + (GUESSES if table.has_guesses else "")
        + _ceiling(result)
        + SMALL
    )
    return TexTable("accuracy", caption(result, quotes(text)), layout(n_columns), parts)


def _ceiling(result: StoredAnalysis) -> str:
    """The line of the experts over all tasks; empty where no reviewer answered blind."""
    found = expert_ceiling(result["panels"][ALL_TASKS])
    if not found:
        return ""
    intervals = "; by patient or exam ".join(percent_limits(one) or escaped(caution(one)) for one in found)
    n = found[0]["n"]
    return rf"Blind reviewers equal the key in {percent(found[0])}\,\% ({intervals}, n = {n} answers). "


def _of_bank(table: AccuracyTable) -> str:
    """What the column of the bank is, and whose strata it took together."""
    if not table.has_bank_mix:
        return ""
    text = (
        ", “mix of the bank” weights the strata of the draw as in the bank, its interval about the questions of that "
        "bank alone"
    )
    merged = ", ".join(map(task_label, table.merged_tasks))
    return (
        f"{text}; difficulties taken together, since fewer than two questions of one count: {merged}"
        if merged
        else text
    )


def _shares_of(row: AccuracyRow, table: AccuracyTable) -> list[Value | None]:
    guessed = [row.best_guess] if table.has_guesses else []
    return [row.overall, *guessed, *row.tasks, row.task_mean, *([row.bank_mix] if table.has_bank_mix else [])]


def _states_of(row: AccuracyRow) -> list[str]:
    shown = percent_of(row.failed_share, row.overall["n"])
    share = "" if not row.n_failed or row.failed_share is None else rf" ({shown}\,\%)"
    return [f"{row.n_failed}{share}", str(row.n_no_option), str(row.n_missing)]


def _blocks(
    names: Sequence[str],
    heads: Sequence[tuple[str, int]],
    shares: Sequence[Sequence[Value | None]],
    at_once: int = AT_ONCE,
) -> Iterator[tuple[list[str], Rows]]:
    """Columns with their questions, so many beside each other; each rater has a line of values and one of intervals."""
    width = min(at_once, len(heads))
    for start in range(0, len(heads), at_once):
        chosen = heads[start : start + at_once]
        empty = [""] * (width - len(chosen))
        rows: Rows = []
        for name, row in zip(names, shares, strict=True):
            here = list(zip(row[start : start + at_once], (n for _, n in chosen), strict=True))
            rows.append([name, *("" if one is None else marked(percent(one), one) for one, _ in here), *empty])
            rows.append(["", *(_below(one, n) for one, n in here), *empty])
        yield ["Rater", *(stacked(with_n(head, n)) for head, n in chosen), *empty], rows


def _below(one: Value | None, n: int) -> str:
    """The interval, and n where it is not that of the column; or why there is no value."""
    if one is None:
        return ""
    if one["value"] is None:
        return escaped(caution(one))
    other_n = "" if one["n"] == n else f"n = {one['n']}"
    return ", ".join(filter(None, [percent_limits(one) or "no interval", other_n]))


def breakdowns_tex(result: StoredAnalysis) -> Iterator[TexTable]:
    tables = (("category", breakdown(result, "categories")), ("difficulty", breakdown(result, "difficulties")))
    for key, table in tables:
        heads = [(value or "not known", n) for value, n in table.values]
        if not heads:
            continue
        names = [rater_head(result, rater) for rater, _ in table.rows]
        parts = list(_blocks(names, heads, [row for _, row in table.rows]))
        text = (
            rf"Accuracy by {key} in percent with 95\,\% intervals (Wilson) over the scored questions that the rater "
            "did not miss; n in the head, and with a share where it is another. Failed extractions "
            f"{failed_rule(result)}. Nothing here was tested. {SMALL}"
        )
        name = "categories" if key == "category" else "difficulties"
        yield TexTable(name, caption(result, text), layout(min(AT_ONCE, len(heads))), parts, is_long=len(parts) > 1)


def runs_tex(result: StoredAnalysis) -> Iterator[TexTable]:
    found = runs_table(result)
    if not found:
        return
    rows = [
        [
            rater_head(result, row.name) if place == 0 else "",
            f"{one['number']}{' (named)' if one['number'] == row.named else ''}",
            marked(percent(one), one),
            percent_limits(one) or escaped(caution(one)),
            str(one["n"]),
            percent_of(row.found["accuracy_run_mean"]["value"], one["n"]) if place == 0 else "",
            percent_of(row.found["accuracy_run_sd"]["value"], one["n"]) if place == 0 else "",
        ]
        for row in found
        for place, one in enumerate(row.found["accuracy_of_runs"])
    ]
    means = means_of_runs(result)
    head = ["Model", "Run", r"Accuracy, \%", INTERVAL, "n", stacked("Mean of runs"), stacked("SD of runs, points")]
    text = (
        r"Accuracy over all tasks of every run of a model that is not withdrawn, in percent with 95\,\% intervals "
        r"(Wilson), and mean and standard deviation (runs minus one) over the runs. Everywhere else the main run "
        rf"represents the model{f'; against the readers {escaped(means)}' if means else ''}."
    )
    yield TexTable("runs", caption(result, text), "llrlrrr", [(head, rows)], is_long=len(rows) > 24)


def variants_tex(result: StoredAnalysis) -> Iterator[TexTable]:
    table = variants_table(result)
    if table is None:
        return
    n = result["panels"][ALL_TASKS]["n"]
    heads = [("Primary result", n), *((f"Variant {place}", n) for place, (_, n) in enumerate(table.names, 1))]
    rows = [[primary, *others] for _, primary, others in table.rows]
    labels = "; ".join(f"variant {place}: {escaped(label)}" for place, (label, _) in enumerate(table.names, 1))
    text = (
        rf"Accuracy over all tasks in percent with 95\,\% intervals (Wilson) under other rules. {labels.capitalize()}."
    )
    parts = list(_blocks([rater_head(result, name) for name, _, _ in table.rows], heads, rows))
    yield TexTable("variants", caption(result, text), layout(len(heads)), parts)
