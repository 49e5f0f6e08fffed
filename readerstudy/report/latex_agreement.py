"""Agreement for print: readers and models, every pair, every pair by task, and groups."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.statistics.kernels.catalogue import Scale, ShownOn, Statistic, shown_at, statistic
from annotation.statistics.kernels.estimate import Value
from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis, value_named
from readerstudy.report.kernels.latex import (
    INTERVAL,
    SHARED_DIFFICULTY,
    Rows,
    TexTable,
    bootstrap_rule,
    caption,
    escaped,
    fixed,
    layout,
    limits,
    marked,
    pair_rule,
    percent,
    percent_limits,
    rater_head,
    stacked,
    with_n,
)
from readerstudy.results.kernels.agreement_tables import group_table, reader_agreement
from readerstudy.results.kernels.stored import FEWEST_FOR_KAPPA, shown_kappa, task_label
from readerstudy.results.wording import caution

HIDDEN = rf"Not shown: a kappa over fewer than {FEWEST_FOR_KAPPA} questions, which says too little."
NOT_SHOWN = "not shown"
SMALL_PAIRS = (
    r"\textdagger{} fewer than 30 questions that both answered. \textdaggerdbl{} fewer than 5 disagreements: bootstrap "
    "limits may be too narrow."
)


def mean_agreement_tex(result: StoredAnalysis) -> TexTable:
    """What is free of accuracy first."""
    found = reader_agreement(result)
    rows: Rows = []
    for row in found.rows:
        named = {"Readers minus mixed": row.difference, "Readers": row.readers, "Readers with models": row.mixed}
        for place, (pairs, one) in enumerate(named.items()):
            label = "" if place else escaped(row.measure.label)
            rows.append([label, pairs, *_printed(one, row.measure), str(one["n"]), escaped(caution(one))])
    left_out = "; pairs that share no assigned question are left out" if found.leaves_out else ""
    text = (
        f"Whether readers agree more with each other than with models: means over {found.n_pairs_readers} pairs of "
        f"readers and {found.n_pairs_reader_model} of a reader and a model{left_out}, all tasks, on shared draws. "
        "Excess: same option beyond that of two independent raters of the same accuracies, in percentage points; error "
        "consistency: Cohen's kappa of right and wrong; n the fewest questions that a pair has in common. "
        f"{bootstrap_rule(result)} {SHARED_DIFFICULTY}"
    )
    head = ["Measure", "Pairs", "Mean", INTERVAL, "n", "Caution"]
    return TexTable("mean_agreement", caption(result, text), "llrrrl", [(head, rows)])


def _printed(one: Value, what: Statistic) -> list[str]:
    """Value and interval; of few questions the words in place of a kappa, as on the page."""
    if what.scale is Scale.COEFFICIENT:
        shown = shown_kappa(one)
        return [NOT_SHOWN if shown["reason"] == "hidden" else marked(fixed(shown["value"], 3), shown), limits(shown, 3)]
    is_signed = what.scale is Scale.POINTS
    return [marked(percent(one, signed=is_signed), one), percent_limits(one, signed=is_signed)]


def pairs_tex(result: StoredAnalysis) -> Iterator[TexTable]:
    pairs = result["panels"][ALL_TASKS]["pairs"]
    if not pairs:
        return
    hidden = f" {HIDDEN}" if any(one["cohen_kappa"]["n"] < FEWEST_FOR_KAPPA for one in pairs) else ""
    shares = [one for one in shown_at(ShownOn.PRINTED_PAIRS) if one.scale is Scale.SHARE]
    others = [one for one in shown_at(ShownOn.PRINTED_PAIRS) if one.scale is not Scale.SHARE]
    rows: Rows = []
    for pair in pairs:
        cells = [rater_head(result, pair["first"], pair["second"]), str(pair["cohen_kappa"]["n"])]
        cells += [percent(one) for what in shares if (one := value_named(pair, what.name))]
        for what in others:
            value = value_named(pair, what.name)
            cells += _printed(value, what) if value else ["", ""]
        rows.append(cells)
    head = ["Pair", "n", *(stacked(f"{what.head or what.label}, %") for what in shares)]
    for what in others:
        head += [stacked(what.label, 18), ""]
    text = (
        "Agreement of every pair of raters over all tasks: n questions that both answered with an option; same option "
        "and agreement expected by chance in percent; kappas; agreement beyond that of two independent raters of the "
        "same accuracies in percentage points; error consistency is Cohen's kappa of right and wrong. Of a model and a "
        f"reader the model comes first. {pair_rule(result)}{hidden} {SMALL_PAIRS}"
    )
    columns = "lr" + "r" * len(shares) + "rl" * len(others)
    yield TexTable("pairs", caption(result, text), columns, [(head, rows)], is_long=True)
    yield _kappas_by_task(result)


def _kappas_by_task(result: StoredAnalysis) -> TexTable:
    panels, kappa = result["panels"], statistic("pair", "cohen_kappa")
    kappas = [(panel["n"], [pair["cohen_kappa"] for pair in panel["pairs"]]) for panel in panels.values()]
    hides = any(one["n"] < FEWEST_FOR_KAPPA for _n, of_panel in kappas for one in of_panel)
    rows: Rows = []
    for place, pair in enumerate(panels[ALL_TASKS]["pairs"]):
        values = [_printed(of_panel[place], kappa)[0] for _n, of_panel in kappas]
        rows.append([rater_head(result, pair["first"], pair["second"]), *values])
        rows.append(["", *(_below_kappa(shown_kappa(of_panel[place]), n) for n, of_panel in kappas)])
    head = ["Pair", *(stacked(with_n(task_label(name), panel["n"])) for name, panel in panels.items())]
    text = (
        "Cohen's kappa of every pair of raters, same option, over all tasks and by task; n questions that both "
        f"answered with an option, in the head or where it is another below the kappa. {bootstrap_rule(result)}"
        f"{f' {HIDDEN}' if hides else ''} {SMALL_PAIRS}"
    )
    return TexTable("kappas_by_task", caption(result, text), layout(len(panels)), [(head, rows)], is_long=True)


def _below_kappa(one: Value, n: int) -> str:
    if one["reason"] == "hidden":
        return f"n = {one['n']}"
    return ", ".join(filter(None, [limits(one, 3), f"n = {one['n']}" if one["n"] != n else ""]))


def groups_tex(result: StoredAnalysis) -> TexTable:
    table = group_table(result, ALL_TASKS)
    rows: Rows = []
    for what, values in table.rows:
        cells = [_printed(one, what) for one in values]
        below = [", ".join(filter(None, [cell[1], f"n = {one['n']}"])) for cell, one in zip(cells, values, strict=True)]
        row = [escaped(what.head or what.label)]
        for cell, n in zip(cells, below, strict=True):
            row += [cell[0], n]
        rows.append(row)
    head = ["Statistic"]
    for group, n_raters in table.sizes:
        head += [f"{group.capitalize()} ({n_raters})", r"95\,\% interval, n"]
    text = (
        "Agreement within groups of raters over all tasks, on the chosen option; percent agreement in percent; n "
        "questions that two raters of the group or more answered with an option; all others are left out. More "
        f"coefficients stand in groups.csv. {bootstrap_rule(result)}"
    )
    return TexTable("groups", caption(result, text), "lrlrlrl", [(head, rows)])
