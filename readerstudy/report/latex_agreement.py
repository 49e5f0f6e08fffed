"""Agreement for print: readers and models, every pair, every pair by task, and groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from readerstudy.report.kernels.latex import TexTable, escaped, fixed, limits, marked, percent, percent_limits, stacked
from readerstudy.report.kernels.latex_words import (
    INTERVAL,
    SHARED_DIFFICULTY,
    Rows,
    bootstrap_rule,
    caption,
    layout,
    pair_rule,
    rater_head,
    with_n,
)
from readerstudy.results.kernels.reader_agreement import GROUPS, group_value, reader_agreement
from readerstudy.results.kernels.stored import (
    ALL_TASKS,
    FEWEST_FOR_KAPPA,
    Json,
    shown_kappa,
    task_label,
    with_shown_kappas,
)
from readerstudy.results.wording import caution

HIDDEN = rf"Not shown: a kappa over fewer than {FEWEST_FOR_KAPPA} questions, which says too little."
NOT_SHOWN = "not shown"
SMALL_PAIRS = (
    r"\textdagger{} fewer than 30 questions that both answered. \textdaggerdbl{} fewer than 5 disagreements: bootstrap "
    "limits may be too narrow."
)
MEASURES = {
    "excess": "Excess agreement, points",
    "error_consistency": "Error consistency",
    "kappa": "Cohen's kappa, same option",
}


def mean_agreement_tex(result: Json) -> TexTable:
    """What is free of accuracy first."""
    found = reader_agreement(result)
    rows: Rows = []
    for row in found.rows:
        named = {"Readers minus mixed": row.difference, "Readers": row.readers, "Readers with models": row.mixed}
        for place, (pairs, one) in enumerate(named.items()):
            shown = _points(one) if row.measure == "excess" else _kappa(one)
            rows.append(["" if place else MEASURES[row.measure], pairs, *shown, str(one["n"]), escaped(caution(one))])
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


def _points(one: Json) -> list[str]:
    return [marked(percent(one, signed=True), one), percent_limits(one, signed=True)]


def _kappa(one: Json) -> list[str]:
    """Of few questions the words in place of a number, as on the page."""
    return [NOT_SHOWN if one["reason"] == "hidden" else marked(fixed(one["value"], 3), one), limits(one, 3)]


def pairs_tex(result: Json) -> Iterator[TexTable]:
    pairs = result["panels"][ALL_TASKS]["pairs"]
    if not pairs:
        return
    hidden = f" {HIDDEN}" if any(shown_kappa(one["cohen_kappa"])["reason"] == "hidden" for one in pairs) else ""
    rows: Rows = []
    for one in pairs:
        shown = with_shown_kappas(one)
        rows.append([rater_head(result, one["first"], one["second"]), str(one["cohen_kappa"]["n"]), *_pair(shown)])
    head = ["Pair", "n", *map(stacked, ("Same option, %", "Expected, %"))]
    for name in ("Cohen's kappa", "Brennan–Prediger", "Excess, points", "Error consistency"):
        head += [stacked(name, 18), ""]
    text = (
        "Agreement of every pair of raters over all tasks: n questions that both answered with an option; same option "
        "and agreement expected by chance in percent; kappas; agreement beyond that of two independent raters of the "
        "same accuracies in percentage points; error consistency is Cohen's kappa of right and wrong. Of a model and a "
        f"reader the model stands first. {pair_rule(result)}{hidden} {SMALL_PAIRS}"
    )
    yield TexTable("pairs", caption(result, text), "lrrrrlrlrlrl", [(head, rows)], is_long=True)
    yield _kappas_by_task(result)


def _pair(one: Json) -> list[str]:
    excess = one["excess_agreement"]
    return [
        percent(one["percent_agreement"]),
        percent(one["expected_agreement"]),
        *_kappa(one["cohen_kappa"]),
        *_kappa(one["brennan_prediger"]),
        *_points(excess),
        *_kappa(one["error_consistency"]),
    ]


def _kappas_by_task(result: Json) -> TexTable:
    panels: Mapping[str, Json] = result["panels"]
    kappas = [(panel["n"], [pair["cohen_kappa"] for pair in panel["pairs"]]) for panel in panels.values()]
    found = [(n, list(map(shown_kappa, of_panel))) for n, of_panel in kappas]
    hides = any(one["reason"] == "hidden" for _n, of_panel in found for one in of_panel)
    rows: Rows = []
    for place, pair in enumerate(panels[ALL_TASKS]["pairs"]):
        rows.append([rater_head(result, pair["first"], pair["second"]), *(_kappa(one[place])[0] for _, one in found)])
        rows.append(["", *(_below_kappa(one[place], n) for n, one in found)])
    head = ["Pair", *(stacked(with_n(task_label(name), panel["n"])) for name, panel in panels.items())]
    text = (
        "Cohen's kappa of every pair of raters, same option, over all tasks and by task; n questions that both "
        f"answered with an option, in the head or where it is another below the kappa. {bootstrap_rule(result)}"
        f"{f' {HIDDEN}' if hides else ''} {SMALL_PAIRS}"
    )
    return TexTable("kappas_by_task", caption(result, text), layout(len(panels)), [(head, rows)], is_long=True)


def _below_kappa(one: Json, n: int) -> str:
    if one["reason"] == "hidden":
        return f"n = {one['n']}"
    return ", ".join(filter(None, [limits(one, 3), f"n = {one['n']}" if one["n"] != n else ""]))


GROUP_STATISTICS = {
    "percent_agreement": "Percent agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "brennan_prediger": "Brennan--Prediger",
}


def groups_tex(result: Json) -> TexTable:
    groups = result["panels"][ALL_TASKS]["groups"]
    rows: Rows = []
    for name, label in GROUP_STATISTICS.items():
        cells = [_as_group(name, group_value(name, groups[group])) for group in GROUPS]
        rows.append([label, *(cell for pair in cells for cell in pair)])
    head = ["Statistic"]
    for group in GROUPS:
        head += [f"{group.capitalize()} ({groups[group]['n_raters']})", r"95\,\% interval, n"]
    text = (
        "Agreement within groups of raters over all tasks, on the chosen option; percent agreement in percent; n "
        "questions that two raters of the group or more answered with an option; all others are left out. More "
        f"coefficients stand in groups.csv. {bootstrap_rule(result)}"
    )
    return TexTable("groups", caption(result, text), "lrlrlrl", [(head, rows)])


def _as_group(name: str, one: Json) -> list[str]:
    is_share = name == "percent_agreement"
    value, interval = [marked(percent(one), one), percent_limits(one)] if is_share else _kappa(one)
    return [value, ", ".join(filter(None, [interval, f"n = {one['n']}"]))]
