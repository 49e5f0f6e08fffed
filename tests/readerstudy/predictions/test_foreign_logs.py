"""Logs of other programs, as these write them; the handed files with what is right for each."""

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
