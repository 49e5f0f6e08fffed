"""manage.py import_predictions, with the sample files and the hostile ones."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.models import AnswerKey, Question, Revision
from annotation.questionbank.priors import keys_of_questions
from readerstudy.models import ModelEntry, Prediction, PredictionRun
from tests.annotation.questionbank.files import run_import
from tests.readerstudy.predictions.made import answers, entry_named, keyed_bank
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db
CaseTrace = dict[str, Any]


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("import_predictions", *arguments, stdout=out)
    return out.getvalue()


def told(*arguments: str) -> CaseTrace:
    found: CaseTrace = json.loads(said(*arguments, "--json"))
    return found


def refused(*arguments: str) -> tuple[CaseTrace, str]:
    """The JSON and the sentence of a refused file."""
    out = io.StringIO()
    with pytest.raises(CommandError) as refusal:
        call_command("import_predictions", *arguments, "--json", stdout=out, stderr=io.StringIO())
    assert refusal.value.returncode == 2
    return json.loads(out.getvalue() or "{}"), str(refusal.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(answers(Q1="B", Q2="I cannot tell.", Q7="A"))
    return path


def test_it_says_what_it_did(file: Path) -> None:
    keyed_bank(3)
    shown = " ".join(said(str(file), "--model", "M", "--version", "2", "--bank", "bank").split())
    assert (
        "M 2 on Bank: read 3 questions matched 2 of these without an option 1 missing 1 repeated 0 unknown 1 stored 2"
        in shown
    )
    assert "missing: Q3" in shown
    assert "unknown: Q7" in shown
    assert "Q2: 'I cannot tell.'" in shown
    assert "stored already as run 1" in said(str(file), "--model", "M", "--bank", "Bank")


def test_it_says_which_letters_were_translated_and_which_answers_name_two(tmp_path: Path) -> None:
    keyed_bank(2)
    first, *others = Revision.objects.get(question__number=1).options
    moved = {"options": [*others, first], "model_prediction": "A"}
    records = {"1": moved, "2": {"model_prediction": "It is option A or option B"}}
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(records))
    shown = said(str(path), "--model", "M", "--bank", "bank")
    assert "1 record lists its options in another order; its letter was translated." in shown
    assert "1 answer names two options: none was taken." in shown


def test_a_dry_run_on_a_study(file: Path) -> None:
    make_study("Trial", n_cases=2)
    file.write_bytes(answers(**{"1": "B"}))
    result = told(str(file), "--model", "M", "--study", "trial", "--dry-run")
    assert (result["study"], result["stored"], result["missing"], result["dry_run"]) == ("trial", 0, ["2"], True)
    assert not ModelEntry.objects.exists()


def test_what_is_named_must_be_there(file: Path, tmp_path: Path) -> None:
    keyed_bank(3)
    for version in ("1", "2"):
        entry_named("M", version=version)
    for arguments, words in (
        ((str(file), "--model", "M", "--bank", "none"), "Banks: bank"),
        ((str(file), "--model", "M", "--study", "none"), "no study"),
        ((str(tmp_path / "gone"), "--model", "N", "--bank", "bank"), "No such file"),
        ((str(file), "--model", "M", "--bank", "bank"), "--version"),
        ((str(file), "--model", " ", "--bank", "bank"), "--model"),
        ((str(file), "--model", "N", "--bank", "bank", "--form", "harness"), "refused"),
    ):
        assert words in refused(*arguments)[1]
    assert not PredictionRun.objects.exists()


def test_a_refused_file_names_every_row(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keyed_bank(3)
    bad = b'{"id": "Q2", "pred_answer": NaN}\n'
    file.write_bytes(answers(Q1="A") + b"\n" + answers(Q1="B") + b"\n" + bad * 30)
    with pytest.raises(CommandError, match="--duplicates"):
        call_command("import_predictions", str(file), "--model", "M", "--bank", "bank")
    shown = capsys.readouterr().err
    assert "row 2 (Q1): Row 1 answers this question with A, this row with B." in shown
    assert "row 3: A number in 'pred_answer' is NaN" in shown
    assert "11 more" in shown
    assert not ModelEntry.objects.exists()


# --- the sample files -------------------------------------------------------------------------------
SAMPLE: dict[str, tuple[str, int, int, int]] = {
    # file: form, right, failed, missing
    "model_a_rexrank_results.jsonl": ("results", 100, 6, 0),
    "model_a_rexrank_submission.json": ("submission", 100, 6, 0),
    "model_b_direct_prompt_results.jsonl": ("direct", 85, 4, 0),
    "model_c_harness_samples.jsonl": ("harness", 44, 4, 3),
}


def expected(shared_data: Path) -> dict[str, dict[str, str]]:
    """By file and id: the letter that a careful reader takes; of a repeated id that of the first record."""
    letters: dict[str, dict[str, str]] = defaultdict(dict)
    with (shared_data / "predictions/expected_extraction.csv").open() as rows:
        for row in csv.DictReader(rows):
            letters[row["file"]].setdefault(row["id"], row["expected_letter"])
    letters["model_a_rexrank_submission.json"] = letters["model_a_rexrank_results.jsonl"]
    return letters


def test_the_sample_files_give_exactly_the_expected_letters(shared_data: Path) -> None:
    run_import(shared_data / "rexvqa_sample.json", bank="Sample")
    bank_id = Question.objects.values_list("bank", flat=True)[0]
    keys = keys_of_questions(bank_id, set(Question.objects.values_list("pk", flat=True)))
    truth = dict(AnswerKey.objects.values_list("revision_id", "key"))
    for name, (form, n_right, n_failed, n_missing) in SAMPLE.items():
        path = str(shared_data / "predictions" / name)
        result = told(path, "--model", name, "--bank", "sample", "--duplicates", "first")
        assert (result["form"], len(result["failed"]), len(result["missing"])) == (form, n_failed, n_missing)
        stored = Prediction.objects.filter(run__entry__name=name).select_related("revision")
        assert result["stored"] == result["matched"] == len(stored) == 124 - n_missing
        assert sum(one.option == truth[one.revision_id] for one in stored) == n_right
        letters = expected(shared_data)[name]
        assert {keys[one.revision.question_id]: one.option for one in stored} | dict.fromkeys(
            result["missing"], ""
        ) == {key: letter for key, letter in letters.items() if key not in result["unknown"]}


def test_different_answers_to_one_question_refuse_model_b(shared_data: Path) -> None:
    run_import(shared_data / "rexvqa_sample.json", bank="Sample")
    path = str(shared_data / "predictions/model_b_direct_prompt_results.jsonl")
    result, sentence = refused(path, "--model", "B", "--bank", "sample")
    assert "--duplicates" in sentence
    assert (result["stored"], [error["row"] for error in result["errors"]]) == (0, [125])
    assert result["unknown"] == ["unknown-question-1"]
    assert not Prediction.objects.exists()


def test_hostile_files_behave_as_their_row_says(shared_data: Path) -> None:
    keyed_bank(2)
    with (shared_data / "hostile/MANIFEST.csv").open() as file:
        rows = {row["file"]: row["expect"] for row in csv.DictReader(file) if row["kind"] == "predictions"}
    assert len(rows) == 4
    for name, expect in rows.items():
        arguments = (str(shared_data / "hostile" / name), "--model", name, "--bank", "bank")
        if expect == "reject":
            assert refused(*arguments)[0]["errors"][0]["row"] > 0
            assert not ModelEntry.objects.filter(name=name).exists()
        else:
            assert told(*arguments)["stored"] > 0
