"""The sheets of a report hold the numbers of the analysis, all of them, in full precision."""

from __future__ import annotations

import re
from typing import Any

import pytest

from annotation.tables.kernels.table import Cell, Table, flat_cells, flat_columns
from readerstudy.analysis.kernels.arrays import Voided
from readerstudy.analysis.kernels.result import INFERENCES
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.exports.agreement_sheets import agreement_sheets
from readerstudy.exports.sheets import accuracy_sheets, other_sheets
from tests.readerstudy.results.made import guessed_result, small_result

Row = dict[str, Cell]


@pytest.fixture(scope="module")
def result() -> Any:
    return small_result(
        voided={2: Voided.AFTER_UNBLINDING}, excluded=({"kind": "reader", "reader": "R9", "reason": "x"},)
    )


@pytest.fixture(scope="module")
def sheets(result: Any) -> dict[str, Table]:
    return {one.name: one for one in [*accuracy_sheets(result), *agreement_sheets(result), *other_sheets(result)]}


def rows_of(sheet: Table) -> list[Row]:
    names = [column.name for column in flat_columns(sheet.columns)]
    return [dict(zip(names, flat_cells(row), strict=True)) for row in sheet.rows]


def same(row: Row, one: Any) -> None:
    low, high = one["ci95"] or (None, None)
    assert (row["value"], row["low"], row["high"]) == (one["value"], low, high)
    assert (row["n"], row["method"], row["reason"]) == (one["n"], one["method"], one["reason"] or "")
    assert row["flags"] == "|".join(one["flags"])


def test_accuracy_of_every_rater_in_every_panel(result: Any, sheets: dict[str, Table]) -> None:
    rows = rows_of(sheets["accuracy"])
    seen = 0
    for panel, found in result["panels"].items():
        for rater in found["raters"]:
            mine = {row["measure"]: row for row in rows if (row["panel"], row["rater"]) == (panel, rater["name"])}
            for measure, row in mine.items():
                same(row, rater[str(measure)])
                assert row["n_failed"] == rater["n_failed"]
                seen += 1
            assert "accuracy" in mine
            assert ("accuracy_task_mean" in mine) == (panel == "All tasks")
    assert seen == len(rows)


def test_accuracy_with_best_guesses_where_they_were_asked(sheets: dict[str, Table]) -> None:
    assert "n_guessed" not in [column.name for column in sheets["accuracy"].columns]
    guessed = guessed_result()
    rows = rows_of(accuracy_sheets(guessed)[0])
    whole = guessed["panels"]["All tasks"]["raters"][0]
    (row,) = (r for r in rows if (r["panel"], r["rater"], r["measure"]) == ("All tasks", "R1", "accuracy_best_guess"))
    same(row, whole["accuracy_best_guess"])
    assert (row["value"], row["n_declined"], row["n_guessed"]) == (1, 1, 1)


@pytest.mark.parametrize(("name", "key"), [("categories", "category"), ("difficulties", "difficulty")])
def test_breakdowns(result: Any, sheets: dict[str, Table], name: str, key: str) -> None:
    rows = rows_of(sheets[name])
    for one in result["tables"][name]:
        for rater, share in one["accuracy"].items():
            (row,) = (row for row in rows if (row[key], row["rater"]) == (one[key], rater))
            same(row, share)
            assert row["n_questions"] == one["n"]


def test_every_statistic_of_every_pair(result: Any, sheets: dict[str, Table]) -> None:
    rows = rows_of(sheets["pairs"])
    for panel, found in result["panels"].items():
        for pair in found["pairs"]:
            who = (panel, pair["first"], pair["second"])
            mine = {row["statistic"]: row for row in rows if (row["panel"], row["first"], row["second"]) == who}
            named = {name for name, one in pair.items() if isinstance(one, dict) and "value" in one}
            assert set(mine) == named | {f"table_{cell}" for cell in pair["table"]}
            for name in named:
                same(mine[name], pair[name])
                assert mine[name]["p"] == pair[name].get("p")
            assert {cell: mine[f"table_{cell}"]["value"] for cell in pair["table"]} == pair["table"]


def test_every_statistic_of_every_group(result: Any, sheets: dict[str, Table]) -> None:
    rows = rows_of(sheets["groups"])
    n = 0
    for panel, found in result["panels"].items():
        for group, entry in found["groups"].items():
            for name, one in entry.items():
                if name == "n_raters":
                    continue
                (row,) = (r for r in rows if (r["panel"], r["group"], r["statistic"]) == (panel, group, name))
                if name.startswith("n_pairs"):
                    assert row["value"] == one
                    n += 1
                    continue
                same(row, one)
                assert (row["se"], row["n_raters"]) == (one.get("se"), entry["n_raters"])
                n += 1
    assert n == len(rows)


def test_comparisons_by_three_inferences(result: Any, sheets: dict[str, Table]) -> None:
    rows = rows_of(sheets["comparison"])
    mean = [row for row in rows if row["first"] == "mean of the readers"]
    assert len([row for row in mean if row["line"] in ("planned", "other")]) == 3 * len(result["panels"])
    for one in result["comparisons"]:
        mine = [row for row in rows if (row["panel"], row["first"]) == (one["panel"], one["first"])]
        of_mean = [row for row in mine if row["second"] == "mean of the readers"]
        assert [row["inference"] for row in of_mean][:3] == list(INFERENCES)
        line = "planned" if one["planned"] else "exploratory" if one["family"].startswith("expl") else "post_hoc"
        (primary,) = (row for row in of_mean if row["line"] == line)
        same(primary, one["difference"] | {"reason": primary["reason"]})
        assert primary["p"] == one["p"]["value"]
        assert primary["p_holm"] == one["p_holm"]["value"]
        assert (primary["planned"], primary["superior"]) == (one["planned"], one["superior"])
        assert all(row["p"] is None and row["p_holm"] is None for row in mine if row["line"] != line)
        own = result["mrmc"] if one["panel"] == "All tasks" else result["mrmc"]["tasks"][one["panel"]]
        by_reader = own["models"][one["first"]]["difference_by_reader"]
        for row, each in zip((row for row in mine if row["inference"] == "one_reader"), by_reader, strict=True):
            assert row["second"] == each["reader"]
            same(row, each)


def test_planned_pairs_follow_the_comparisons_with_the_test_by_cluster_beside() -> None:
    plan = AnalysisPlan(pairs=(("Good", "each reader"), ("R9", "Poor"))).as_json()
    result = small_result(plan=plan, clusters=[0, 0, 1, 2])
    [sheet] = [one for one in agreement_sheets(result) if one.name == "comparison"]
    rows = [row for row in rows_of(sheet) if row["family"] == "planned pairs"]
    assert rows == rows_of(sheet)[-5:]
    assert [(row["first"], row["second"], row["line"]) for row in rows] == [
        *(("Good", "R1", "planned"), ("Good", "R1", "other")),
        *(("Good", "R2", "planned"), ("Good", "R2", "other")),
        ("R9", "Poor", "planned"),
    ]
    for row, by_cluster, one in zip(rows[:4:2], rows[1:4:2], result["comparisons"][-3:-1], strict=True):
        same(row, one["difference"] | {"flags": ["small_n", "clusters_ignored"]})
        assert (row["p"], row["p_holm"], row["planned"]) == (one["p"]["value"], one["p_holm"]["value"], True)
        same(by_cluster, one["difference_cluster"])
        assert by_cluster["se"] == one["difference_cluster"]["difference_cluster_se"]
        assert (by_cluster["p"], by_cluster["p_holm"]) == (one["cluster_mcnemar_chi2"]["p"], None)
    assert (rows[4]["value"], rows[4]["reason"], rows[4]["p"]) == (None, "no_such_rater", None)


def test_times_cases_variants_and_what_is_left_out(result: Any, sheets: dict[str, Table]) -> None:
    times = rows_of(sheets["time"])
    assert {row["of"] for row in times} >= {"R1", "R2", "all readers", "all readers, winsorised"}
    same(
        next(r for r in times if (r["of"], r["statistic"]) == ("R1", "median")), result["time"]["readers"][0]["median"]
    )
    cases = rows_of(sheets["cases"])
    assert [row["n_right"] for row in cases] == result["items"]["n_right"]
    assert [row["voided"] for row in cases] == ["", "", "after", ""]
    variants = rows_of(sheets["variants"])
    assert {row["variant"] for row in variants} == {"primary", "without_all_voided"}
    assert rows_of(sheets["excluded"])[0]["reader"] == "R9"


def test_every_row_has_a_cell_for_every_column(sheets: dict[str, Table]) -> None:
    for sheet in sheets.values():
        assert {len(row) for row in sheet.rows} <= {len(sheet.columns)}
        assert all(column.meaning for column in flat_columns(sheet.columns))


def test_the_codebook_names_every_statistic_and_its_unit(sheets: dict[str, Table]) -> None:
    """Whoever has the ZIP file alone can read each name: nothing refers to documents that are not in it."""
    for name in ("pairs", "groups", "time"):
        sheet = sheets[name]
        place = [one.name for one in sheet.columns].index("statistic")
        meaning = sheet.columns[place].meaning
        assert "docs/" not in meaning
        for said in {str(row[place]) for row in sheet.rows}:
            starred = said
            for family in ("table_|nemar_|kappa_|pairs_", "variance_", "_excess_", "error_consistency_"):
                starred = re.sub(rf"(?<={family})\w+$", "*", starred)
            assert said in meaning or starred in meaning or said.endswith("_se"), (name, said)


def test_the_codebook_explains_flags_and_reasons(sheets: dict[str, Table]) -> None:
    for sheet in sheets.values():
        for column in ("flags", "reason"):
            for one in flat_columns(sheet.columns):
                if one.name == column and sheet.name != "excluded":
                    codes = {code for row in rows_of(sheet) for code in str(row[column] or "").split("|") if code}
                    assert {code for code in codes if f"{code}" not in one.meaning} == set(), sheet.name
