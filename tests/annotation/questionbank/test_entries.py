"""A question file in every form that is read, and what is said of one that is not."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook

from annotation.files.kernels.strictjson import Entry
from annotation.questionbank.kernels.entries import NEEDED, NEEDED_OF_EXAM, OPTIONAL, read_entries
from annotation.questionbank.kernels.records import Batch, RecordRules, read_batches
from annotation.questionbank.template import COLUMNS, EXAMPLES, TEMPLATE_FORMS, template_file
from tests.annotation.files.test_tables import parquet

DOCS = Path(__file__).resolve().parents[3] / "docs"


def read(content: bytes) -> Batch:
    [batch] = read_batches(io.BytesIO(content), RecordRules(), size=100)
    return batch


def entries(content: bytes) -> list[Entry]:
    return list(read_entries(io.BytesIO(content)))


def told(content: bytes) -> list[tuple[str, str, str]]:
    return [(problem.key, problem.code, problem.message) for problem in read(content).problems]


def table(rows: list[list[str]], separator: str = ",") -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows(rows)
    return text.getvalue().encode()


def rows_of_template() -> list[list[str]]:
    return list(csv.reader(io.StringIO(template_file("csv").decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("form", TEMPLATE_FORMS)
def test_the_template_is_a_good_file_and_the_same_questions_in_every_form(form: str) -> None:
    found, wanted = read(template_file(form)), read(template_file("json"))
    assert found.problems == []
    assert [row.key for row in found.questions] == list(EXAMPLES)
    assert found.questions == wanted.questions


def test_a_parquet_file_says_what_the_table_says() -> None:
    header, *rows = rows_of_template()
    named = [dict(zip(header, row, strict=True)) for row in rows]
    content = parquet([{**row, "ImagePath": row["ImagePath"].split("|"), "note": None} for row in named])
    assert read(content).questions == read(template_file("csv")).questions


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_separators_and_a_byte_order_mark_change_nothing(separator: str) -> None:
    content = table(rows_of_template(), separator)
    assert read(b"\xef\xbb\xbf" + content).questions == read(content).questions == read(template_file("json")).questions


def test_columns_are_found_whatever_their_case_and_order_and_others_are_kept() -> None:
    header, *rest = rows_of_template()
    folded = [name.upper().replace("_", " ") for name in header]
    content = table([[*reversed(folded), "Ward"], *([*reversed(row), "7B"] for row in rest)])
    found = entries(content)
    assert [entry.value["Ward"] for entry in found] == ["7B", "7B"]
    assert read(content).problems == []
    assert found[0].value["options"] == EXAMPLES["q-001"]["options"]
    assert "Comparison" not in found[0].value  # an empty cell is no field


def test_numbers_and_letters_of_a_spreadsheet_are_text() -> None:
    header, first, _second = rows_of_template()
    book = Workbook()
    row: list[object] = [{"id": 17, "PatientAge": 58}.get(name, cell) for name, cell in zip(header, first, strict=True)]
    for cells in (header, [], row):
        book.worksheets[0].append(cells)
    file = io.BytesIO()
    book.save(file)
    [question] = read(file.getvalue()).questions
    assert (question.key, question.answer) == ("17", "A")


def test_every_column_that_is_read_stands_in_the_template_and_in_the_manual() -> None:
    names = [column.name for column in COLUMNS]
    assert {column.name for column in COLUMNS if column.is_needed} == {*NEEDED, *NEEDED_OF_EXAM}
    assert set(OPTIONAL) <= set(names)
    manual = (DOCS / "question-banks.md").read_text()
    assert [name for name in names if f"`{name}`" not in manual] == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"%PDF-1.7 ...", "The file is a PDF."),
        ("id;question".encode("utf-16"), "UTF-16"),
        (b"\xd0\xcf\x11\xe0 old", "an old Excel file (.xls)"),
        (b"<!doctype html><title>Log in</title>", "HTML"),
        (b'[{"id": "q"}]', "a JSON list"),
        (b"\x89PNG\r\n", "Images are uploaded on their own page"),
        (b"question,answer\nx,A\n", "Missing: id, option_a"),
        (b"question,answer\nx,A\n", "Found: question, answer."),
        (b"id,id\n", "The column 'id' is there twice."),
        (b"id,caf\xe9\n", "Line 1 is not UTF-8 text"),
        (b'id,"open\n', "is not valid CSV"),
        (b"", "The file is empty"),
    ],
)
def test_a_file_of_another_kind_is_refused_saying_what_it_is(content: bytes, words: str) -> None:
    batch = read(content)
    assert batch.unreadable
    assert words in batch.problems[0].message


def test_a_zip_archive_that_is_no_table_is_told() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("questions.json", "{}")
    assert "a ZIP archive of something else" in read(file.getvalue()).problems[0].message


def test_a_row_without_id_or_with_too_many_cells_is_refused_alone() -> None:
    header, first, second = rows_of_template()
    without = ["" if name == "id" else cell for name, cell in zip(header, first, strict=True)]
    content = table([header, without, [*second, "too", "many"], [*first[:-1]]])
    batch = read(content)
    assert [row.key for row in batch.questions] == ["q-001"]
    assert [(key, code) for key, code, _words in told(content)] == [("row 2", "completeness"), ("q-002", "format")]


def test_a_broken_line_is_refused_alone() -> None:
    good = template_file("jsonl").decode().splitlines()
    content = "\n".join([good[0], '{"id": "x", "question"', '{"question": "no id"}', "", good[1]]).encode()
    assert [row.key for row in read(content).questions] == ["q-001", "q-002"]
    found = told(content)
    assert found[0][:2] == ("line 2", "syntax")
    assert "Line 2" in found[0][2]
    assert ("line 3", "completeness", "Line 3 has no id.") in found
