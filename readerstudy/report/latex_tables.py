"""The tables of the report for print, each with a caption that says n, interval and rule."""

from __future__ import annotations

from collections.abc import Iterator

from readerstudy.report.latex import TexTable, escaped, fixed, limits, marked, p_value, percent, row_head, stacked
from readerstudy.report.latex_accuracy import accuracy_tex, breakdowns_tex, variants_tex
from readerstudy.report.latex_agreement import groups_tex, mean_kappas_tex, pairs_tex
from readerstudy.report.latex_words import INTERVAL, Rows, caption
from readerstudy.results.stored import ALL_TASKS, Json
from readerstudy.results.tables import planned_pairs_table, planned_rows
from readerstudy.results.wording import caution, method

AS_INDEPENDENT = " The analysis takes questions as independent, although patients or exams share some."


def tex_tables(result: Json) -> list[TexTable]:
    """Tables that would be empty are left out."""
    tables = [accuracy_tex(result), *breakdowns_tex(result), *_comparison(result), *_planned_pairs(result)]
    return [
        *tables,
        mean_kappas_tex(result),
        *pairs_tex(result),
        groups_tex(result),
        *_time(result),
        *variants_tex(result),
    ]


def _comparison(result: Json) -> Iterator[TexTable]:
    planned = planned_rows(result)
    if not planned:
        return
    rows: Rows = []
    for one in planned:
        for place, (name, value) in enumerate(one.inferences):
            first = place == 0
            points = percent(one.row["difference"]["value"], signed=True)
            rows.append(
                [
                    row_head(one.row["first"]) if first else "",
                    points if first else "",
                    escaped(method(name)),
                    limits(value, 2, 100, signed=True) or "n/a",
                    p_value(value["p"]),
                    p_value(one.row["p_holm"]["value"]) if first else "",
                    str(one.row["difference"]["n"]) if first else "",
                ]
            )
    mean = result["mrmc"]["readers"]
    kind = "Planned comparison" if result["plan"]["is_planned"] else "Post hoc comparison (the plan names another one)"
    margin = result["plan"]["margin"]
    text = (
        f"{kind}: accuracy of each model minus the mean of the readers in percentage points, above 0 the model was "
        "right more often; multi-reader multi-case "
        rf"analysis over n questions that count for every rater concerned; 95\,\% intervals (t) and two-sided p by "
        "three inferences, that of the plan first; p adjusted by Holm over the models for that one, intervals not "
        "adjusted. Mean of the "
        rf"{mean['n_readers']} readers: {percent(mean['value'])}\,\% {limits(mean, 2, 100)}, "
        f"n = {mean['n_questions']}. "
        + (f"Margin of the plan: {fixed(100 * margin, 2)} points." if margin else "The plan names no margin.")
        + (AS_INDEPENDENT if result["panels"][ALL_TASKS]["unit"] == "cluster" else "")
    )
    head = ["Model", "Difference", "Inference", INTERVAL, "p", "p, Holm", "n"]
    yield TexTable("comparison", caption(result, text), "lrlrrrr", [(head, rows)], is_long=len(rows) > 24)


def _planned_pairs(result: Json) -> Iterator[TexTable]:
    table = planned_pairs_table(result)
    if table is None:
        return
    rows: Rows = []
    for one, _places in table.rows:
        n, difference = str(one["difference"]["n"]), one["difference"]
        found = [*(str(count) for count in one["table"].values()), n] if one["table"] else ["", "", "", "", n]
        tests = [p_value(one["p"]["value"]), p_value(one["p_holm"]["value"])]
        shown = limits(difference, 2, 100, signed=True) or escaped(caution(difference))
        pair = row_head(one["first"], one["second"])
        rows.append([pair, *found, marked(percent(difference["value"], signed=True), difference), shown, *tests])
        if "difference_cluster" in one:
            by, test = one["difference_cluster"], one["cluster_mcnemar_chi2"]
            shown = limits(by, 2, 100, signed=True) or escaped(caution(by))
            rows.append([r"\quad by patient or exam", *[""] * 6, shown, p_value(test["p"]), ""])
    by_cluster = (
        " The second line allows for patients or exams with several questions (t interval; McNemar test by Obuchowski "
        "1998, not adjusted)."
    )
    text = (
        "Planned pairs: accuracy of the first minus that of the second in percentage points over all tasks, above 0 "
        "the first was right more often; questions that both, the first only, the second only and neither had right; "
        rf"95\,\% interval by Tango, not adjusted; exact McNemar test, two-sided; p adjusted by Holm "
        rf"(tests: {table.n_tests}).{by_cluster if table.has_clusters else ''} "
        r"\textdagger{} n below 10."
    )
    head = ["Pair", "Both", stacked("First only", 6), stacked("Second only", 6), "Neither", "n"]
    head += ["Difference", INTERVAL, "p", "p, Holm"]
    yield TexTable("planned_pairs", caption(result, text), "lrrrrrrrrr", [(head, rows)], is_long=len(rows) > 24)


def _time(result: Json) -> Iterator[TexTable]:
    time = result["time"]
    if not time["all"]["median"]["n"]:
        return
    lines = time["sensitivity"]
    named: list[tuple[str, Json]] = [(row_head(one["name"]), one) for one in time["readers"]]
    named += [("All readers", time["all"]), ("All, longest times cut", lines["winsorised"])]
    named += [("All, without silence or lost focus", lines["without_quiet_or_blurred"])]
    rows = [[name, *_times_of(one)] for name, one in named]
    head = ["Reader", "n", stacked("Cut at limit"), "Median", "Quartiles", stacked("Geometric mean"), INTERVAL]
    head += [stacked("Change per ten cases, %"), INTERVAL]
    text = (
        f"Seconds per case: {escaped(time['rule'])}; n cases. Geometric mean with t interval on logs; change along the "
        "order by least squares on log seconds, for all readers with reader and case as fixed factors. The "
        "interval of the mean of all readers takes their times as independent: it is about these readers."
    )
    yield TexTable("time", caption(result, text), "lrrrlrlrl", [(head, rows)])


def _times_of(one: Json) -> list[str]:
    change = one.get("percent_per_ten")
    quartiles = (
        "" if one["q1"]["value"] is None else f"{fixed(one['q1']['value'], 1)} to {fixed(one['q3']['value'], 1)}"
    )
    return [
        str(one["median"]["n"]),
        str(one.get("n_censored", "")),
        fixed(one["median"]["value"], 1),
        quartiles,
        fixed(one["geometric_mean"]["value"], 1),
        limits(one["geometric_mean"], 1),
        fixed(change["value"], 2, signed=True) if change else "",
        limits(change, 2, signed=True) if change else "",
    ]
