"""A question file in every form that is read, and what is said of one that is not."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from annotation.files.kernels.strictjson import Entry, ObjectReader
from annotation.questionbank.kernels.entries import NEEDED, NEEDED_OF_EXAM, OPTIONAL, read_entries
from annotation.questionbank.kernels.records import (
    Batch,
    QuestionRecord,
    RecordProblem,
    RecordReader,
    RecordRules,
    read_batches,
)
from annotation.questionbank.matchings import COLUMNS, EXAMPLES, TEMPLATE_FORMS, template_file
from tests.annotation.files.test_tables import parquet
from tests.annotation.questionbank.files import make_record

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


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("questions.json", "{}")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped(), "a ZIP archive of something else"),
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


# --- What spoils one record of a file, and what only looks as if it did ---
NAMES_OF_KIND: dict[str, Any] = {"subcategory": "Small", "class": "Respiratory System"}
USUAL = make_record(2, code=1, Indication="Cough", StudyDate=20200102, **NAMES_OF_KIND)


def read_text(text: str) -> list[tuple[QuestionRecord | None, list[RecordProblem]]]:
    """The record of this text, between two usual ones of the same exam."""
    records = RecordReader(RecordRules())
    content = f'{{"q1": {json.dumps(USUAL)}, "q2": {text}, "q3": {json.dumps(USUAL)}}}'.encode()
    return [records.read(entry) for entry in ObjectReader(io.BytesIO(content))]


@pytest.mark.parametrize("options", [["A. a\nb", "B. c", "C. c", "D. d"], ["A. a", "B. a\n", "C. c", "D. d"]])
def test_lines_within_an_option_do_not_hide_its_double(options: list[str]) -> None:
    changes: dict[str, Any] = {"options": options, "subcategory": "", "class": ""}
    read, problems = RecordReader(RecordRules()).read(Entry("q1", make_record(**changes), ()))
    assert read is None
    assert [problem.code for problem in problems] == ["duplicate_options"]


@pytest.mark.parametrize(
    ("old", "new", "field", "code"),
    [
        ('"question": ', '"question": "First?", "question": ', "question", "duplicate_field"),
        ('"question": ', '"question" : "First?", "question": ', "question", "duplicate_field"),
        ('"question": ', '"qu\\u0065stion": "First?", "question": ', "question", "duplicate_field"),
        ('"Findings": ', '"Findings": null, "Findings": ', "Findings", "duplicate_field"),
        ('"code": ', '"code": 1, "code": ', "code", "duplicate_field"),
        ('"code": ', '"code": 1, "code": 2, "code": ', "code", "duplicate_field"),
        ('"code": 1', '"code": {"x": 1, "x": 1}', "x", "duplicate_field"),
        ('"code": 1', '"code": 1e999', "code", "not_finite"),
        ('"StudyDate": 20200102', '"StudyDate": NaN', "StudyDate", "not_finite"),
        ('"code": 1', '"code": ' + 5000 * "9", "code", "number_too_long"),
        ('"StudyDate": 20200102', '"StudyDate": [' + 5000 * "9" + "]", "StudyDate", "number_too_long"),
        ('"code": 1', '"code": [[[[[[[[[[1]]]]]]]]]]', "code", "too_deep"),
        ("Cough", "Co\\u0000ugh", "Indication", "nul_character"),
        ("Cough", "Co\\ud800ugh", "Indication", "lone_surrogate"),
        ("Is there", "Is\\u0000there", "question", "nul_character"),
        ("Is there", "\\udc00", "question", "lone_surrogate"),
        ('"code"', '"co\\u0000de"', "", "nul_character"),
        ('"B"', '"E"', "correct_answer", "key_outside_options"),
    ],
)
def test_a_fault_is_found_though_the_record_before_was_usual(old: str, new: str, field: str, code: str) -> None:
    usual = json.dumps(USUAL)
    assert old in usual
    first, (refused, problems), third = read_text(usual.replace(old, new, 1))
    assert refused is None
    assert [(problem.key, problem.field, problem.code) for problem in problems] == [("q2", field, code)]
    assert first[0] is not None
    assert third[0] is not None


@pytest.mark.parametrize("new", ["Cough \\\\", 'Co\\"ugh\\\\', "}, {", "\\ud83d\\ude00", "Co\\/ugh"])
def test_texts_that_look_like_json_change_nothing(new: str) -> None:
    read = [record for record, _problems in read_text(json.dumps(USUAL).replace("Cough", new))]
    indications = [record and record.exam.report[0] for record in read]
    assert indications == ["Cough", json.loads(f'"{new}"'), "Cough"]


@pytest.mark.parametrize("separators", [None, (",", ":"), (" , ", "\n :\t")])
@pytest.mark.parametrize("escaped", [True, False])
def test_the_same_record_is_read_however_it_is_written(escaped: bool, separators: tuple[str, str] | None) -> None:
    record = {**USUAL, "category": "Épanchement"}
    wanted, problems = RecordReader(RecordRules()).read(Entry("q2", record, ()))
    assert problems == []
    read = read_text(json.dumps(record, ensure_ascii=escaped, separators=separators))
    assert read[1] == (wanted, [])


def test_true_is_not_one_in_further_fields() -> None:
    values: list[Any] = [1, True, 1.0, "1"]
    read = [read_text(json.dumps({**USUAL, "code": value}))[1][0] for value in values]
    assert [record and json.loads(record.extra)["fields"]["code"] for record in read] == values
    assert len({record and record.content_sha256 for record in read}) == len(values)
