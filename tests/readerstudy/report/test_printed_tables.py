"""Tables as they leave the program: LaTeX, DOCX and XLSX with the numbers of the analysis, always the same bytes."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import zipfile
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docx
import numpy as np
import openpyxl
import pytest

from annotation.statistics.kernels.catalogue import Scale
from annotation.tables.kernels.printing import escaped, fixed, is_long, limits, number, stacked, whole_document
from annotation.tables.kernels.printing import tex as latex_of
from annotation.tables.kernels.table import TEXT, Column, Table, flat_cells, flat_columns
from annotation.tables.office import document_of, workbook_of
from annotation.tables.writing import MODIFIED
from readerstudy.analysis.kernels.arrays import MeasuredTimes, Voided
from readerstudy.analysis.kernels.result import ALL_TASKS
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.exports.agreement_sheets import agreement_sheets
from readerstudy.exports.report_writing import printed_tables
from readerstudy.exports.sheets import accuracy_sheets
from tests.readerstudy.analysis.made import changed, computed, make_arrays
from tests.readerstudy.report.made import HOSTILE, printed_tex
from tests.readerstudy.results.made import QUICK, TASKS, guessed_result, small_result


@pytest.fixture(scope="module")
def result() -> Any:
    return small_result()


@pytest.fixture(scope="module")
def tables(result: Any) -> dict[str, str]:
    return printed_tex(result)


# --- LaTeX ----------------------------------------------------------------------------------------
def test_nothing_in_a_name_is_a_command() -> None:
    assert escaped(r"\input{x}") == r"\textbackslash{}input\{x\}"
    assert escaped("50% & $1_000 #2 ~^") == r"50\% \& \$1\_000 \#2 \textasciitilde{}\textasciicircum{}"
    assert escaped("a\nb\x00c\u202ed") == "a b c d"
    assert escaped("--[x]*") == "{-}{-}{[}x{]}{*}"  # no dash, and no optional argument after the end of a row
    assert escaped("Müller − „é“ 1.5†") == r"Müller $-$ „é`` 1.5\textsuperscript{\textdagger}"
    assert stacked("Location and distribution") == r"\shortstack[r]{Location and\\distribution}"


def test_numbers_are_rounded_once_and_percentages_have_the_decimals_of_the_figures() -> None:
    assert [fixed(value, 2) for value in (0.125, -0.001, -1.005)] == ["0.12", "0.00", "−1.00"]
    one: Any = {"value": 0.83838, "ci95": [0.5, 0.91234], "n": 999, "flags": [], "reason": None}
    assert (number(one, Scale.SHARE), limits(one, Scale.SHARE)) == ("83.8", "(50.0 to 91.2)")
    many: Any = {**one, "n": 1000}
    assert (number(many, Scale.SHARE), limits(many, Scale.SHARE)) == ("83.84", "(50.00 to 91.23)")
    found = {None: (Scale.SHARE, "n/a"), -0.05: (Scale.POINTS, "−5.0"), 0.0004: (Scale.P, "<0.001")}
    for value, (scale, words) in found.items():
        assert number(changed(one, value=value), scale) == words


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
            assert escaped(fixed(100 * one["difference"]["value"], 1, signed=True)) in tables["comparison"]
    assert re.search(r"Poor & .* & 1 \(25\.0\\%\) & 0 & 0", tables["accuracy"])  # failed, no option, missing
    assert "best guess" not in tables["accuracy"]
    guessed = printed_tex(guessed_result())["accuracy"]
    assert "With best" in guessed
    assert "with the best guess in place of" in guessed


def test_kappas_of_fewer_than_ten_questions_are_not_printed_and_the_caption_says_why(tables: dict[str, str]) -> None:
    """As on the page; everything else of such a pair, and all of more questions, is."""
    tasks = ["presence"] * 12 + ["location"] * 4
    readers = {"R1": "BBBABBCCDBABCABB", "R2": "BBCABBCDDBABBBAB"}
    result = computed(make_arrays(readers, {"Good": "BBBBBBCBDBABBBBB"}, "B" * 16, tasks=tasks), QUICK)
    found = printed_tex(result)
    by_task = found["kappas_by_task"]
    for pair in result["panels"]["presence"]["pairs"]:
        assert escaped(fixed(pair["cohen_kappa"]["value"], 3)) in by_task
    rows = [line for line in by_task.splitlines() if re.match(r"(R1|Good), ", line)]
    assert [line.rsplit(" & ", 1)[1] for line in rows] == [r"not shown \\"] * 3
    assert "not shown" not in found["pairs"].lower()
    for tex in (by_task, tables["pairs"], tables["kappas_by_task"]):
        assert "Not shown: a kappa over fewer than 10 questions" in tex
    assert tables["pairs"].count("not shown") == 6 * 3  # kappa, Brennan-Prediger, error consistency


def test_every_caption_says_n_rule_and_that_data_are_simulated(tables: dict[str, str]) -> None:
    for tex in tables.values():
        (caption,) = re.findall(r"\\caption\{(.*)\}", tex)
        assert "Study: Trial." in caption
        assert "Simulated data." in caption
        assert r"95\% CI" in caption
    assert not any("imulated" in tex for tex in printed_tex(small_result(simulated=False)).values())
    assert "100 draws, seed 7" in tables["pairs"]
    assert "above 0 the model was correct more often" in tables["comparison"]
    assert "by question" not in tables["comparison"]
    assert "fewer than 5 readers" in tables["comparison"]
    shared = printed_tex(small_result(clusters=[0, 0, 1, 1]))
    assert "Patients or exams are the unit" in shared["comparison"]
    assert "by patient or exam" in shared["accuracy"]


def test_planned_pairs_stand_after_the_comparison() -> None:
    plan = AnalysisPlan(pairs=(("Good", "R2"), ("R_9", "Poor"))).as_json()
    tables = printed_tex(small_result(plan=plan))
    assert list(tables)[3:6] == ["comparison", "difference_by_reader", "planned_pairs"]
    tex = tables["planned_pairs"]
    assert r"R2 & 2 & 2 & 0 & 0 & +50.0\textsuperscript{\textdagger} & ($-$23.5 to +85.0) & 0.500 & " in tex
    assert r"Poor &  &  &  &  & n/a & no rater of this analysis has this name & n/a & n/a & 0" in tex
    assert "by patient or exam" not in tex


def test_rows_have_as_many_cells_as_the_table_has_columns(tables: dict[str, str]) -> None:
    plan = AnalysisPlan(pairs=(("each model", "each reader"), ("R9", "Poor"))).as_json()
    planned = printed_tex(small_result(plan=plan, clusters=[0, 0, 1, 2]))
    for tex in (*tables.values(), planned["planned_pairs"]):
        (columns,) = re.findall(r"\\begin\{(?:tabular|longtable)\}\{@\{\}(\w+)@\{\}\}", tex)
        rows = [line for line in tex.splitlines() if line.endswith(r" \\")]
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(columns) - 1}


def test_long_names_leave_room_for_the_numbers() -> None:
    """Two names of sixty signs stand in lines of 28, in every table that has a row for them."""
    names = {f"consortium/chest_xray_assistant_27B_multimodal_instruct_2026110{day}": "BBBA" for day in (1, 2)}
    result = computed(make_arrays({"R1": "BBBA", "R2": "BBCA"}, names, "BBBB", tasks=TASKS), QUICK)
    for name, tex in printed_tex(result).items():
        for head in re.findall(r"^\\begin\{tabular\}\[t\]\{@\{\}l@\{\}\}(.*?)\\end\{tabular\}", tex, re.MULTILINE):
            assert max(len(line.replace(r"\_", "_")) for line in head.split(r"\\")) <= 38, name


def test_what_floats_stands_before_what_may_break() -> None:
    tables = printed_tables(awkward())
    document = whole_document(tables, "Title")
    for table in tables:
        before = r"\clearpage" + "\n" if is_long(table) else r"}" + "\n"
        assert before + rf"\input{{{table.name}.tex}}" in document


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
    tables = printed_tables(awkward())
    assert {"time", "variants", "planned_pairs"} <= {one.name for one in tables}
    for table in tables:
        (tmp_path / f"{table.name}.tex").write_text(latex_of(table), encoding="utf-8")
    (tmp_path / "all_tables.tex").write_text(whole_document(tables, HOSTILE), encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all_tables.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert (tmp_path / "all_tables.pdf").stat().st_size > 10_000


# --- DOCX and XLSX --------------------------------------------------------------------------------
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not on this machine")
@pytest.mark.parametrize("form", ["docx", "xlsx"])
def test_libreoffice_opens_them_whatever_the_names(tmp_path: Path, form: str) -> None:
    """What it cannot read it says in its output, and writes no PDF."""
    result = awkward()
    tables = [*accuracy_sheets(result), *agreement_sheets(result)]
    file = tmp_path / f"tables.{form}"
    file.write_bytes(workbook_of(tables) if form == "xlsx" else document_of(printed_tables(result), HOSTILE))
    own = f"-env:UserInstallation=file://{tmp_path}/profile"
    run = subprocess.run(
        ["soffice", own, "--headless", "--convert-to", "pdf", "--outdir", str(tmp_path), str(file)],
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert (tmp_path / "tables.pdf").stat().st_size > 10_000, run.stdout + run.stderr


def test_the_workbook_has_every_cell_with_sixteen_digits(result: Any) -> None:
    tables = [*accuracy_sheets(result), *agreement_sheets(result)]
    book = openpyxl.load_workbook(io.BytesIO(workbook_of(tables)))
    assert book.sheetnames == [*(one.name for one in tables), "codebook"]
    for table in tables:
        head, *rows = book[table.name].iter_rows(values_only=True)
        assert list(head) == [column.name for column in flat_columns(table.columns)]
        assert [list(row) for row in rows] == [list(map(kept, flat_cells(row))) for row in table.rows]
    assert book["accuracy"].freeze_panes == "A2"


def kept(cell: Any) -> Any:
    """As a spreadsheet has it: sixteen digits, and nothing in place of an empty text."""
    if isinstance(cell, float):
        return pytest.approx(cell, rel=1e-15)
    return None if cell == "" else cell


def test_text_of_a_spreadsheet_is_no_formula() -> None:
    names = ["=1+1", "+2", "@x", "a\x00b"]
    table = Table("one", "", [Column("name", TEXT)], [[one] for one in names])
    book = openpyxl.load_workbook(io.BytesIO(workbook_of([table])))
    cells = [row[0] for row in book["one"].iter_rows(min_row=2)]
    assert [(cell.value, cell.data_type) for cell in cells] == [(one.replace("\x00", " "), "s") for one in names]


def test_the_document_has_the_tables_for_print_with_their_captions() -> None:
    tables = printed_tables(awkward())
    document = docx.Document(io.BytesIO(document_of(tables, "Title")))
    captions = [one.text for one in document.paragraphs if one.text.startswith("Table ")]
    assert captions == [f"Table {n}. {one.caption}" for n, one in enumerate(tables, 1)]
    for table, made in zip(tables, document.tables, strict=True):
        lines = [line for head, rows in table.parts for line in (head, *rows)]
        assert [[cell.text for cell in row.cells] for row in made.rows] == lines
    words = " ".join(cell.text for made in document.tables for row in made.rows for cell in row.cells)
    assert r"\end{document}" in words  # the name of a model, as it is


def test_the_same_tables_give_the_same_bytes_whenever_they_are_written(
    result: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written() -> tuple[bytes, bytes]:
        return workbook_of(accuracy_sheets(result)), document_of(printed_tables(result), "Title")

    first = written()
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    later = SimpleNamespace(now=lambda tz: datetime(2030, 1, 1, tzinfo=tz))
    monkeypatch.setattr("openpyxl.writer.excel.datetime", SimpleNamespace(datetime=later, timezone=timezone))
    assert written() == first
    for file in first:
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            assert MODIFIED.search(archive.read("docProps/core.xml"))
