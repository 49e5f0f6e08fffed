"""Tables of accuracy and of agreement for people, from a stored analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec.structs import replace

from annotation.statistics.kernels.catalogue import Scale, ShownOn, Statistic, shown_at
from annotation.statistics.kernels.estimate import CLUSTERS_IGNORED, POST_HOC, STRATA_MERGED, STRATUM_TOO_SMALL, Value
from annotation.tables.kernels.table import TEXT, WHOLE, Column, Counted, Name, ShownEstimate, Table, TableCell
from readerstudy.analysis.kernels.panel_result import RaterEntry
from readerstudy.analysis.kernels.result import ALL_TASKS, MODEL, StoredAnalysis, Times, plain, value_named
from readerstudy.results.kernels.agreement_tables import reader_agreement
from readerstudy.results.kernels.comparison_tables import best_model, domain_rows, mean_row
from readerstudy.results.kernels.inferences import means_of_runs
from readerstudy.results.kernels.stored import (
    FEWEST_FOR_KAPPA,
    BreakdownTable,
    asks_guesses,
    breakdown,
    calibrations,
    expert_ceiling,
    has_times,
    kinds_of,
    order_of,
    panel_names,
    raters_of,
    runs_in_mean,
    shown_kappa,
    task_label,
    without_flags,
)
from readerstudy.results.wording import bootstrap_rule, caution, estimates, failed_rule, rater_name, shown, table_of

Rows = list[list[TableCell]]
INDENT = "\N{NO-BREAK SPACE}" * 3  # before a category below its domain


def accuracy_table(result: StoredAnalysis) -> Table:
    """Table 2 of the paper: columns are tasks, and three ways of saying "overall"."""
    panels, kinds = {name: raters_of(panel) for name, panel in result["panels"].items()}, kinds_of(result)
    whole, tasks = panels[ALL_TASKS], [name for name in panel_names(result) if name != ALL_TASKS]
    mixes = [one["accuracy_bank_mix"] for one in whole.values() if "accuracy_bank_mix" in one]
    merged = {tuple(one.get("merged_tasks", ())) for one in mixes}
    common = {POST_HOC, CLUSTERS_IGNORED, *([STRATA_MERGED] if len(merged) == 1 else [])}  # once, in the caption
    has_guesses, best, rows = asks_guesses(result), best_model(result), Rows()
    for name in order_of(result):
        one = whole[name]
        shares: list[TableCell] = [
            _over_questions(one, is_best=name == best),
            *([_guessed(one)] if has_guesses else []),
        ]
        shares += [_share(panels[task][name]["accuracy"]) for task in tasks]
        shares += [_share(one["accuracy_task_mean"], common)]
        shares += [_share(one.get("accuracy_bank_mix"), common)] if mixes else []
        rows.append([rater_name(result, name, _(kinds[name])), *shares, *_not_answered(one)])
    n_of = {name: panel["n"] for name, panel in result["panels"].items()}
    guesses, mix = ["With best guesses"] * has_guesses, ["Weighted to the bank"] * bool(mixes)
    columns = [
        Column(_("Rater"), TEXT),
        *(estimates(_(head), n_of[ALL_TASKS]) for head in ("Over questions", *guesses)),
        *(estimates(_(task_label(task)), n_of[task]) for task in tasks),
        *(estimates(_(head), n_of[ALL_TASKS]) for head in ("Mean of tasks", *mix)),
        *(Column(_(head), WHOLE) for head in ("Failed", "No option", "Missing")),
    ]
    facts: dict[str, Any] = {
        "has_mix": bool(mixes),
        "merged": sorted({task for one in merged for task in one}),
        "has_clusters": any("accuracy_cluster" in one for one in whole.values()),
        "has_guesses": has_guesses,
        "has_models": sum(kind == MODEL for kind in kinds.values()) > 1,
        "has_best": best is not None,
        "failed": failed_rule(result),
        "experts": expert_ceiling(result["panels"][ALL_TASKS]),
    }
    return table_of("accuracy", columns, rows, is_stacked=True, **facts)


def _share(one: Value | None, common: Set[str] = frozenset({POST_HOC}), note: str = "") -> ShownEstimate | None:
    """Without the cautions that the table says of the whole row or of all of them."""
    return None if one is None else shown(without_flags(one, common), Scale.SHARE, note)


def _over_questions(one: RaterEntry, *, is_best: bool) -> ShownEstimate:
    clustered = _share(one.get("accuracy_cluster"))
    cell = shown(without_flags(one["accuracy"], {POST_HOC}), Scale.SHARE, clustered=clustered)
    return replace(cell, is_best=is_best)


def _guessed(one: RaterEntry) -> ShownEstimate | None:
    counts = {"guessed": one.get("n_guessed", 0), "declined": one["n_declined"]}
    note = _("guessed %(guessed)s of %(declined)s") % counts if one["n_declined"] else ""
    return _share(one.get("accuracy_best_guess"), note=note)


def _not_answered(one: RaterEntry) -> list[TableCell]:
    """Failed extractions as a share of everything but missing; what has no option; what is missing."""
    n_no_option = one["n_declined"] + one["n_timed_out"] + one["n_late"]
    n_not_missing = one["n_answered"] + one["n_unconfirmed"] + one["n_failed"] + n_no_option
    return [Counted(one["n_failed"], n_not_missing), n_no_option, one["n_missing"]]


def breakdown_table(
    found: BreakdownTable, name: str, head: str, result: StoredAnalysis | None = None, whole: Sequence[Value] = ()
) -> Table:
    """A row for each value, however many; a column for each rater. Outside of a study it has no ``result``.

    ``whole``: the accuracy of each over all questions, which stands below the mean of the values.
    """
    rows: Rows = [_of_questions(value or _("not known"), n, shares) for value, n, shares in found.by_value]
    rows += _averages(found, whole) if whole and rows else []
    return _by_rater(name, head, found, rows, result, averages=bool(whole))


def domain_table(
    found: BreakdownTable, result: StoredAnalysis | None = None, whole: Sequence[Value] = ()
) -> Table | None:
    """Table 3 of the paper: its categories under their domains. Nothing where it has none of these categories."""
    rows: Rows = [
        _of_questions(f"{INDENT}{row.category}" if row.category else _(row.domain), row.n, row.shares)
        for row in domain_rows(found)
    ]
    rows += _averages(found, whole) if rows else []
    return _by_rater("domains", _("Domain and category"), found, rows, result, averages=True) if rows else None


def _by_rater(
    name: str, head: str, found: BreakdownTable, rows: Rows, result: StoredAnalysis | None, *, averages: bool
) -> Table:
    names = [rater if result is None else rater_name(result, rater).text for rater, _shares in found.rows]
    columns, failed = [Column(head, TEXT), *map(estimates, names)], result and failed_rule(result)
    facts = {"failed": failed, "averages": averages, "by_domain": name == "domains"}
    return table_of("breakdown", columns, rows, name=name, is_stacked=True, **facts)


def _of_questions(name: str, n: int, shares: Sequence[Value]) -> list[TableCell]:
    return [Name(name, _questions(n), n=n), *(shown(one, Scale.SHARE) for one in shares)]


def _averages(found: BreakdownTable, whole: Sequence[Value]) -> Rows:
    n, mean = sum(n for _value, n in found.values), mean_row(found)
    shares = [without_flags(one, {STRATUM_TOO_SMALL}) for one in mean.shares]  # the caption says it
    return [_of_questions(_(mean.domain), n, shares), _of_questions(_("All questions"), n, whole)]


def breakdown_tables(result: StoredAnalysis) -> tuple[Table | None, Table, Table]:
    """By category under the domains of the paper, by every category, and by difficulty."""
    categories, difficulties = breakdown(result, "categories"), breakdown(result, "difficulties")
    of_all = raters_of(result["panels"][ALL_TASKS])
    whole = [of_all[name]["accuracy"] for name, _shares in categories.rows]
    return (
        domain_table(categories, result, whole),
        breakdown_table(categories, "categories", _("Category"), result, whole),
        breakdown_table(difficulties, "difficulties", _("Difficulty"), result),
    )


def _questions(n: int) -> str:
    return ngettext("%(n)s question", "%(n)s questions", n) % {"n": n}


def runs_table(result: StoredAnalysis) -> Table | None:
    """Every run of each model with several on these questions. Nothing where no model has a second run."""
    numbers = {one["name"]: one.get("number") for one in result["raters"]}
    whole, means, rows = raters_of(result["panels"][ALL_TASKS]), runs_in_mean(result), Rows()
    for name in order_of(result):
        runs = whole[name].get("runs")
        if runs is None or runs["n_runs"] < 2:
            continue
        note = _("against the readers the mean of %(n)s runs") % {"n": means[name]} if name in means else ""
        summary = [shown(runs[each], Scale.SHARE) for each in ("accuracy_run_mean", "accuracy_run_sd")]
        for place, one in enumerate(runs["accuracy_of_runs"]):
            run = f"{one['number']}{_(' (main)') if one['number'] == numbers[name] else ''}"
            head, more = (rater_name(result, name, note), summary) if place == 0 else (None, [None, None])
            rows.append([head, run, shown(one, Scale.SHARE), one["n"], *more])
    columns = [
        *(Column(_("Model"), TEXT), Column(_("Run"), TEXT), estimates(_("Accuracy")), Column("n", WHOLE)),
        *(estimates(_(head), has_interval=False) for head in ("Mean of runs", "Standard deviation of runs")),
    ]
    return table_of("runs", columns, rows, runs=means_of_runs(result)) if rows else None


def calibration_table(result: StoredAnalysis) -> Table | None:
    """Nothing where nobody stated a chance of being right."""
    rows: Rows = [
        [
            rater_name(result, one["name"], _(one["kind"])),
            one["n"],
            *(shown(value, Scale.PLAIN) for value in (one["brier_score"], one["brier_reference"])),
            *(shown(value, Scale.SHARE) for value in (one["mean_stated"], one["mean_right"])),
            shown(one["stated_minus_right"], Scale.POINTS),
        ]
        for one in calibrations(result)
    ]
    columns = [
        *(Column(_("Rater"), TEXT), Column("n", WHOLE), estimates(_("Brier score"))),
        *(estimates(_(head), has_interval=False) for head in ("Reference", "Stated, %", "Right, %")),
        estimates(_("Stated minus right")),
    ]
    has_clusters = result["panels"][ALL_TASKS]["unit"] == "cluster"
    return table_of("calibration", columns, rows, has_clusters=has_clusters) if rows else None


def time_table(result: StoredAnalysis) -> Table | None:
    """Nothing where no time was measured."""
    time, quartiles = result["time"], ("Median", "First quartile", "Third quartile")
    lines = time["sensitivity"]
    named: list[tuple[str, Times]] = [
        *((one["name"], one) for one in time["readers"]),
        (_("All readers"), time["all"]),
        (_("All readers, longest times cut (sensitivity)"), lines["winsorised"]),
        (_("All readers, without a minute of silence or lost focus (sensitivity)"), lines["without_quiet_or_blurred"]),
    ]
    columns = [
        *(Column(_("Reader"), TEXT), Column("n", WHOLE), Column(_("Cut at the limit"), WHOLE)),
        *(estimates(_(head), has_interval=False) for head in quartiles),
        *(estimates(_("Geometric mean")), estimates(_("Change per ten cases, %"))),
    ]
    rows: Rows = [[Name(name), *_seconds(one)] for name, one in named]
    return table_of("time", columns, rows, rule=time["rule"]) if has_times(result) else None


def _seconds(one: Times) -> list[TableCell]:
    change: Value | None = plain(one).get("percent_per_ten")
    found = (one["median"], one["q1"], one["q3"], one["geometric_mean"])
    counts: list[TableCell] = [one["median"]["n"], plain(one).get("n_censored")]  # earlier rules cut nothing
    return [
        *counts,
        *(shown(value, Scale.SECONDS) for value in found),
        None if change is None else shown(change, Scale.CHANGE),
    ]


def mean_agreement_table(result: StoredAnalysis) -> Table:
    """Whether readers agree more with each other than with models; what is free of accuracy first."""
    found = reader_agreement(result)
    heads = ("Difference", "Readers among themselves", "Readers with models")
    columns = [Column(_("Measure"), TEXT), *(estimates(_(head)) for head in heads)]
    no_model = "" if MODEL in kinds_of(result).values() else _("no model")
    rows: Rows = [
        [
            Name(_(row.measure.label)),
            *(
                ShownEstimate(one, row.measure.scale, (one is not row.readers and no_model) or caution(one))
                for one in (row.difference, row.readers, row.mixed)
            ),
        ]
        for row in found.rows
    ]
    facts: dict[str, Any] = {"found": found, "bootstrap": bootstrap_rule(result)}
    return table_of("mean_agreement", columns, rows, is_stacked=True, **facts)


def groups_table(result: StoredAnalysis, panel: str) -> Table:
    """Within groups of raters. Other coefficients stand in the JSON and in files; kappas of questions enough."""
    found = result["panels"][panel]["groups"]
    groups = {"Readers": found["readers"], "Models": found["models"], "All raters": found["all"]}
    columns = [Column(_("Coefficient"), TEXT)]
    columns += [estimates(f"{_(head)} ({of['n_raters']})") for head, of in groups.items()]
    rows: Rows = [
        [Name(_(one.label)), *(shown(_shown(one, value), one.scale) for value in values)]
        for one in shown_at(ShownOn.GROUPS)
        if (values := [value for of in groups.values() if (value := value_named(of, one.name))])
    ]
    return table_of("groups", columns, rows, is_stacked=True, panel=panel, bootstrap=bootstrap_rule(result))


def _shown(what: Statistic, one: Value) -> Value:
    return shown_kappa(one) if what.scale is Scale.COEFFICIENT else one


def pair_tables(result: StoredAnalysis) -> Iterator[Table]:
    """Every pair over all tasks, then Cohen's kappa by task, for print: the page has a heatmap. None of one rater."""
    panels, printed = result["panels"], shown_at(ShownOn.PRINTED_PAIRS)
    pairs, rows, by_task = panels[ALL_TASKS]["pairs"], Rows(), Rows()
    every = [[pair["cohen_kappa"] for pair in panel["pairs"]] for panel in panels.values()]
    for place, pair in enumerate(pairs):
        name = Name(", ".join(rater_name(result, pair[who]).text for who in ("first", "second")))
        values = [(what, value_named(pair, what.name)) for what in printed]
        cells = [one and shown(_shown(what, one), what.scale) for what, one in values]
        rows.append([name, pair["cohen_kappa"]["n"], *cells])
        by_task.append([name, *(shown(shown_kappa(of[place]), Scale.COEFFICIENT) for of in every)])
    if not pairs:
        return
    columns = [Column("Pair", TEXT), Column("n", WHOLE)]
    columns += [estimates(what.head or what.label, has_interval=what.scale is not Scale.SHARE) for what in printed]
    facts: dict[str, Any] = {
        "bootstrap": bootstrap_rule(result),
        "by_question": panels[ALL_TASKS]["unit"] == "question",
    }
    yield table_of("pairs", columns, rows, hides=_hides(every[:1]), **facts)
    columns = [Column("Pair", TEXT), *(estimates(task_label(name), panel["n"]) for name, panel in panels.items())]
    yield table_of("kappas_by_task", columns, by_task, is_stacked=True, hides=_hides(every), **facts)


def _hides(kappas: Sequence[Sequence[Value]]) -> bool:
    return any(one["n"] < FEWEST_FOR_KAPPA for of_panel in kappas for one in of_panel)
