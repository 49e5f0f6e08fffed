"""The tables of the report for print, each with a caption that says n, interval and rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.statistics.kernels.estimate import Value
from annotation.statistics.kernels.multireader import FEWEST_READERS
from readerstudy.analysis.kernels.result import StoredAnalysis, Times, plain
from readerstudy.report.kernels.latex import (
    INTERVAL,
    NONE,
    Rows,
    TexTable,
    caption,
    escaped,
    fixed,
    limits,
    marked,
    p_value,
    percent,
    percent_limits,
    row_head,
    stacked,
)
from readerstudy.report.latex_accuracy import accuracy_tex, breakdowns_tex, runs_tex, variants_tex
from readerstudy.report.latex_agreement import groups_tex, mean_agreement_tex, pairs_tex
from readerstudy.results.kernels.comparisons import (
    Planned,
    claims_of,
    planned_pairs_table,
    planned_rows,
    post_hoc_table,
)
from readerstudy.results.kernels.inferences import Line, counted, means_of_runs, planned_line
from readerstudy.results.kernels.stored import calibrations, is_made_after_readings
from readerstudy.results.wording import came, caution, methods, plan_kind

AFTER_SEEING = (
    "Post hoc models came in, or were chosen, after somebody had seen a result; their p is adjusted with nothing:"
)
UNITS = (
    "Patients or exams are the unit, since some hold several questions; ``by question'' takes questions as "
    "independent. "
)
FEW = (
    "With fewer than 5 readers the variance between readers is imprecise: the limits of both parts combined (MOVER) "
    "are wider. "
)
ANSWER = {True: "yes", False: "no", None: NONE}


def tex_tables(result: StoredAnalysis) -> list[TexTable]:
    """Tables that would be empty are left out."""
    tables = [accuracy_tex(result), *breakdowns_tex(result), *_comparison(result)]
    tables += [*_margin(result), *_by_reader(result), *_planned_pairs(result)]
    return [
        *tables,
        mean_agreement_tex(result),
        *pairs_tex(result),
        groups_tex(result),
        *_time(result),
        *_calibration(result),
        *runs_tex(result),
        *variants_tex(result),
    ]


def _reason(result: StoredAnalysis) -> str:
    reason = result["plan"].get("margin_reason", "").strip().rstrip(".")
    return f" ({escaped(reason)})" if reason else ""


def _comparison(result: StoredAnalysis) -> Iterator[TexTable]:
    planned, late = planned_rows(result), post_hoc_table(result)
    if not planned and not late:
        return
    rows = _by_inference(planned)
    head = ["Model", "Difference", "Inference", INTERVAL, "p", "p, Holm", "n"]
    parts: list[tuple[list[str], Rows]] = [(head, rows)] if rows else []
    if late:
        came_at = "; ".join(f"{one.row['first']}: {came(model)}" for one, model in late.rows)
        parts.append((["Post hoc model", *head[1:5], "", "n"], _by_inference([one for one, _model in late.rows])))
    mean = result["mrmc"]["readers"]
    line, kind = planned_line(mean), escaped(plan_kind(result))
    margin = result["plan"]["margin"]
    text = (
        f"{kind}: accuracy of each model minus the mean of the readers in percentage points, above 0 the model was "
        "right more often; multi-reader multi-case "
        rf"analysis in which every question counts once, over n questions; 95\,\% intervals (t), not adjusted; the "
        "inference of the plan first, with its two-sided p and p adjusted by Holm over the models; below it other "
        rf"inferences and sensitivity analyses. {UNITS if mean['by_cluster'] else ''}"
        rf"{FEW if mean['n_readers'] < FEWEST_READERS else ''}"
        rf"Mean of the readers: {percent(mean)}\,\% {percent_limits(mean)}, "
        f"{escaped(counted(mean))}; {escaped(line.words)}{f' ({escaped(line.aside)})' if line.aside else ''}"
        f"{f'; {escaped(caution(mean))}' if caution(mean) else ''}. "
        + (f"Margin of the plan: {100 * margin:g} points{_reason(result)}." if margin else "The plan names no margin.")
        + (f" {escaped(means_of_runs(result))}." if means_of_runs(result) else "")
        + (f" {AFTER_SEEING} {escaped(came_at)}." if late else "")
    )
    n_rows = sum(len(of_part) for _head, of_part in parts)
    yield TexTable("comparison", caption(result, text), "lrlrrrr", parts, is_long=n_rows > 24)


def _by_inference(compared: Sequence[Planned]) -> Rows:
    rows: Rows = []
    for one in compared:
        points, n = percent(one.row["difference"], signed=True), one.row["difference"]["n"]
        adjusted = p_value(one.row["p_holm"]["value"]) if "p_holm" in one.row else ""
        tests = [p_value(one.row["p"]["value"]), adjusted]
        rows.append([row_head(one.row["first"]), points, *_of_line(one.planned), *tests, str(n)])
        for line in one.others:
            other_n = str(line.value["n"]) if line.value["n"] != n else ""
            own = percent(line.value, signed=True) if line.has_own_value else ""
            rows.append(["", own, *_of_line(line), "", "", other_n])
    return rows


def _of_line(line: Line) -> list[str]:
    """The inference with what it does not say and its cautions, and its limits."""
    words = f"{line.words} ({line.beside})" if line.beside else line.words
    return [row_head(words), percent_limits(line.value, signed=True) or escaped(caution(line.value)) or NONE]


def _margin(result: StoredAnalysis) -> Iterator[TexTable]:
    """Non-inferiority and equivalence, where the plan names a margin."""
    claims = claims_of(result)
    if claims is None:
        return
    margin = f"{100 * claims.margin:g}"
    rows: Rows = [
        [
            row_head(one["first"]),
            *(
                p_value(test["value"] if test else None)
                for test in (one["noninferiority_p"], one["noninferiority_p_holm"])
            ),
            *(ANSWER[one["non_inferior"]], ANSWER[one["equivalent"]]),
        ]
        for one in claims.rows
    ]
    text = (
        f"Each model against the margin of the plan, {margin} percentage points, by the inference of the plan. p: "
        "one-sided, that the model is worse than the mean of the readers by the margin or more; adjusted by Holm over "
        f"the planned models, a family of its own (tests: {claims.n_tests}). Not inferior: adjusted p of 0.025 or "
        rf"less. Equivalent: 90\,\% interval within $\pm${margin} points."
    )
    head = ["Model", "p", "p, Holm", "Not inferior", "Equivalent"]
    yield TexTable("non_inferiority", caption(result, text), "lrrll", [(head, rows)])


def _by_reader(result: StoredAnalysis) -> Iterator[TexTable]:
    """Each model minus each reader alone."""
    late = post_hoc_table(result)
    compared = [*planned_rows(result), *([one for one, _model in late.rows] if late else [])]
    if not compared or not compared[0].by_reader:
        return
    rows: Rows = []
    for one in compared:
        for place, own in enumerate(one.by_reader):
            points = marked(percent(own, signed=True), own)
            shown = percent_limits(own, signed=True) or escaped(caution(own))
            name = row_head(one.row["first"]) if place == 0 else ""
            rows.append([name, row_head(own["reader"]), points, shown, str(own["n"])])
    own_rules = methods(one.by_reader[0]["method"] for one in compared)
    text = (
        "Accuracy of each model minus that of each reader alone in percentage points, over the n questions that count "
        rf"for both; 95\,\% intervals: {escaped(own_rules)}, not adjusted. "
        f"{f'{escaped(means_of_runs(result))}. ' if means_of_runs(result) else ''}"
        r"\textdagger{} n below 10."
    )
    head = ["Model", "Reader", "Difference", INTERVAL, "n"]
    yield TexTable("difference_by_reader", caption(result, text), "llrrr", [(head, rows)], is_long=len(rows) > 24)


def _planned_pairs(result: StoredAnalysis) -> Iterator[TexTable]:
    table = planned_pairs_table(result)
    if table is None:
        return
    rows: Rows = []
    for one, _places in table.rows:
        n, difference = str(one["difference"]["n"]), one["difference"]
        found = [*(str(count) for count in one["table"].values()), n] if one["table"] else ["", "", "", "", n]
        tests = [p_value(one["p"]["value"]), p_value(one["p_holm"]["value"])]
        shown = percent_limits(difference, signed=True) or escaped(caution(difference))
        pair = row_head(one["first"], one["second"])
        rows.append([pair, *found, marked(percent(difference, signed=True), difference), shown, *tests])
        if "difference_cluster" in one:
            by, test = one["difference_cluster"], one["cluster_mcnemar_chi2"]
            shown = percent_limits(by, signed=True) or escaped(caution(by))
            rows.append([r"\quad by patient or exam", *[""] * 6, shown, p_value(test["p"]), ""])
    by_cluster = (
        " The second line allows for patients or exams with several questions (t interval; McNemar test by Obuchowski "
        "1998, not adjusted)."
    )
    text = (
        f"{'Plan made after the readings, pairs' if is_made_after_readings(result) else 'Planned pairs'}: accuracy of "
        "the first minus that of the second in percentage points over all tasks, above 0 "
        "the first was right more often; questions that both, the first only, the second only and neither had right; "
        rf"95\,\% interval by Tango, not adjusted; exact McNemar test, two-sided; p adjusted by Holm "
        rf"(tests: {table.n_tests}).{by_cluster if table.has_clusters else ''} "
        r"\textdagger{} n below 10."
    )
    head = ["Pair", "Both", stacked("First only", 6), stacked("Second only", 6), "Neither", "n"]
    head += ["Difference", INTERVAL, "p", "p, Holm"]
    yield TexTable("planned_pairs", caption(result, text), "lrrrrrrrrr", [(head, rows)], is_long=len(rows) > 24)


def _time(result: StoredAnalysis) -> Iterator[TexTable]:
    time = result["time"]
    if not time["all"]["median"]["n"]:
        return
    lines = time["sensitivity"]
    named: list[tuple[str, Times]] = [(row_head(one["name"]), one) for one in time["readers"]]
    named += [("All readers", time["all"]), ("All, longest times cut", lines["winsorised"])]
    named += [("All, without silence or lost focus", lines["without_quiet_or_blurred"])]
    rows = [[name, *_times_of(one)] for name, one in named]
    head = ["Reader", "n", stacked("Cut at limit"), "Median", "Quartiles", stacked("Geometric mean"), INTERVAL]
    head += [stacked("Change per ten cases, %"), INTERVAL]
    text = (
        f"Seconds per case: {escaped(time['rule'])}; n cases, those cut at the limit among them. n/a: a quartile at or "
        "beyond the first time that was cut, a mean with one. Geometric mean with t interval on logs; change along the "
        "order by least squares on the log of the exact seconds, for all readers with reader and case as fixed "
        "factors; n/a below ten of them, or where more than a tenth was cut. The "
        "interval of the mean of all readers takes their times as independent: it is about these readers."
    )
    yield TexTable("time", caption(result, text), "lrrrlrlrl", [(head, rows)])


def _calibration(result: StoredAnalysis) -> Iterator[TexTable]:
    raters = calibrations(result)
    if not raters:
        return
    rows = [
        [
            row_head(one["name"]),
            str(one["n"]),
            marked(fixed(one["brier_score"]["value"], 3), one["brier_score"]),
            limits(one["brier_score"], 3) or escaped(caution(one["brier_score"])),
            fixed(one["brier_reference"]["value"], 3),
            percent(one["mean_stated"]),
            percent(one["mean_right"]),
            percent(one["stated_minus_right"], signed=True),
            percent_limits(one["stated_minus_right"], signed=True) or escaped(caution(one["stated_minus_right"])),
        ]
        for one in raters
    ]
    head = ["Rater", "n", stacked("Brier score"), INTERVAL, "Reference", stacked("Stated, %"), stacked("Right, %")]
    head += [stacked("Stated minus right"), INTERVAL]
    text = (
        "Stated chance of being right against being right, over all tasks; n answers with a stated chance. Brier "
        "score: mean squared distance of the stated chance from right (1) and wrong (0); reference: the score of "
        "always stating one's own share right. Stated minus right in percentage points, above 0 overconfident. "
        "Intervals by t with a cluster-robust error where patients or exams share questions, from ten answers and "
        "clusters on."
    )
    yield TexTable("calibration", caption(result, text), "lrrlrrrrl", [(head, rows)])


def _times_of(one: Times) -> list[str]:
    change: Value | None = plain(one).get("percent_per_ten")
    known = one["q1"]["value"] is not None
    quartiles = f"{fixed(one['q1']['value'], 1)} to {fixed(one['q3']['value'], 1)}" if known else ""
    return [
        str(one["median"]["n"]),
        str(one["n_censored"]),
        fixed(one["median"]["value"], 1),
        quartiles,
        fixed(one["geometric_mean"]["value"], 1),
        limits(one["geometric_mean"], 1),
        fixed(change["value"], 2, signed=True) if change else "",
        limits(change, 2, signed=True) if change else "",
    ]
