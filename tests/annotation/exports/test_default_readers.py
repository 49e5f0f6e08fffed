"""Exported tables in the programs that people open them with, by the defaults of each."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import openpyxl
import pandas as pd
import pytest

from annotation.exports.kernels.question_records import cell_text
from annotation.exports.tables import (
    MARK,
    Cell,
    Column,
    ExportRefused,
    Format,
    Kind,
    PackagedTable,
    write_package,
    write_table,
)
from annotation.hashes import shown_pseudonym

COLUMNS = (
    Column("reader", Kind.TEXT, "Who read."),
    Column("exam", Kind.TEXT, "Which exam."),
    Column("sex", Kind.TEXT, "Sex of the patient."),
    Column("comment", Kind.TEXT, "What the reader wrote; empty: nothing."),
    Column("n", Kind.WHOLE, "A number."),
    Column("seconds", Kind.REAL, "Seconds."),
    Column("is_late", Kind.YES_NO, "Late or not."),
    Column("at", Kind.TIME, "When."),
)
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
FEMALE = cell_text("PatientSex", "F")
WORDS = ("Müller, größer als 5 µm", "a;=1+1", 'x\t=HYPERLINK("y")')
ROWS: list[list[Cell]] = [
    ["R1", shown_pseudonym("1234567890123456"), FEMALE, WORDS[0], 3, 1.5, True, NOON],
    ["R2", shown_pseudonym("12345678e0000001"), FEMALE, WORDS[1], None, None, None, None],
    ["R3", shown_pseudonym("0012000000000000"), FEMALE, WORDS[2], 0, 0.0, False, NOON],
]
EXAMS = ["x1234567890123456", "x12345678e0000001", "x0012000000000000"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "table.csv"
    with made.open("wb") as file:
        write_table(file, COLUMNS, ROWS, Format.CSV, is_marked=True)
    return made


def holds(records: Sequence[Mapping[str, object]]) -> None:
    assert list(records[0]) == [column.name for column in COLUMNS]
    assert [one["exam"] for one in records] == EXAMS
    assert [one["sex"] for one in records] == ["female"] * 3
    assert records[0]["comment"] == WORDS[0]
    assert [one["n"] for one in records] == [3, None, 0]
    assert [one["seconds"] for one in records] == [1.5, None, 0.0]
    assert [one["is_late"] for one in records] == [True, None, False]


def test_pandas(path: Path) -> None:
    found = pd.read_csv(path)
    holds(found.astype(object).where(found.notna(), None).to_dict("records"))


def test_polars(path: Path) -> None:
    polars = pytest.importorskip("polars", reason="polars is too large to ask for")
    holds(polars.read_csv(path).to_dicts())


def test_duckdb(path: Path) -> None:
    found = duckdb.read_csv(str(path))
    names = [str(name) for name in found.columns]
    records = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    holds(records)
    assert str(found.types[names.index("seconds")]) == "DOUBLE"


def test_excel(tmp_path: Path) -> None:
    made = tmp_path / "table.xlsx"
    with made.open("wb") as file:
        write_table(file, COLUMNS, ROWS, Format.XLSX)
    book = openpyxl.load_workbook(made)
    head, *rows = book["data"].iter_rows(values_only=True)
    records = [dict(zip(map(str, head), row, strict=True)) for row in rows]
    holds(records)
    assert [one["comment"] for one in records] == list(WORDS)
    assert {cell.data_type for row in book["data"].iter_rows() for cell in row} <= {"s", "n", "b"}
    assert [row[0] for row in book["codebook"].iter_rows(values_only=True)][1:] == list(head)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not on this machine")
@pytest.mark.parametrize(
    "read", ["read.csv(f, fileEncoding='UTF-8-BOM')", "readr::read_csv(f)", "data.table::fread(f)"]
)
def test_r(path: Path, read: str) -> None:
    wanted = "stopifnot(is.numeric(d$seconds), is.character(d$exam), all(d$sex == 'female'), is.na(d$n[2]))"
    subprocess.run(["Rscript", "-e", f"f <- '{path}'; d <- {read}; {wanted}"], check=True)


def test_no_cell_is_a_formula_whatever_ends_a_cell(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(MARK)
    for sign in (",", ";", "\t"):
        cells = [cell.strip('"') for line in text.splitlines() for cell in line.split(sign)]
        assert [cell for cell in cells if cell.lstrip()[:1] in ("=", "+", "-", "@")] == []


def test_a_package_holds_every_form_and_describes_it() -> None:
    file = io.BytesIO()
    write_package(
        file, "trial", [PackagedTable("responses", COLUMNS, lambda to, form: write_table(to, COLUMNS, ROWS, form))]
    )
    with zipfile.ZipFile(file) as archive:
        names = {name.removeprefix("trial/") for name in archive.namelist()}
        package = json.loads(archive.read("trial/datapackage.json"))
    assert names == {f"responses.{form}" for form in Format} | {"codebook.csv", "datapackage.json"}
    [described] = package["resources"]
    fields = described["schema"]["fields"]
    assert described["path"] == "responses.csv"
    assert [field["type"] for field in fields][3:] == ["string", "integer", "number", "boolean", "datetime"]
    assert [field["missingValues"] for field in fields][3:5] == [[], [""]]


def test_what_a_spreadsheet_cannot_hold_is_refused() -> None:
    with pytest.raises(ExportRefused, match="cannot hold"):
        write_table(io.BytesIO(), [Column("a", Kind.TEXT)], [["x" * 40_000]], Format.XLSX)
