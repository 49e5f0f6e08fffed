"""Foreign files read by a matching of columns: a department's sheet, and rows in the shape of VQA-RAD and SLAKE."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from annotation.files.kernels.strictjson import FileRefused
from annotation.questionbank.kernels.column_matching import (
    FROM_0,
    FROM_1,
    LETTER,
    TEXT,
    Matching,
    faults_of,
    guess_matching,
)
from annotation.questionbank.kernels.foreign_rows import FileColumns, columns_to_match
from annotation.questionbank.kernels.records import Batch, RecordRules, read_batches
from annotation.questionbank.matchings import TEMPLATE_FORMS, template_file
from tests.annotation.questionbank.sheets import RAD, SHEET, SHEET_MATCHING, SLAKE, YES_NO, as_list


def columns(content: bytes) -> FileColumns:
    found = columns_to_match(io.BytesIO(content))
    assert found is not None
    return found


def read(content: bytes, matching: Matching) -> Batch:
    (batch,) = read_batches(io.BytesIO(content), RecordRules(matching=matching), size=100)
    return batch


def test_a_sheet_of_a_department_is_guessed_but_for_its_category() -> None:
    found = columns(SHEET)
    guessed = guess_matching(found.names, found.rows, "sheet")
    assert guessed.columns == SHEET_MATCHING.columns
    assert (guessed.key_form, guessed.separator) == (TEXT, ";")
    (fault,) = faults_of(guessed)
    assert fault.field == "category"
    assert "which every question needs. Choose a column for it, or give one value" in fault.message


def test_its_rows_are_questions_and_other_columns_are_kept() -> None:
    first, second = read(SHEET, SHEET_MATCHING).questions
    assert (first.key, first.answer, first.task.value, first.category) == ("d-1", "B", "presence", "Chest")
    assert first.options == ["Pneumothorax", "Left effusion", "Cardiomegaly", "Fracture"]
    assert [image.path for image in first.exam.images] == ["7/pa.png", "7/lat.png"]
    assert json.loads(first.extra)["fields"] == {"Room": "4", "column StudyDate": "20200101"}
    assert (second.answer, second.exam.age_years, second.difficulty.value) == ("D", 63, "hard")


@pytest.mark.parametrize(
    ("form", "key", "letter"),
    [(LETTER, "c)", "C"), (FROM_0, "0", "A"), (FROM_0, 3, "D"), (FROM_1, "4.0", "D"), (TEXT, " YES,  left ", "B")],
)
def test_the_key_as_letter_number_or_text(form: str, key: Any, letter: str) -> None:
    row = YES_NO | {"choices": ["No", "Yes, left", "Yes, right", "Both"], "answer": key}
    batch = read(json.dumps(row).encode(), replace(MATCHED, key_form=form))
    assert [question.answer for question in batch.questions] == [letter]


@pytest.mark.parametrize(
    ("form", "key", "sentence"),
    [
        (FROM_0, "4", "The key '4' is no number from 0 to 3."),
        (FROM_1, "0", "The key '0' is no number from 1 to 4."),
        (TEXT, "A", "The key 'A' is none of the options."),
        (TEXT, "", "'answer' is empty."),
    ],
)
def test_a_key_that_is_no_option_is_refused_with_its_place(form: str, key: str, sentence: str) -> None:
    row = YES_NO | {"choices": ["No", "Yes, left", "Yes, right", "Both"], "answer": key}
    problem, *_of_the_file = read(json.dumps(row).encode(), replace(MATCHED, key_form=form)).problems
    assert (problem.key, problem.field, problem.message) == ("9", "answer", f"Line 1: {sentence}")


MATCHED = Matching(
    "lines",
    {"id": "qid", "study_id": "img", "ImagePath": "img", "question": "question", "options": "choices"}
    | {"correct_answer": "answer", "correct_answer_explanation": "why"},
    {"task_name": "Presence Assessment", "category": "Chest"},
)


@pytest.mark.parametrize(
    "options",
    [
        '["No", "Left", "Right", "Both"]',
        "['No', 'Left', \"Right\", 'Both']",
        "No|Left|Right|Both",
        {"B": "Left", "A": "No", "d": "Both", "C": "Right"},
        ["A. No", "B. Left", "C. Right", "D. Both"],
    ],
)
def test_options_in_one_cell(options: Any) -> None:
    batch = read(json.dumps(YES_NO | {"choices": options, "answer": "A"}).encode(), MATCHED)
    assert [question.options for question in batch.questions] == [["No", "Left", "Right", "Both"]]


@pytest.mark.parametrize(
    "cell", ["[" * 3000, "[1,", '["\\ud800", "b", "c", "d"]', "{1: 2}", '["a", {"b": 1}, "c", "d"]']
)
def test_a_hostile_cell_is_refused_as_its_row(cell: str) -> None:
    (problem,) = read(json.dumps(YES_NO | {"choices": cell, "answer": "A"}).encode(), MATCHED).problems
    assert problem.field == "choices"


def test_vqa_rad_has_no_options_and_open_answers_are_refused_one_by_one() -> None:
    """Its yes-or-no questions come in with options that a person adds; a question keeps exactly four."""
    found = columns(RAD)
    guessed = guess_matching(found.names, found.rows)
    assert [guessed.columns[name] for name in ("id", "ImagePath", "study_id", "task_name")] == [
        *("qid", "image_name", "image_name", "question_type")
    ]
    assert {fault.field for fault in faults_of(guessed)} == {"correct_answer_explanation", "options"}
    options = dict(
        zip(("option_a", "option_b", "option_c", "option_d"), ("Yes", "No", "Unclear", "Other"), strict=True)
    )
    given = options | {"correct_answer_explanation": "The data set gives none.", "category": "Chest"}
    of_columns = {name: column for name, column in guessed.columns.items() if name != "category"}
    whole = replace(guessed, columns=of_columns, constants=given, words={"pres": "Presence Assessment"})
    assert faults_of(whole) == []
    batch = read(RAD, whole)
    assert [(one.key, one.answer, one.task.value) for one in batch.questions] == [("1", "A", "presence")]
    assert [(one.key, one.field, one.code) for one in batch.problems] == [
        ("2", "answer", "key_outside_options"),
        ("2", "question_type", "unknown_task"),
    ]
    assert batch.problems[0].message == "Record 2: The key 'left lower lobe' is none of the options."


def test_two_options_are_refused_and_not_filled_up() -> None:
    batch = read(json.dumps(YES_NO).encode(), replace(MATCHED, key_form=TEXT))
    (problem,) = batch.problems
    assert problem.message == "Line 1: A question has four options; this one has 2."


def test_slake_as_parquet_with_the_images_in_it() -> None:
    stream = io.BytesIO()
    pq.write_table(
        pa.Table.from_pylist([row | {"image": {"bytes": b"\x89PNG", "path": "x/1.png"}} for row in SLAKE]), stream
    )
    found = columns(stream.getvalue())
    assert found.rows[0].cells["image"] == '{"path": "x/1.png"}'
    matching = replace(MATCHED, columns={**MATCHED.columns, "ImagePath": "image", "study_id": "img_id"})
    batch = read(stream.getvalue(), matching)
    assert batch.problems == []
    (question,) = batch.questions
    assert [image.path for image in question.exam.images] == ["x/1.png"]


@pytest.mark.parametrize("form", TEMPLATE_FORMS)
def test_a_question_file_has_nothing_to_match(form: str) -> None:
    assert columns_to_match(io.BytesIO(template_file(form))) is None


@pytest.mark.parametrize("content", [b"just one column\ntext\n", b"a;b\n", b'{"q1": {"question": "?"}}'])
def test_neither_has_what_is_no_table(content: bytes) -> None:
    assert columns_to_match(io.BytesIO(content)) is None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a;a\n1;2\n", "The column 'a' is there twice"),
        (b'a;"b\0"\n1;2\n', "The name of column 2: The text holds a NUL character"),
        (b"a;" + b"b" * 201 + b"\n1;2\n", "The name of column 2 has more than 200 characters"),
        (";".join(map(str, range(201))).encode() + b"\n1;2\n", "at most 200 can be matched"),
        (b'[{"a": 1}, {"a"', "not JSON"),
        (b"\x89PNG", "an image"),
    ],
)
def test_a_file_that_cannot_be_matched_says_why(content: bytes, sentence: str) -> None:
    with pytest.raises(FileRefused, match=sentence):
        columns_to_match(io.BytesIO(content))


def test_a_nul_in_a_cell_is_a_fault_of_its_row() -> None:
    batch = read(SHEET.replace(b"Which finding", b"Wh\0ch finding"), SHEET_MATCHING)
    assert [(one.key, one.code) for one in batch.problems] == [("d-1", "nul_character")]


def test_a_column_that_the_file_lacks_is_named() -> None:
    (problem,) = read(SHEET.replace(b"answer", b"solution"), SHEET_MATCHING).problems
    assert "has no column 'answer', which the matching 'sheet' names. Found: no., study" in problem.message


def test_a_list_and_lines_say_the_same() -> None:
    lines = "\n".join(json.dumps(one) for one in json.loads(RAD)).encode()
    assert columns(lines).names == columns(as_list(json.loads(RAD))).names
    assert [row.cells for row in columns(lines).rows] == [row.cells for row in columns(RAD).rows]


def test_a_matching_that_leaves_or_doubles_a_field() -> None:
    doubled = replace(SHEET_MATCHING, constants={"category": "Chest", "option_a": "x", "difficulty": "easy"})
    assert [fault.field for fault in faults_of(doubled)] == ["options", "difficulty"]
    for name in ("id", "question", "correct_answer", "ImagePath", "study_id"):
        left = {field: column for field, column in SHEET_MATCHING.columns.items() if field != name}
        (fault,) = faults_of(replace(SHEET_MATCHING, columns=left))
        assert fault.field == name
        assert fault.message.endswith("Choose a column for it.")
