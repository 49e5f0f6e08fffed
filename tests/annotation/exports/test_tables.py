"""Tables in three formats: the same bytes each time, nothing lost, nothing that a spreadsheet runs.

Patients in splits: each in one, shares kept in every stratum, and nobody moves in a later release.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import openpyxl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.enums import Split
from annotation.exports.kernels.splits import faults_of_shares, split_patients
from annotation.tables.writing import (
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


SHARES = {Split.TRAIN: 70, Split.VALID: 10, Split.TEST: 10, Split.PRIVATE: 10}


def made_up(n: int, seed: int = 1) -> dict[str, Counter[tuple[str, str]]]:
    draw = random.Random(seed)
    strata = [(task, category) for task in "abcde" for category in ("x", "y")]
    return {f"p{number}": Counter(draw.choices(strata, k=draw.randint(1, 8))) for number in range(n)}


def test_each_stratum_is_in_the_shares_that_were_asked_for() -> None:
    patients = made_up(1_000)
    found = split_patients(patients, SHARES, 3, {})
    assert set(found) == set(patients)
    total: Counter[tuple[str, str]] = sum(patients.values(), Counter())
    for split, share in SHARES.items():
        held = sum((patients[one] for one, where in found.items() if where == split), Counter())
        for stratum, n in total.items():
            assert abs(held[stratum] - n * share / 100) <= 6, (split, stratum)


def test_the_seed_decides_and_a_split_of_no_share_is_empty() -> None:
    patients = made_up(200)
    assert split_patients(patients, SHARES, 3, {}) == split_patients(patients, SHARES, 3, {})
    assert split_patients(patients, SHARES, 3, {}) != split_patients(patients, SHARES, 4, {})
    halves = {Split.TRAIN: 50, Split.TEST: 50, Split.VALID: 0, Split.PRIVATE: 0}
    assert set(split_patients(patients, halves, 3, {}).values()) == {Split.TRAIN, Split.TEST}


def test_who_is_known_stays() -> None:
    before = split_patients(made_up(100), SHARES, 3, {})
    assert before.items() <= split_patients(made_up(300), SHARES, 9, before).items()


@pytest.mark.parametrize("shares", [{Split.TRAIN: 99}, {Split.TRAIN: 110, Split.TEST: -10}, {}])
def test_shares_that_do_not_add_up_are_told(shares: dict[Split, int]) -> None:
    assert "add up to" in faults_of_shares(shares)


def test_rare_categories_do_not_draw_everybody_into_the_largest_split() -> None:
    """Found on a bank of 24 patients with a category each."""
    patients = {f"p{n}": Counter({("a", f"rare {n}"): 2, ("b", "common"): 1}) for n in range(24)}
    found = Counter(split_patients(patients, SHARES, 0, {}).values())
    assert 15 <= found[Split.TRAIN] <= 18
    assert all(2 <= found[split] <= 3 for split in (Split.VALID, Split.TEST, Split.PRIVATE))
