"""The split with which a question came in: read, kept over later imports, shown, exported, and taken by a release."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.enums import ImageState, Role, Split
from annotation.exports.bank_contents import BankForm
from annotation.exports.release_files import files_of
from annotation.exports.releases import ReleaseWanted, plan_release, release
from annotation.models import AuditEvent, Exam, Image, Question, QuestionBank, Release, Revision, User
from annotation.models.people import TokenScope
from annotation.questionbank.kernels.records import split_of_file
from annotation.questionbank.validity import set_gate
from annotation.tables.writing import ExportRefused
from tests.annotation.api.asking import program_of
from tests.annotation.exports.test_bank_export import export
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.pages import markup
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def splits(bank: str = "Bank") -> dict[int, str]:
    return dict(Question.objects.filter(bank__name=bank).values_list("number", "split"))


def bring(folder: Path, name: str, *numbers: int, bank: str = "Bank", **changes: Any) -> None:
    records = {f"q{n}": make_record(n, exam=n, **changes) for n in numbers}
    assert run_import(write_file(folder, records, name), bank=bank).stored


@pytest.mark.parametrize(
    ("name", "folder", "split"),
    [
        ("train_vqa_data.json", "", "train"),
        ("Valid_VQA_data.json", "metadata", "valid"),
        ("private_vqa_data.jsonl", "", "private"),
        ("test_questions.json", "metadata", "test"),
        ("test.csv", "Metadata", "test"),
        ("test_questions.json", "", ""),
        ("training_vqa_data.json", "metadata", ""),
        ("questions_train.json", "metadata", ""),
    ],
)
def test_the_name_of_a_file_says_it_where_the_release_names_it_so(name: str, folder: str, split: str) -> None:
    assert split_of_file(name, folder) == split


def test_files_of_a_release_bring_each_question_with_its_split_and_move_it_later(tmp_path: Path) -> None:
    bring(tmp_path, "train_vqa_data.json", 1, 2)
    bring(tmp_path, "test_vqa_data.json", 3)
    bring(tmp_path, "questions.json", 4)
    brought = {1: "train", 2: "train", 3: "test", 4: ""}
    assert splits() == brought
    bring(tmp_path, "questions.json", 1, 2)
    records = {"q1": make_record(1), "q2": make_record(2, options=["A. one"])}
    assert not run_import(write_file(tmp_path, records, "test_vqa_data.json")).stored
    assert not run_import(write_file(tmp_path, {"q1": make_record(1)}, "test_vqa_data.json"), dry_run=True).stored
    assert splits() == brought, "neither a file without a split moves a question nor one that is refused or only tried"
    bring(tmp_path, "test_vqa_data.json", 2)
    assert splits() == {**brought, 2: "test"}
    assert Revision.objects.count() == 4, "the wording is the same: nothing has to be reviewed again"
    assert AuditEvent.objects.filter(act="bank.imported").latest("pk").facts["splits_set"] == {"test": 1}


def test_a_field_of_the_record_says_it_before_the_name_of_its_file(tmp_path: Path) -> None:
    told = {"q1": "Validation", "q2": "private", "q3": "fold-3", "q4": 7}
    records = {key: make_record(n, exam=n, split=told[key]) for n, key in enumerate(told, start=1)}
    run_import(write_file(tmp_path, records, "train_vqa_data.json"))
    assert splits() == {1: "valid", 2: "private", 3: "train", 4: "train"}
    written = json.loads(export(tmp_path / "out"))
    assert {key: one["split"] for key, one in written.items()} == told, "the field itself stays as it was"


@pytest.mark.parametrize("form", [BankForm.REXVQA, BankForm.JSONL, BankForm.CSV])
def test_an_export_says_it_and_brings_it_in_again(tmp_path: Path, form: BankForm) -> None:
    bring(tmp_path, "train_vqa_data.json", 1, 2)
    bring(tmp_path, "questions.json", 3)
    export(tmp_path / "out", form)
    assert run_import(tmp_path / "out" / form.file_name, bank="Again").stored
    assert splits("Again") == splits() == {1: "train", 2: "train", 3: ""}
    assert run_import(tmp_path / "out" / form.file_name).counts.unchanged == 3


def test_another_word_in_the_field_of_the_export_is_refused(tmp_path: Path) -> None:
    result = run_import(write_file(tmp_path, {"q1": make_record(imported_split="fold-3")}))
    assert [(one.field, one.code) for one in result.errors] == [("imported_split", "format")]
    assert "train, valid, test, private" in result.errors[0].message


def test_it_is_shown_counted_and_filtered_by(tmp_path: Path, coordinator: Client, cora: User) -> None:
    bring(tmp_path, "train_vqa_data.json", 1, 2)
    bring(tmp_path, "test_vqa_data.json", 3)
    page = coordinator.get(reverse("bank", args=["bank"]))
    assert [(split, n) for split, _label, n in page.context["splits"]] == [("train", 2), ("test", 1)]
    assert "?split=train" in markup(page)
    found = coordinator.get(reverse("bank", args=["bank"]), {"split": "test"})
    assert [one.number for one in found.context["rows"]] == [3]
    assert "Split as imported" in markup(coordinator.get(reverse("question", args=["bank", 3])))
    program = program_of(cora, Role.COORDINATOR, TokenScope.BANK, "bank")
    results = program.get("banks/bank/questions/?split=train").json()["results"]
    assert [(one["number"], one["split"]) for one in results] == [(1, "train"), (2, "train")]


# --- in place of drawing ---
@pytest.fixture
def chest(tmp_path: Path, noon: datetime) -> QuestionBank:
    """Two train questions of one patient, one of another, and a test question, with their images."""
    bring(tmp_path, "train_vqa_data.json", 1, 2, PatientID="one", bank="Chest")
    bring(tmp_path, "train_vqa_data.json", 3, bank="Chest")
    bring(tmp_path, "test_vqa_data.json", 4, bank="Chest")
    Image.objects.update(state=ImageState.AVAILABLE)
    bank = QuestionBank.objects.get()
    set_gate(bank, ["identifiers"], actor=None, at=noon)
    return bank


def wanted(bank: QuestionBank, name: str = "First", *, as_imported: bool = True) -> ReleaseWanted:
    return ReleaseWanted(bank, name, dict.fromkeys(Split, 0) | {Split.VALID: 100}, as_imported=as_imported)


def test_a_release_takes_the_splits_as_they_came_in(chest: QuestionBank, noon: datetime) -> None:
    made = release(wanted(chest), actor=None, at=noon)
    assert {split: one["questions"] for split, one in made.counts.items()} == {
        **dict.fromkeys(("valid", "private"), 0),
        "train": 3,
        "test": 1,
    }
    assert made.shares == {}
    assert b"splits: as the questions were imported" in dict(files_of(made))["README.md"]


def test_splits_that_do_not_hold_are_refused_and_named(chest: QuestionBank, noon: datetime) -> None:
    def refused(told: str, name: str = "First") -> None:
        with refuses(ExportRefused, "splits", match=told):
            release(wanted(chest, name), actor=None, at=noon)

    Question.objects.filter(number=2).update(split="test")
    refused("Questions 1, 2 .* one patient .*: 1")
    assert not Release.objects.exists()
    assert plan_release(wanted(chest, as_imported=False)).questions == {Split.VALID: 4}
    Question.objects.filter(number=2).update(split="train")
    Question.objects.filter(number=3).update(split="")
    refused("Question 3 came in without a split")
    Question.objects.filter(number=3).update(split="train")
    release(wanted(chest, as_imported=False), actor=None, at=noon)
    refused("came in as train, and its patient was released as valid", "Second")


def test_an_exam_shown_beside_one_of_another_split_is_of_the_same_patient(chest: QuestionBank, noon: datetime) -> None:
    first, last = Exam.objects.get(questions__number=3), Exam.objects.get(questions__number=4)
    Exam.objects.filter(pk__in=(first.pk, last.pk)).update(patient_pseudonym="")
    Exam.objects.filter(pk=last.pk).update(prior=first)
    with refuses(ExportRefused, "splits", match="Questions 3, 4"):
        release(wanted(chest), actor=None, at=noon)


def test_page_and_api_take_them_over(chest: QuestionBank, coordinator: Client, cora: User) -> None:
    asked = {"name": "First", "train": 70, "valid": 10, "test": 10, "private": 10, "seed": 0, "as_imported": True}
    program = program_of(cora, Role.COORDINATOR, TokenScope.BANK, chest.slug)
    assert program.post("banks/chest/releases/plan/", asked).json()["questions"]["train"] == 3
    coordinator.post(reverse("bank-releases", args=[chest.slug]), {**asked, "confirmed": "yes"})
    assert Release.objects.get().counts["train"] == {"questions": 3, "patients": 2}
