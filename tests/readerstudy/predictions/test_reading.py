"""Files of predictions in every form, and files that are refused."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from readerstudy.enums import PredictionForm
from readerstudy.predictions.kernels.records import PredictionsRefused, Record
from readerstudy.predictions.kernels.streamed_predictions import read_predictions
from tests.readerstudy.predictions.made import lines
from tests.refusals import refuses

RECORD = {"question": "What?", "options": ["A. x", "B. y", "C. z", "D. w"], "correct_answer": "A"}


def only(content: bytes, form: PredictionForm | None = None) -> tuple[str, Record]:
    read = read_predictions(content, form)
    assert not read.problems
    (record,) = read.records
    return read.form, record


def refusal(content: bytes, form: PredictionForm | None = None) -> str:
    with refuses(PredictionsRefused, "unreadable") as refused:
        read_predictions(content, form)
    return str(refused.value)


def sheet(*rows: tuple[str, ...], shared: bool = False, head: str = "") -> bytes:
    """The smallest workbook: each cell inline, or in the table of shared texts."""
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    links = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    texts = [cell for row in rows for cell in row]
    cells = iter(range(len(texts)))
    body = ""
    for number, row in enumerate(rows, start=1):
        body += f'<row r="{number}">'
        for place, text in enumerate(row):
            name = f"{'ABC'[place]}{number}"
            if shared:
                body += f'<c r="{name}" t="s"><v>{next(cells)}</v></c>'
            elif text:
                body += f'<c r="{name}" t="inlineStr"><is><t>{text}</t></is></c>'
        body += "</row>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(
            "xl/workbook.xml", f'<workbook {space} {links}><sheets><sheet name="S" r:id="r1"/></sheets></workbook>'
        )
        archive.writestr("xl/_rels/workbook.xml.rels", '<R><Relationship Id="r1" Target="worksheets/s.xml"/></R>')
        archive.writestr("xl/worksheets/s.xml", f"{head}<worksheet {space}><sheetData>{body}</sheetData></worksheet>")
        if shared:
            listed = "".join(f"<si><r><t>{text}</t></r></si>" for text in texts)
            archive.writestr("xl/sharedStrings.xml", f"<sst {space}>{listed}</sst>")
    return packed.getvalue()


FORMS: dict[str, tuple[bytes, str, Record]] = {
    "submission": (
        json.dumps(
            {"Q1": {**RECORD, "explanation": "key", "model_prediction": "B", "model_explanation": "why"}}
        ).encode(),
        "submission",
        Record(1, "Q1", "B", "why", tuple(RECORD["options"])),
    ),
    "submission with an object": (
        json.dumps({"Q1": {"model_prediction": {"answer": "B", "explanation": "why"}}}).encode(),
        "submission",
        Record(1, "Q1", "B", "why"),
    ),
    "submission of bare texts": (b'{"Q1": "Answer: B"}', "submission", Record(1, "Q1", "Answer: B")),
    "results, lines": (
        lines({"id": "Q1", "question_id": "many", "model_response": "B."}),
        "results",
        Record(1, "Q1", "B."),
    ),
    "results, object": (
        json.dumps({"Q1": {"question_id": "many", "model_response": " B "}}).encode(),
        "results",
        Record(1, "Q1", " B "),
    ),
    "results, error": (b'{"Q1": {"error": "time out"}}', "results", Record(1, "Q1", "")),
    "direct": (
        lines({"id": "Q1", "gt_answer": "A", "pred_answer": "?", "explanation": "dark", "correct": True}),
        "direct",
        Record(1, "Q1", "?", "dark"),
    ),
    "harness": (
        lines({"doc_id": 0, "doc": {"id": "Q1"}, "target": "A", "resps": [["B it is"]], "filtered_resps": ["B"]}),
        "harness",
        Record(1, "Q1", "B it is"),
    ),
    "agent": (
        json.dumps([{"data_point_id": "Q1", "model_answer": "I looked.\nB", "correct_answer": "A"}], indent=1).encode(),
        "agent",
        Record(1, "Q1", "I looked.\nB"),
    ),
    "number": (lines({"id": 7, "pred_answer": 1}), "direct", Record(1, "7", "1")),
    "csv": (b'\xef\xbb\xbfindex,A,answer,prediction\n7,x,A,"B, I think"\n', "table", Record(2, "7", "B, I think")),
    "semicolons": (b"question_id;Prediction\r\nQ1;B\r\n", "table", Record(2, "Q1", "B")),
    "tsv": (b"id\tprediction\texplanation\n\nQ1\tB\twhy\n", "table", Record(3, "Q1", "B", "why")),
    "xlsx": (sheet(("index", "prediction"), ("Q1", "B")), "table", Record(2, "Q1", "B")),
    "xlsx, shared": (sheet(("index", "prediction"), ("Q1", "B"), shared=True), "table", Record(2, "Q1", "B")),
    "xlsx, empty cell": (sheet(("index", "prediction"), ("Q1", "")), "table", Record(2, "Q1", "")),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_found_by_its_fields(name: str) -> None:
    content, form, record = FORMS[name]
    assert only(content) == (form, record)


def test_a_form_can_be_named() -> None:
    both = lines({"id": "Q1", "pred_answer": "A", "model_response": "B"})
    assert only(both, PredictionForm.RESULTS)[1].raw == "B"
    assert "pred_answer" in refusal(lines({"id": "Q1", "prediction": "A"}), PredictionForm.DIRECT)


def test_a_record_without_an_answer_is_a_failed_one() -> None:
    read = read_predictions(lines({"id": "Q1", "model_response": "A"}, {"id": "Q2", "error": "time out"}))
    assert [record.raw for record in read.records] == ["A", ""]


PROBLEMS: dict[str, tuple[bytes, tuple[int, str], str]] = {
    "NaN in an object": (
        b'{"Q1": {"prediction": "B", "confidence": NaN}, "Q2": {"prediction": "A"}}',
        (1, "Q1"),
        "'confidence' is NaN",
    ),
    "NaN in a line": (b'{"id": "Q1", "pred_answer": "B"}\n{"id": "Q2", "p": -Infinity}', (2, ""), "'p' is -Infinity"),
    "a field twice": (
        b'{"id": "Q1", "pred_answer": "A", "pred_answer": "B"}\n{"id": "Q2", "pred_answer": ""}',
        (1, ""),
        "there twice",
    ),
    "a broken line": (b'{"id": "Q1", "pred_answer": "A"}\n{"id": "Q2", \n', (2, ""), "not JSON"),
    "two records in a line": (b'{"id": "Q1", "pred_answer": "A"}\n{"id": "Q2"} {}', (2, ""), "follows"),
    "no id": (lines({"pred_answer": "A"}, {"id": "Q2", "pred_answer": "A"}), (1, ""), "no id"),
    "a list in a list": (b'[{"data_point_id": "Q1", "model_answer": "A"}, ["B"]]', (2, ""), "not an object"),
    "NaN in a list": (b'[{"data_point_id": "Q1", "model_answer": "A"}, {"x": NaN}]', (2, ""), "'x' is NaN"),
    "half a surrogate": (lines({"id": "Q1", "pred_answer": "A\ud800"}), (1, ""), "surrogate"),
    "NUL": (lines({"id": "Q1", "pred_answer": "A\0"}), (1, ""), "NUL"),
    "cells": (b"id,prediction\nQ1,A\nQ2,A,B\n", (3, "Q2"), "3 cells"),
    "digits": (b'{"id": "Q1", "pred_answer": "A"}\n{"id": "Q2", "n": 1' + b"0" * 5000 + b"}", (2, ""), "digits"),
    "depth": (b'{"id": "Q1", "pred_answer": "A"}\n{"id": ' + b"[" * 100_000 + b"}", (2, ""), "deep"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_wrong_record_is_named_with_its_row(name: str) -> None:
    content, where, words = PROBLEMS[name]
    (problem,) = read_predictions(content).problems
    assert (problem.row, problem.id) == where
    assert words in problem.message


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "empty": (b" \n", "is empty"),
    "header only": (b"id,prediction\n", "no record"),
    "not UTF-8": (b"id,prediction\nQ1,\xff\n", "UTF-8"),
    "open quote": (b'id,prediction\nQ1,"B\nQ2,A\n', "Row 2"),
    "column twice": (b"id,id,prediction\nQ1,Q1,B\n", "'id' is there twice"),
    "no answer": (b"id,answer\nQ1,B\n", "known: prediction"),
    "counts from 0": (b"index,prediction\n0,B\n1,A\n", "counts from 0"),
    "counts from 0 at its end": (b"index,prediction\n3,B\n2,B\n1,A\n0,A\n", "counts from 0"),
    "counts from 0 in its documents": (
        b'{"doc": {"index": 1}, "resps": [["B"]]}\n{"doc": {"index": 0}, "resps": [["A"]]}',
        "counts from 0",
    ),
    "counts from 0 after what is no record": (
        b'[7, {"doc": {"index": 1}, "resps": [["B"]]}, {"doc": {"index": 0}, "index": 0, "resps": [["A"]]}]',
        "counts from 0",
    ),
    "broken object": (b'{"Q1": {"prediction": "B"}, "Q2": \n', "line 2"),
    "broken list": (b'[{"model_answer": "B"} {"model_answer": "B"}]', "column 24"),
    "text after a list": (b"[1] 2", "follows"),
    "zeros": (b"id,prediction\nQ1,\0\n", "zero bytes"),
    "no workbook": (b"PK\x03\x04" + b"\0" * 40, "XLSX"),
    "document type": (sheet(("id", "prediction"), ("Q1", "B"), head="<!DOCTYPE x>"), "document type"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_refused_as_a_whole(name: str) -> None:
    content, words = UNREADABLE[name]
    assert words in refusal(content)
