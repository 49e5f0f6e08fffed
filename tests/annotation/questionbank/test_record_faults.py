"""What spoils one record of a file, and what only looks as if it did."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from annotation.files.kernels.strictjson import Entry, ObjectReader
from annotation.questionbank.kernels.records import QuestionRecord, RecordProblem, RecordReader, RecordRules
from tests.annotation.questionbank.files import make_record

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
