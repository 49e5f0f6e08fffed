"""An earlier exam that a question file names: linked when it is there, for exams of one patient only."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.enums import ImageState
from annotation.models import AnswerKey, Exam, Image, QuestionBank, Revision, SourceIdentifier
from annotation.questionbank.bank_life import delete_bank_job
from annotation.questionbank.importing import ImportResult
from annotation.questionbank.matchings import COLUMNS
from tests.annotation.questionbank.files import NOON, make_record, run_import, write_file

pytestmark = pytest.mark.django_db


def record(number: int, exam: int, patient: str = "one", **changes: Any) -> dict[str, Any]:
    return make_record(number, exam, PatientID=patient, **changes)


def bring(folder: Path, records: dict[str, Any], **options: Any) -> ImportResult:
    return run_import(write_file(folder, records), **options)


def links() -> dict[str, str]:
    """The number of each exam that has a prior, and of its prior."""
    keys = dict(SourceIdentifier.objects.filter(kind="exam_key").values_list("exam_id", "value"))
    named = Exam.objects.filter(prior__isnull=False).values_list("pk", "prior_id")
    return {keys[pk].removeprefix("study-"): keys[prior].removeprefix("study-") for pk, prior in named}


@pytest.mark.parametrize("order", [("q1", "q2"), ("q2", "q1")])
def test_the_prior_is_linked_wherever_it_stands_in_the_file(tmp_path: Path, order: tuple[str, str]) -> None:
    records = {"q1": record(1, 1), "q2": record(2, 2, prior_study="study-1")}
    result = bring(tmp_path, {name: records[name] for name in order})
    assert result.stored
    assert links() == {"2": "1"}
    assert "priors_missing" not in result.as_json()
    kept = (json.loads(extra) for extra in AnswerKey.objects.values_list("extra", flat=True))
    assert not any("prior_study" in str([one["exam"], one["fields"], one["form"]]) for one in kept)


def test_a_table_names_it_in_a_column(tmp_path: Path) -> None:
    names = [column.name for column in COLUMNS]
    text = io.StringIO()
    rows = csv.DictWriter(text, names)
    rows.writeheader()
    for number, prior in ((1, ""), (2, "study-1")):
        made = record(number, number)
        options = {f"option_{letter}": made["options"]["abcd".index(letter)] for letter in "abcd"}
        made |= {"id": f"q{number}", "prior_study": prior, "ImagePath": f"{number}/pa.png", **options}
        rows.writerow({name: made.get(name, "") for name in names} | {"ImageViewPosition": "PA"})
    path = tmp_path / "questions.csv"
    path.write_text(text.getvalue(), encoding="utf-8")
    assert run_import(path).stored
    assert links() == {"2": "1"}


def test_a_prior_that_is_missing_is_counted_and_found_by_a_later_import(tmp_path: Path) -> None:
    result = bring(tmp_path, {"q2": record(2, 2, prior_study="study-1")})
    assert result.as_json()["priors_missing"] == 1
    assert links() == {}
    result = bring(tmp_path, {"q1": record(1, 1)})
    assert "priors_missing" not in result.as_json()
    assert links() == {"2": "1"}


def test_an_exam_of_another_patient_or_bank_is_never_a_prior(tmp_path: Path) -> None:
    bring(tmp_path, {"q1": record(1, 1)}, bank="Other bank")
    bring(tmp_path, {"q3": record(3, 3, patient="somebody else")})
    named = {"q2": record(2, 2, prior_study="study-1"), "q4": record(4, 4, prior_study="study-3")}
    told = bring(tmp_path, named).as_json()
    assert (told["priors_missing"], told["priors_of_other_patients"]) == (1, 1)
    assert links() == {}


def test_a_prior_is_linked_only_where_both_patients_are_known_or_neither_is(tmp_path: Path) -> None:
    """An exam keeps the patient that it was first stored with: none here, whatever a later file says."""
    bring(tmp_path, {"q1": record(1, 1), "q2": record(2, 2, patient="")})
    told = bring(tmp_path, {"q2": record(2, 2, patient="somebody else", prior_study="study-1")}).as_json()
    assert told["priors_of_unknown_patients"] == 1
    assert "priors_of_other_patients" not in told
    assert links() == {}
    told = bring(tmp_path, {"q3": record(3, 3, patient="", prior_study="study-2")}).as_json()
    assert told["priors_of_unknown_patients"] == 1  # still the one from before
    assert links() == {"3": "2"}


def test_exams_that_come_before_each_other_are_no_priors(tmp_path: Path) -> None:
    """Two that name each other, and three in a circle; what leads into a circle has its prior."""
    named = {1: 2, 2: 1, 3: 4, 4: 5, 5: 3, 6: 1}
    records = {f"q{exam}": record(exam, exam, prior_study=f"study-{prior}") for exam, prior in named.items()}
    bring(tmp_path, {name: records[name] for name in ("q1", "q3", "q4")} | {"q2": record(2, 2)})
    assert links() == {"1": "2", "3": "4"}  # nothing comes back yet
    told = bring(tmp_path, records).as_json()
    assert told["priors_in_a_circle"] == 5
    assert links() == {"6": "1"}
    told = bring(tmp_path, {"q2": record(2, 2, prior_study="study-7"), "q7": record(7, 7)}).as_json()
    assert told["priors_in_a_circle"] == 3
    assert links() == {"1": "2", "2": "7", "6": "1"}


def test_the_prior_that_is_named_last_counts_and_no_name_changes_nothing(tmp_path: Path) -> None:
    exams = {"q1": record(1, 1), "q2": record(2, 2)}
    bring(tmp_path, {**exams, "q3": record(3, 3, prior_study="study-1")})
    again = bring(tmp_path, {"q3": record(3, 3, prior_study="study-1")})
    assert again.counts.unchanged == 1
    bring(tmp_path, {"q3": record(3, 3, prior_study="study-2")})
    assert links() == {"3": "2"}
    bring(tmp_path, {"q3": record(3, 3, question="Worded anew, without a prior?")})
    assert links() == {"3": "2"}


def test_what_is_no_prior_is_refused_with_its_field(tmp_path: Path) -> None:
    values = {"study-1": "format", ("study-2",): "data_type", True: "data_type", "x" * 1001: "too_long"}
    for value, code in values.items():
        result = bring(tmp_path, {"q1": record(1, 1, prior_study=value)})
        assert not result.stored
        assert [one[:3] for one in result.errors] == [("q1", "prior_study", code)], value


@pytest.mark.parametrize("none", [..., None, "", "  "])
def test_without_a_prior_a_question_is_what_it_was(tmp_path: Path, none: object) -> None:
    """The hash by which an import knows a question that it has is the one of before there were priors."""
    with CaptureQueriesContext(connection) as queries:
        bring(tmp_path, {"q1": record(1, 1, prior_study=none)})
    assert len([query for query in queries if "prior_exam" in query["sql"]]) == 1, "priors are asked for once"
    [revision] = Revision.objects.all()
    assert revision.content_sha256 == "f5312df18775860ac08f1ca13725b0c7248f0264bedf924dca5fdd717b9da946"
    assert not SourceIdentifier.objects.filter(kind="prior_exam").exists()


def test_the_page_of_a_question_shows_the_prior_apart_and_its_bank_can_be_deleted(
    tmp_path: Path, coordinator: Client
) -> None:
    bring(tmp_path, {"q1": record(1, 1), "q2": record(2, 2, prior_study="study-1")})
    Image.objects.filter(exam__later_exams__isnull=False, position=0).update(
        state=ImageState.REMOVED, state_reason="a name stood on it"
    )
    assert "Prior exam" not in coordinator.get("/banks/bank/1/").content.decode()
    page = coordinator.get("/banks/bank/2/")
    text = page.content.decode()
    assert text.index("Prior exam") < text.index("a name stood on it")
    assert (len(page.context["images"]), len(page.context["prior_images"])) == (2, 2)
    assert "study-1" not in text
    bank = QuestionBank.objects.get()
    Image.objects.update(state=ImageState.PENDING)
    QuestionBank.objects.update(deleted_at=NOON)
    delete_bank_job(lambda *_told: None, {"bank": bank.pk})  # type: ignore[arg-type]
    assert not Exam.objects.exists()
    assert not SourceIdentifier.objects.exists()


def test_the_report_of_an_import_says_what_to_do(tmp_path: Path) -> None:
    from django.template.loader import render_to_string

    counted = {"priors_missing": 1, "priors_of_unknown_patients": 1, "priors_in_a_circle": 2}
    context = {"job": {"state": "succeeded"}, "stored": True, "result": {"read": 1, **counted}}
    upload = {"public_id": "a" * 16}
    text = render_to_string("annotation/bank/_import.html", {**context, "upload": upload})
    assert "names a prior exam (prior_study) that is not in the bank" in text
    assert "1 exam names a prior, and of only one of the two the patient (PatientID) is known" in text
    assert "2 exams name each other as their prior" in text
