"""Tables of differences for people, from a stored analysis: each model minus the mean of the readers by every
inference, against the margin, minus each reader; planned pairs; all of it under other rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.statistics.kernels.catalogue import Scale
from annotation.statistics.kernels.estimate import Value, plain_value
from annotation.tables.kernels.printing import number
from annotation.tables.kernels.table import (
    BETWEEN,
    BY_CLUSTER,
    TEXT,
    WHOLE,
    Column,
    Name,
    ShownEstimate,
    Table,
    TableCell,
)
from readerstudy.analysis.kernels.labels import sensitivity_words
from readerstudy.analysis.kernels.panel_result import MultiReaderValue, RaterEntry
from readerstudy.analysis.kernels.result import ALL_TASKS, Comparison, ResultPart, StoredAnalysis, StoredRater
from readerstudy.results.kernels.inferences import (
    WITH_MOVER,
    OtherLine,
    Planned,
    claims_of,
    means_of_runs,
    other_lines,
    planned_line,
    planned_pairs_table,
    planned_rows,
    post_hoc_table,
)
from readerstudy.results.kernels.stored import (
    is_made_after_readings,
    order_of,
    planned_comparisons,
    planned_pairs,
    raters_of,
)
from readerstudy.results.wording import came, caution, estimates, method, rater_name, shown, table_of

Rows = list[list[TableCell]]
ADJUSTED = ("p, Holm", "Not inferior", "Equivalent")
ANSWER = {True: "yes", False: "no", None: "n/a"}


# --- each model minus the mean of the readers -------------------------------------------------------
def planned_table(result: StoredAnalysis) -> Table | None:
    """By the inference of the plan. Nothing where no model was planned."""
    rows = [_planned_row(result, one, holm=True) for one in planned_rows(result)]
    mean, margin = result["mrmc"]["readers"], result["plan"]["margin"]
    facts: dict[str, Any] = {
        "inference": inference_of_plan(mean),
        "mean": mean,
        "margin": margin,
        "runs": means_of_runs(result),
    }
    return _table("comparison", _heads(_("p, Holm")), rows, result, **facts) if rows else None


def _heads(*holm: str) -> list[Column]:
    tests = [estimates(head, has_interval=False) for head in ("p", *holm)]
    return [Column(_("Model"), TEXT), estimates(_("Difference")), *tests, Column("n", WHOLE)]


def inference_of_plan(mean: MultiReaderValue) -> str:
    """ "these three readers, random questions, by patient or exam (says nothing about other readers)"."""
    line = planned_line(mean)
    words = f"{line.words}, {_(BY_CLUSTER)}" if mean["by_cluster"] else line.words
    beside = line.aside or WITH_MOVER * line.is_by_mover
    return f"{words} ({beside})" if beside else words


def _planned_row(
    result: StoredAnalysis, one: Planned, *, holm: bool = False, model: StoredRater | None = None
) -> list[TableCell]:
    notes = [_("mean of %(n)s runs") % {"n": one.n_runs}] if one.n_runs else []
    notes += [_("a run taken out after results were seen; planned, so it stays")] if one.has_left else []
    notes += [came(model)] if model else []
    value = one.planned.value
    why = caution(value) if value["reason"] else one.planned.cautions
    tests = [one.row["p"], *([one.row["p_holm"]] if holm else [])]
    return [
        Name(one.row["first"], "; ".join(notes)),
        ShownEstimate(value, Scale.POINTS, why),
        *(shown(test, Scale.P) for test in tests),
        one.row["difference"]["n"],
    ]


def other_lines_table(result: StoredAnalysis, planned: Sequence[Planned]) -> Table | None:
    """Beside the planned intervals a column for each kind of line. Nothing where there is none."""
    found, mean = other_lines(planned), result["mrmc"]["readers"]
    columns = [estimates(f"{words} ({beside})" if beside else words) for words, beside in found.columns]
    rows: Rows = [
        [Name(one.row["first"], n=one.row["difference"]["n"]), *map(_other, lines)] for one, lines in found.rows
    ]
    facts: dict[str, Any] = {"by_cluster": mean["by_cluster"], "n_readers": mean["n_readers"]}
    head = Column(_("Model"), TEXT)
    return table_of("other_lines", [head, *columns], rows, is_stacked=True, **facts) if columns else None


def _other(other: OtherLine | None) -> ShownEstimate | None:
    if other is None:
        return None
    line, one = other.line, other.line.value
    is_same = not line.has_own_value
    return ShownEstimate(one, Scale.POINTS, other.beside if one["ci95"] else caution(one), is_same=is_same)


def late_table(result: StoredAnalysis) -> Table | None:
    """What came or was chosen after somebody had seen a result. Nothing where every model was there before."""
    late = post_hoc_table(result)
    if late is None:
        return None
    rows = [_planned_row(result, one, model=model) for one, model in late.rows]
    for one in late.pairs:
        name = Name(_pair(one), method(one["p"]["method"]))
        tests = [shown(one["difference"], Scale.POINTS), shown(one["p"], Scale.P)]
        rows.append([name, *tests, one["difference"]["n"]])
    return table_of("post_hoc", _heads(), rows, lines=late.rows, pairs=late.pairs)


def margin_table(result: StoredAnalysis) -> Table | None:
    """Non-inferiority and equivalence. Nothing where the plan names no margin."""
    claims = claims_of(result)
    if claims is None:
        return None
    rows: Rows = [
        [
            rater_name(result, one["first"]),
            *(test and shown(test, Scale.P) for test in (one["noninferiority_p"], one["noninferiority_p_holm"])),
            _(ANSWER[one["non_inferior"]]),
            *(test and shown(test, Scale.P) for test in (one.get("equivalence_p"), one.get("equivalence_p_holm"))),
            _(ANSWER[one["equivalent"]]),
        ]
        for one in claims.rows
    ]
    columns = [Column(_("Model"), TEXT)]
    for claim, p in (("Not inferior", _("p, not inferior")), ("Equivalent", _("p, equivalent"))):
        columns += [*(estimates(head, has_interval=False) for head in (p, _("p, Holm"))), Column(_(claim), TEXT)]
    facts: dict[str, Any] = {
        "n_tests": claims.n_tests,
        "margin": claims.margin,
        "reason": claims.reason.strip().rstrip("."),
    }
    return _table("non_inferiority", columns, rows, result, **facts)


def _table(name: str, columns: Sequence[Column], rows: Rows, result: StoredAnalysis, **facts: Any) -> Table:
    """Without the columns of a sensitivity analysis that hold nothing: it adjusts and claims nothing."""
    is_adjusted = not sensitivity_words(result["settings"])
    left_out = () if is_adjusted else tuple(map(_, ADJUSTED))
    kept = [place for place, one in enumerate(columns) if one.name not in left_out]
    cells = [[row[place] for place in kept] for row in rows]
    heads = [columns[place] for place in kept]
    return table_of(name, heads, cells, result=result, is_adjusted=is_adjusted, **facts)


def by_reader_table(result: StoredAnalysis, compared: Sequence[Planned]) -> Table | None:
    """Each model minus each reader alone."""
    if not compared or not compared[0].by_reader:
        return None
    rows = Rows()
    for one in compared:
        facts = {"n": one.n_runs, "rule": method(one.by_reader[0]["method"])}
        note = _("mean of %(n)s runs; %(rule)s") % facts if one.n_runs else ""
        cells = [shown(own, Scale.POINTS) for own in one.by_reader]
        rows.append([rater_name(result, one.row["first"], note), *cells])
    columns = [Column(_("Model"), TEXT), *(estimates(own["reader"]) for own in compared[0].by_reader)]
    runs = means_of_runs(result)
    return table_of("difference_by_reader", columns, rows, is_stacked=True, planned=compared, runs=runs)


# --- pairs of the plan ------------------------------------------------------------------------------
def _pair(one: Comparison) -> str:
    return f"{one['first']}{BETWEEN}{one['second']}"


def pairs_of_plan_table(result: StoredAnalysis, links: Mapping[tuple[int, int], str]) -> Table | None:
    """Nothing where the plan names no pair. ``links``: pages of pairs, by their places in the order of raters."""
    found = planned_pairs_table(result)
    if found is None:
        return None
    rows = Rows()
    for one, places in found.rows:
        counts = one["table"].values() if one["table"] else [None] * 4
        tests = [shown(one["p"], Scale.P), shown(one["p_holm"], Scale.P)]
        name = Name(_pair(one), link=links.get(places, "") if places else "")
        rows.append([name, *counts, shown(one["difference"], Scale.POINTS), *tests, one["difference"]["n"]])
        if "difference_cluster" in one:
            by, test = one["difference_cluster"], one["cluster_mcnemar_chi2"]
            p: Value = {**plain_value(test), "value": test["p"]}
            second = Name(f"\N{EM SPACE}{_(BY_CLUSTER)}")
            difference = ShownEstimate(by, Scale.POINTS, caution(by), is_same=True)
            rows.append([second, *[None] * 4, difference, ShownEstimate(p, Scale.P), None, None])
    columns = [
        *(Column(_("Pair"), TEXT), *(Column(_(head), WHOLE) for head in ("Both", "First", "Second", "Neither"))),
        *(estimates(_("Difference")), *(estimates(head, has_interval=False) for head in ("p", _("p, Holm")))),
        Column("n", WHOLE),
    ]
    facts: dict[str, Any] = {"n_tests": found.n_tests, "has_clusters": found.has_clusters}
    after = is_made_after_readings(result)
    return _table("planned_pairs", columns, rows, result, is_made_after_readings=after, **facts)


# --- under other rules ------------------------------------------------------------------------------
def variants_tables(result: StoredAnalysis) -> list[Table]:
    """Accuracy, differences, planned pairs and agreement; nothing where every rule gives the same questions."""
    from readerstudy.results.kernels.agreement_tables import reader_agreement  # loads numpy: not at every start

    variants = result["variants"]
    if not variants:
        return []
    every: list[ResultPart] = [result, *variants.values()]
    raters = [raters_of(part["panels"][ALL_TASKS]) for part in every]
    late = [name for name in dict.fromkeys(name for of in raters for name in of) if name not in order_of(result)]
    compared = [{one["first"]: one["difference"] for one in planned_comparisons(part)} for part in every]
    families = [{(one["first"], one["second"]): one for one in planned_pairs(part)} for part in every]
    means = zip(*(reader_agreement(part).rows for part in every), strict=True)
    found: dict[str, tuple[str, Rows]] = {
        "accuracy": (
            "Rater",
            [[rater_name(result, name), *(_in(of, name) for of in raters)] for name in [*order_of(result), *late]],
        ),
        "difference": (
            "Model",
            [[rater_name(result, name), *(shown(of[name], Scale.POINTS) for of in compared)] for name in compared[0]],
        ),
        "pairs": (
            "Pair",
            [[Name(_pair(one)), *(_with_p(of.get(two)) for of in families)] for two, one in families[0].items()],
        ),
        "agreement": (
            "Measure",
            [
                [Name(_(same[0].measure.label)), *(shown(one.difference, one.measure.scale) for one in same)]
                for same in means
            ],
        ),
    }
    labels = [_("This analysis"), *(one["label"] for one in variants.values())]
    columns = [estimates(label, part["panels"][ALL_TASKS]["n"]) for label, part in zip(labels, every, strict=True)]
    return [
        table_of("variants", [Column(_(head), TEXT), *columns], rows, is_stacked=True, of=of)
        for of, (head, rows) in found.items()
        if rows
    ]


def _in(raters: Mapping[str, RaterEntry], name: str) -> ShownEstimate | None:
    return shown(raters[name]["accuracy"], Scale.SHARE) if name in raters else None


def _with_p(one: Comparison | None) -> ShownEstimate | None:
    if one is None:
        return None
    p = one["p_holm"]
    note = "" if p["value"] is None else _("p = %(p)s") % {"p": number(p, Scale.P)}
    return shown(one["difference"], Scale.POINTS, note)
