"""Files of predictions in every form, also as other programs write them; and files that are refused."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from annotation.model_calls.kernels.extraction import extract
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


# --- logs of other programs ------------------------------------------------------------------------
COUNTED = PredictionForm.COUNTED
CHOICES = ["Rib", "Gas", "Mass", "Node"]


def records(content: bytes, form: PredictionForm | None = None, duplicates: str = "") -> list[Record]:
    read = read_predictions(content, form, duplicates)
    assert read.problems == ()
    return list(read.records)


def problems(content: bytes, form: PredictionForm | None = None) -> list[str]:
    return [one.message for one in read_predictions(content, form).problems]


# --- inspect_ai -----------------------------------------------------------------------------------
def sample(name: Any, text: str, **fields: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": text}, "stop_reason": fields.pop("stop_reason", "stop")}
    score = {"choice": {"value": "C", "answer": "D"}}  # C: correct
    about = {"id": name, "epoch": 1, "choices": CHOICES, "target": "A"}
    return {**about, "output": {"model": "m", "choices": [choice]}, "scores": score, **fields}


def log(*samples: dict[str, Any]) -> bytes:
    return json.dumps({"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}).encode()


def packed(*samples: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        for one in samples:
            archive.writestr(f"samples/{one['id']}_epoch_1.json", json.dumps(one))
    return file.getvalue()


def packed_by_zstandard(*samples: dict[str, Any]) -> bytes:
    """As inspect_ai 0.3.285 writes it: method 93, which is stored here under a name that Python writes."""
    file, squeeze = io.BytesIO(), zstandard.ZstdCompressor().compress
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for one in samples:
            archive.writestr(f"samples/{one['id']}_epoch_1.json", squeeze(json.dumps(one).encode()))
        for info, one in zip(archive.infolist(), samples, strict=True):
            info.compress_type, info.file_size = 93, len(json.dumps(one))
    return file.getvalue()


@pytest.mark.parametrize("write", [log, packed, packed_by_zstandard])
def test_a_log_of_inspect_is_read_and_its_score_is_not(write: Any) -> None:
    found = records(
        write(sample("Q1", "ANSWER: B"), sample(2, "A", stop_reason="max_tokens"), sample("Q3", "", error={}))
    )
    assert [(one.id, one.raw, one.is_whole) for one in sorted(found, key=lambda one: one.raw)] == [
        ("2", "A", False),
        ("Q1", "ANSWER: B", True),
    ]
    assert {one.options for one in found} == {tuple(CHOICES)}


def test_a_log_of_inspect_that_is_cut_off_says_so() -> None:
    with refuses(PredictionsRefused, "unreadable") as refused:
        read_predictions(log(sample("Q1", "B"))[:-20])
    assert "The log cannot be read" in str(refused.value)


# --- lm-eval --------------------------------------------------------------------------------------
def scored(*numbers: float, **fields: Any) -> bytes:
    arguments = [["What?", text] for text in (" A long text", " B", " C", " D")]
    return lines(
        {"doc": {"id": "Q1", "choices": CHOICES}, "arguments": arguments, "resps": [[[one, False]] for one in numbers]}
        | fields
    )


def test_the_likeliest_option_is_the_answer_where_there_is_no_text() -> None:
    [found] = records(scored(-9.0, -0.4, -7.0, -8.0, acc=1.0))
    assert (found.raw, found.explanation) == ("B", "log-likelihoods of A to D: -9, -0.4, -7, -8")
    [found] = records(scored(-9.0, -2.0, -7.0, -8.0, metrics=["acc_norm"]))
    assert found.raw == "A", "normalised by the characters of what was scored: -0.82 and -2"


OF_LM_EVAL = Path(__file__).with_name("lm_eval_0.4.13.jsonl")
CHOSEN = {"acc": "DBACAAAB", "acc_norm": "DCAADAAA", "acc_bytes": "DBACDAAD"}  # by that score


@pytest.mark.parametrize("score", CHOSEN)
def test_a_log_that_lm_eval_itself_wrote_is_read_as_lm_eval_scored_it(score: str) -> None:
    """By its model "dummy": numbers are texts there, and what was scored is an object. Normalised by characters."""
    written = [json.loads(line) for line in OF_LM_EVAL.read_text().splitlines()]
    for one in written:
        one["metrics"] = [score]
    others = {*CHOSEN} - {score}
    content = lines(*({key: value for key, value in one.items() if key not in others} for one in written))
    found = records(content, duplicates="first")
    assert "".join(one.raw for one in found) == CHOSEN[score]
    targets = ["ABCD"[int(one["target"])] for one in written]
    assert [one.raw == target for one, target in zip(found, targets, strict=True)] == [
        one[score] == 1 for one in written
    ]


def test_losses_are_the_other_way_round() -> None:
    """lmms-eval writes what a model loses by each option, and takes the smallest."""
    [found] = records(lines({"doc_id": 0, "resps": [[["2.5", "False"]], [["0.5", "False"]]], "acc": 0.0}), COUNTED)
    assert (found.raw, found.explanation) == ("B", "losses of A to B: 2.5, 0.5")


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((-0.4,), "which are not those of its options"),
        ((-0.4, 0.3), "neither log-likelihoods, which are never above 0, nor losses"),
        (("nan", "-1.0"), "neither log-likelihoods, which are never above 0, nor losses"),
    ],
)
def test_numbers_that_say_nothing_of_the_options_are_refused(numbers: Any, sentence: str) -> None:
    assert sentence in problems(scored(*numbers, acc=1.0))[0]


def test_normalised_numbers_need_the_texts_that_were_scored() -> None:
    same = [["Is it a rib?", " yes"], ["Is it gas?", " yes"]]
    assert "without the texts" in problems(scored(-1.0, -2.0, metrics=["acc_norm"], arguments=same))[0]


def test_likelihoods_that_nobody_says_how_to_compare_are_refused() -> None:
    assert "no field says whether they are normalised" in problems(scored(-9.0, -0.4, -7.0, -8.0))[0]


@pytest.mark.parametrize(("duplicates", "said"), [("first", "C"), ("last", "A"), ("voted", "B")])
def test_of_several_replies_a_person_says_which_counts(duplicates: str, said: str) -> None:
    content = lines({"doc": {"id": "Q1"}, "resps": [["C", "B", "A"]], "filtered_resps": ["B"], "filter": "maj@3"})
    assert [one.raw for one in records(content, duplicates=duplicates)] == [said]
    of_lmms_eval = lines({"doc_id": 0, "resps": ["C", "B", "A"], "filtered_resps": "B"})  # 0.7.3
    assert [one.raw for one in records(of_lmms_eval, COUNTED, duplicates)] == [said]
    [sentence] = problems(content)
    assert "3 replies, of which the filter maj@3 chose 'B'" in sentence


# --- others ---------------------------------------------------------------------------------------
def test_a_batch_output_goes_by_custom_id_and_leaves_out_what_failed() -> None:
    def line(name: str, content: str, status: int = 200, **choice: Any) -> dict[str, Any]:
        body = {"choices": [{"message": {"content": content}, "finish_reason": "stop", **choice}]}
        return {"id": "batch", "custom_id": name, "response": {"status_code": status, "body": body}, "error": None}

    failed = {"id": "batch", "custom_id": "Q4", "response": None, "error": {"message": "expired"}}
    read = read_predictions(lines(line("Q1", "B"), line("Q2", "A", finish_reason="length"), line("Q3", ""), failed))
    assert [(one.id, one.raw, one.is_whole) for one in read.records] == [("Q1", "B", True), ("Q2", "A", False)]


def test_records_that_count_from_0_are_read_once_a_person_says_so() -> None:
    content = lines({"doc_id": 0, "resps": [["B"]]}, {"doc_id": 4, "resps": [["A"]]})
    assert all("counts from 0" in sentence for sentence in problems(content))
    assert [one.id for one in records(content, PredictionForm.COUNTED)] == ["1", "5"]
    assert [one.id for one in records(b"index,prediction\n0,A\n1,B", PredictionForm.COUNTED)] == ["1", "2"]


def test_a_number_that_was_read_as_one_with_decimals_is_the_number() -> None:
    assert [one.id for one in records(b"index,prediction\n1.0,A\n2.00,B\n3.5,C")] == ["1", "2", "3.5"]


def test_the_line_of_excel_that_names_the_separator_is_no_row() -> None:
    for said in ("sep=;", '"sep=;"'):
        found = records(f"\ufeff{said}\r\nindex;prediction\r\n1;B\r\n2;A, or so".encode())
        assert [(one.row, one.id, one.raw) for one in found] == [(2, "1", "B"), (3, "2", "A, or so")]


# --- the handed files -----------------------------------------------------------------------------
HANDED: dict[str, tuple[PredictionForm | None, str, set[str]]] = {
    "predictions/02_lmeval_loglikelihood.jsonl": (None, "", {"B"}),
    "predictions/03_inspect_log.json": (None, "", {"B"}),
    "predictions/04_vlmeval_rotated.tsv": (None, "", {"A"}),
    "predictions/05_lmmseval_no_doc.jsonl": (PredictionForm.COUNTED, "", {"B"}),
    "predictions/06_openai_batch_output.jsonl": (None, "", {"B"}),
    "predictions/08b_harness_repeats.jsonl": (None, "voted", {"B"}),
    "tables/09c_float_index.csv": (None, "", {"B"}),
    "tables/10c_sep_line.csv": (None, "", {"B"}),
    "tables/hidden_first_sheet.xlsx": (None, "", {"B"}),
}


@pytest.mark.parametrize("name", HANDED)
def test_a_handed_file_is_read(shared_data: Path, name: str) -> None:
    form, duplicates, letters = HANDED[name]
    found = records((shared_data.parent / "cases" / name).read_bytes(), form, duplicates)
    assert {extract(one.raw, one.options) for one in found} == letters
    assert [one.id for one in found][:3] == ["1", "2", "3"]


def test_thoughts_of_a_handed_file_are_no_answers(shared_data: Path) -> None:
    found = records((shared_data.parent / "cases/predictions/01_thinking.json").read_bytes())
    assert [extract(one.raw, one.options) for one in found][:4] == ["B", "B", "", "B"]


def test_options_of_a_handed_file_are_in_its_own_order(shared_data: Path) -> None:
    found = records((shared_data.parent / "cases/predictions/04_vlmeval_rotated.tsv").read_bytes())
    assert found[0].options[0] == "Raised right hemidiaphragm"
