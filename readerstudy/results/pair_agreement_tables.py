"""Tables of agreement for people, from a stored analysis: readers and models, groups, every pair, pairs by task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.statistics.kernels.catalogue import Scale, ShownOn, Statistic, shown_at
from annotation.statistics.kernels.estimate import Value
from annotation.tables.kernels.table import TEXT, WHOLE, Column, Name, Table, TableCell
from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis, value_named
from readerstudy.results.kernels.agreement_tables import reader_agreement
from readerstudy.results.kernels.stored import FEWEST_FOR_KAPPA, shown_kappa, task_label
from readerstudy.results.wording import bootstrap_rule, estimates, rater_name, shown, table_of

Rows = list[list[TableCell]]


def mean_agreement_table(result: StoredAnalysis) -> Table:
    """Whether readers agree more with each other than with models; what is free of accuracy first."""
    found = reader_agreement(result)
    heads = ("Difference", "Readers among themselves", "Readers with models")
    columns = [Column(_("Measure"), TEXT), *(estimates(_(head)) for head in heads)]
    rows: Rows = [
        [
            Name(_(row.measure.label)),
            *(shown(one, row.measure.scale) for one in (row.difference, row.readers, row.mixed)),
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
