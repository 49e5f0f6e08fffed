"""Tables for print: text that cannot break out, numbers of the analysis rounded once, captions that say the rule."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readerstudy.analysis.kernels.arrays import MeasuredTimes, Voided
from readerstudy.analysis.kernels.result import ALL_TASKS
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.report.kernels.latex import escaped, fixed, percent, percent_limits, stacked, whole_document
from readerstudy.report.latex_tables import tex_tables
from tests.readerstudy.analysis.made import changed, computed, make_arrays
from tests.readerstudy.report.made import HOSTILE
from tests.readerstudy.results.made import QUICK, TASKS, guessed_result, small_result


@pytest.fixture(scope="module")
def result() -> Any:
    return small_result()


@pytest.fixture(scope="module")
def tables(result: Any) -> dict[str, str]:
    return {one.name: one.tex() for one in tex_tables(result)}


def test_nothing_in_a_name_is_a_command() -> None:
    assert escaped(r"\input{x}") == r"\textbackslash{}input\{x\}"
    assert escaped("50% & $1_000 #2 ~^") == r"50\% \& \$1\_000 \#2 \textasciitilde{}\textasciicircum{}"
    assert escaped("a\nb\x00c\u202ed") == "a b c d"
    assert escaped("--[x]*") == "{-}{-}{[}x{]}{*}"  # no dash, and no optional argument after the end of a row
    assert escaped("Müller − „é“") == "Müller $-$ „é``"


def test_best_guesses_have_a_column_and_a_sentence(tables: dict[str, str]) -> None:
    assert "best guess" not in tables["accuracy"]
    table = next(one for one in tex_tables(guessed_result()) if one.name == "accuracy").tex()
    assert "With best" in table
    assert "has the best guess in place of" in table
    assert "100.0" in table


def test_numbers_are_rounded_once() -> None:
    assert [fixed(value, 2) for value in (0.125, -0.001, -1.005, None)] == ["0.12", "0.00", "$-$1.00", "n/a"]
    assert [fixed(value, 1, signed=True) for value in (2.04, -2.04, 0.0)] == ["+2.0", "$-$2.0", "0.0"]


def test_heads_are_short_lines() -> None:
    assert stacked("Presence") == "Presence"
    assert stacked("Location and distribution") == r"\shortstack[r]{Location and\\distribution}"


def test_the_tables_and_their_numbers(result: Any, tables: dict[str, str]) -> None:
    assert list(tables) == [
        *("accuracy", "categories", "difficulties", "comparison", "difference_by_reader", "mean_agreement"),
        *("pairs", "kappas_by_task", "groups"),
    ]
    for rater in result["panels"][ALL_TASKS]["raters"]:
        assert f"{100 * rater['accuracy']['value']:.1f}" in tables["accuracy"]
        low, high = rater["accuracy"]["ci95"]
        assert f"({100 * low:.1f} to {100 * high:.1f})" in tables["accuracy"]
    for pair in result["panels"][ALL_TASKS]["pairs"]:
        assert f"{pair['first']}, {pair['second']} & {pair['cohen_kappa']['n']} & " in tables["pairs"]
    for one in result["comparisons"]:
        if one["family"] == "primary":
            assert fixed(100 * one["difference"]["value"], 1, signed=True) in tables["comparison"]


def test_kappas_of_fewer_than_ten_questions_are_not_printed_and_the_caption_says_why() -> None:
    """As on the page; everything else of such a pair, and all of more questions, is."""
    tasks = ["presence"] * 12 + ["location"] * 4
    readers = {"R1": "BBBABBCCDBABCABB", "R2": "BBCABBCDDBABBBAB"}
    result = computed(make_arrays(readers, {"Good": "BBBBBBCBDBABBBBB"}, "B" * 16, tasks=tasks), QUICK)
    tables = {one.name: one.tex() for one in tex_tables(result)}
    by_task = tables["kappas_by_task"]
    for pair in result["panels"]["presence"]["pairs"]:
        assert fixed(pair["cohen_kappa"]["value"], 3) in by_task
    rows = [line for line in by_task.splitlines() if re.match(r"(R1|Good), ", line)]
    assert [line.rsplit(" & ", 1)[1] for line in rows] == [r"not shown \\"] * 3
    assert "Not shown: a kappa over fewer than 10 questions" in by_task
    assert "not shown" not in tables["pairs"].lower()
    few = {one.name: one.tex() for one in tex_tables(small_result())}
    for name in ("pairs", "kappas_by_task"):
        assert "Not shown: a kappa over fewer than 10 questions" in few[name]
    assert few["pairs"].count("not shown") == 6 * 3  # kappa, Brennan-Prediger, error consistency
    assert "& 75.0 &" in few["pairs"]  # same option


def test_percentages_have_the_decimals_of_the_figures() -> None:
    one: Any = {"value": 0.83838, "ci95": [0.5, 0.91234], "n": 999}
    assert (percent(one), percent_limits(one)) == ("83.8", "(50.0 to 91.2)")
    many: Any = {**one, "n": 1000}
    assert (percent(many), percent_limits(many)) == ("83.84", "(50.00 to 91.23)")
    assert percent(changed(one, value=-0.05), signed=True) == "$-$5.0"
    assert percent(changed(one, value=None)) == "n/a"


def test_failed_extractions_stand_beside_the_ways_of_saying_overall(tables: dict[str, str]) -> None:
    accuracy = tables["accuracy"]
    for head in ("Over questions", "Mean of tasks", "Failed extraction", "No option", "Missing"):
        assert head in accuracy.replace(r"\\", " ")
    assert r"Poor & 1 (25.0\,\%) & 0 & 0" in accuracy


def test_every_caption_says_n_rule_and_that_data_are_simulated(tables: dict[str, str]) -> None:
    for tex in tables.values():
        (caption,) = re.findall(r"\\caption\{(.*)\}", tex)
        assert "Study: Trial." in caption
        assert "Simulated data." in caption
        assert r"95\,\% interval" in caption or "percentile bootstrap" in caption
    real = {one.name: one.tex() for one in tex_tables(small_result(simulated=False))}
    assert not any("imulated" in tex for tex in real.values())
    assert "100 draws, seed 7" in tables["pairs"]
    assert "n in the head" in tables["accuracy"]


def test_planned_pairs_stand_after_the_comparison(result: Any) -> None:
    plan = AnalysisPlan(pairs=(("Good", "R2"), ("R_9", "Poor"))).as_json()
    tables = {one.name: one.tex() for one in tex_tables(small_result(plan=plan))}
    assert list(tables)[3:6] == ["comparison", "difference_by_reader", "planned_pairs"]
    tex = tables["planned_pairs"]
    assert r"Good, R2 & 2 & 2 & 0 & 0 & 4 & +50.0\textsuperscript{\textdagger} & ($-$23.5 to +85.0) & 0.500 & " in tex
    assert r"R\_9, Poor &  &  &  &  & 0 & n/a & no rater of this analysis has this name & n/a & n/a" in tex
    assert "Holm (tests: 1)" in tex
    assert "by patient or exam" not in tex


def test_rows_have_as_many_cells_as_the_table_has_columns(tables: dict[str, str]) -> None:
    plan = AnalysisPlan(pairs=(("each model", "each reader"), ("R9", "Poor"))).as_json()
    planned = {one.name: one.tex() for one in tex_tables(small_result(plan=plan, clusters=[0, 0, 1, 2]))}
    for tex in (*tables.values(), planned["planned_pairs"]):
        (columns,) = re.findall(r"\\begin\{(?:tabular|longtable)\}\{@\{\}(\w+)@\{\}\}", tex)
        rows = [line for line in tex.splitlines() if line.endswith(r" \\")]
        assert rows
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(columns) - 1}


def test_long_names_leave_room_for_the_numbers() -> None:
    """Two names of sixty signs stand in lines of 28, in every table that has a row for them."""
    names = {f"consortium/chest_xray_assistant_27B_multimodal_instruct_2026110{day}": "BBBA" for day in (1, 2)}
    tables = tex_tables(computed(make_arrays({"R1": "BBBA", "R2": "BBCA"}, names, "BBBB", tasks=TASKS), QUICK))
    for table in tables:
        for _head, rows in table.parts:
            for row in rows:
                lines = re.sub(r"\\(begin|end)\{tabular\}(\[t\]\{@\{\}l@\{\}\})?", "", row[0]).split(r"\\")
                assert max(len(re.sub(r"\\_", "_", line)) for line in lines) <= 38, (table.name, row[0])


def test_what_floats_stands_before_what_may_break() -> None:
    tables = tex_tables(awkward())
    document = whole_document(tables, "Title")
    for table in tables:
        before = r"\clearpage" + "\n" if table.is_long else r"}" + "\n"
        assert before + rf"\input{{{table.name}.tex}}" in document


def test_captions_say_what_is_taken_from_what_and_what_is_taken_as_independent(tables: dict[str, str]) -> None:
    assert "above 0 the model was right more often" in tables["comparison"]
    assert "not adjusted" in tables["comparison"]
    assert "by question" not in tables["comparison"]
    assert "fewer than 5 readers" in tables["comparison"]
    means = tables["mean_agreement"]
    assert means.index("Excess agreement") < means.index("Error consistency") < means.index("Cohen{'}s kappa, same")
    assert "no proof of shared reasoning" in means
    shared = {one.name: one.tex() for one in tex_tables(small_result(clusters=[0, 0, 1, 1]))}
    assert "Patients or exams are the unit" in shared["comparison"]
    assert "questions, by question" in shared["comparison"]


def awkward() -> Any:
    """Hostile names, times, a voided case: every table is there."""
    names = {HOSTILE: "CxBA", r"\end{document}": "BBBB", "]*[-- «é» −": "BBCA"}
    active = np.full((5, 4), np.nan)
    active[:2] = [[1000, 2000, 3000, 4000], [2000, 2500, 1500, 1000]]
    empty = np.zeros((5, 4), dtype=bool)
    return computed(
        make_arrays(
            {"R&1": "BBBA", "R_2": "BB?A"},
            names,
            "BBBB",
            tasks=TASKS,
            voided={1: Voided.AFTER_UNBLINDING},
            times=MeasuredTimes(active, empty, empty),
            study=HOSTILE,
            plan=AnalysisPlan(pairs=(("each model", "each reader"), ("R_9", "]*[-- \\input{x}"))).as_json(),
        ),
        QUICK,
    )


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not on this machine")
def test_all_of_it_compiles_whatever_the_names(tmp_path: Path) -> None:
    tables = tex_tables(awkward())
    assert {"time", "variants", "planned_pairs"} <= {one.name for one in tables}
    for table in tables:
        (tmp_path / f"{table.name}.tex").write_text(table.tex(), encoding="utf-8")
    (tmp_path / "all_tables.tex").write_text(whole_document(tables, escaped(HOSTILE)), encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all_tables.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert (tmp_path / "all_tables.pdf").stat().st_size > 10_000
