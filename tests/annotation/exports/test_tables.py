"""Tables in three formats: the same bytes each time, nothing lost, nothing that a spreadsheet runs."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta, timezone

import openpyxl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.exports.tables import (
    Cell,
    Column,
    Format,
    Kind,
    neutralised,
    restored,
    write_codebook,
    write_table,
)

COLUMNS = (
    Column("text", Kind.TEXT, "Words."),
    Column("n", Kind.WHOLE, "A number."),
    Column("is_so", Kind.YES_NO, "Yes or no."),
    Column("at", Kind.TIME, "When."),
)
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ROWS: list[list[Cell]] = [
    ["plain, with comma", 3, True, NOON],
    ['=HYPERLINK("x")', None, None, None],
    ["two\nlines", -1, False, NOON.astimezone(timezone(timedelta(hours=5)))],
]


def written(form: Format, rows: list[list[Cell]] = ROWS) -> bytes:
    file = io.BytesIO()
    assert write_table(file, COLUMNS, rows, form) == len(rows)
    return file.getvalue()


@pytest.mark.parametrize("form", list(Format))
def test_twice_gives_the_same_bytes(form: Format) -> None:
    assert written(form) == written(form)


def test_csv_says_the_same_as_json_lines() -> None:
    table = list(csv.DictReader(io.StringIO(written(Format.CSV).decode())))
    lines = [json.loads(line) for line in written(Format.JSONL).decode().splitlines()]
    assert [restored(row["text"]) for row in table] == [line["text"] for line in lines]
    assert [row["n"] for row in table] == ["3", "", "-1"]
    assert [line["is_so"] for line in lines] == [True, None, False]
    assert {row["at"] for row in table} == {"2026-11-21T12:00:00.000000Z", ""}
    assert lines[2]["at"] == "2026-11-21T12:00:00.000000Z"


def test_parquet_keeps_types_and_meanings() -> None:
    table = pq.read_table(io.BytesIO(written(Format.PARQUET)))
    assert table.to_pylist()[0] == {"text": "plain, with comma", "n": 3, "is_so": True, "at": NOON}
    assert table.column("n").null_count == 1
    assert table.schema.field("n").metadata == {b"description": b"A number."}


def test_many_rows_are_written_in_groups() -> None:
    many: list[list[Cell]] = [["x", n, True, NOON] for n in range(12_000)]
    file = pq.ParquetFile(io.BytesIO(written(Format.PARQUET, many)))
    assert file.metadata.num_row_groups == 3
    assert file.read().column("n").to_pylist() == list(range(12_000))


@pytest.mark.parametrize("form", list(Format))
def test_no_rows_make_a_table_with_its_columns(form: Format) -> None:
    if form is Format.XLSX:
        [head] = openpyxl.load_workbook(io.BytesIO(written(form, [])))["data"].iter_rows(values_only=True)
        assert list(head) == [one.name for one in COLUMNS]
    elif form is Format.PARQUET:
        assert pq.read_table(io.BytesIO(written(form, []))).column_names == [one.name for one in COLUMNS]
    else:
        assert written(form, []) == (b"text,n,is_so,at\r\n" if form is Format.CSV else b"")


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1", "＋1", "－1", "＠x", " =1", "\u00a0=1", "'quoted"],
)
def test_what_could_be_a_formula_gets_an_apostrophe(text: str) -> None:
    assert neutralised(text) == "'" + text


@given(st.text() | st.text(alphabet="=;\t\n' a"))
def test_neutralised_text_comes_back_and_never_starts_like_a_formula(text: str) -> None:
    cell = neutralised(text)
    assert restored(cell) == text
    assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    assert not cell.startswith(("\t", "\r", "\n"))
    for part in re.split(r"[;\t\r\n]", cell):  # where a spreadsheet of another locale begins a cell
        assert not part.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))


def test_the_codebook_names_every_column_once() -> None:
    file = io.BytesIO()
    write_codebook(file, COLUMNS)
    rows = list(csv.DictReader(io.StringIO(file.getvalue().decode("utf-8-sig"))))
    assert [row["column"] for row in rows] == [column.name for column in COLUMNS]
    assert rows[1]["kind"] == "whole number"
