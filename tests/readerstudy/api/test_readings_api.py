"""Readings that were made elsewhere, sent by a program: all rows of a file or none."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.enums import Role
from annotation.models import User
from annotation.models.people import TokenScope
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy, Response
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.api.test_incoming import send
from tests.readerstudy.studies import make_study

ADDRESS = "studies/trial/import/"
HEADER = "reader,case,option,state\n"
FILE = f"{HEADER}Reader 1,1,B,answered\nReader 1,2,A,answered\n"


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study(state=StudyState.FROZEN)


@pytest.fixture
def script(cora: User, study: ReaderStudy) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.STUDY, "trial")


def csv_file(text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("readings.csv", text.encode())


@pytest.mark.logs("study.responses_imported")
def test_a_file_comes_in_once_for_each_key_and_is_checked_first(script: Program) -> None:
    tried = send(script, ADDRESS, {"file": csv_file(FILE), "dry_run": "true"})
    assert (tried.status_code, tried.json()["created"], tried.json()["stored"]) == (201, 2, False)
    assert not Response.objects.exists()
    made = send(script, ADDRESS, {"file": csv_file(FILE)}, idempotency_key="k")
    assert made.json() == {"read": 2, "created": 2, "unchanged": 0, "readers": ["Reader 1"], "stored": True}
    assert send(script, ADDRESS, {"file": csv_file(FILE)}, idempotency_key="k").json() == made.json()
    again = send(script, ADDRESS, {"file": csv_file(FILE)}).json()
    assert (again["created"], again["unchanged"]) == (0, 2)
    assert Response.objects.count() == 2


def test_one_row_that_is_wrong_and_nothing_is_stored(script: Program) -> None:
    text = f"{FILE}Reader 1,99,A,answered\nReader 2,1,X,answered\n"
    told = problem_of(send(script, ADDRESS, {"file": csv_file(text)}), 422, "rows_refused")
    assert [one["field"] for one in told["errors"]] == ["4.case", "5.option"]
    assert told["facts"] == {"n": 2}
    problem_of(send(script, ADDRESS, {"file": csv_file(FILE), "decided": "yes"}), 422, "invalid")
    ReaderStudy.objects.update(state=StudyState.DRAFT)
    told = problem_of(send(script, ADDRESS, {"file": csv_file(FILE)}), 422, "rows_refused")
    assert "draft" in told["errors"][0]["message"]
    assert not Response.objects.exists()
