"""Over the API columns of a foreign file are matched and matchings kept; uploads and images are put in order."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.enums import ImageState, JobState, Role
from annotation.models import AuditEvent, ColumnMatching, Image, Job, Question, QuestionBank, Upload, User
from annotation.models.people import TokenScope
from tests.annotation.api.asking import Program, problem_of, program_of, send_json
from tests.annotation.api.test_incoming import send
from tests.annotation.questionbank.sheets import SHEET, SHEET_MATCHING
from tests.annotation.review.cases import make_bank, make_revision
from tests.conftest import NOON, make_person
from tests.jobs import work

pytestmark = pytest.mark.usefixtures("own_home")
IMPORTS = "banks/chest/imports/"
SENT = {name: value for name, value in SHEET_MATCHING.as_json().items() if name != "words"}


@pytest.fixture
def bank(db: None) -> QuestionBank:
    return make_bank("Chest")


@pytest.fixture
def script(cora: User, bank: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")


@pytest.fixture
def waiting(script: Program) -> str:
    """The address of a file that waits for its columns."""
    made = send(script, IMPORTS, {"file": SimpleUploadedFile("sheet.csv", SHEET)})
    assert (made.status_code, made.json()["waits_for_columns"]) == (202, True)
    return str(made["Location"])


def test_columns_are_read_matched_checked_and_stored(script: Program, waiting: str) -> None:
    answer = script.get(f"{waiting}columns/")
    told = answer.json()
    assert told["columns"] == SHEET.decode().partition("\n")[0].split(",")
    assert told["offered"]["columns"]["question"] == "Stem"
    assert b"Which finding" not in answer.content  # no cell: they hold keys
    matched = script.post(f"{waiting}match/", SENT, idempotency_key="one")
    assert (matched.status_code, matched["Location"]) == (202, waiting)
    assert script.post(f"{waiting}match/", SENT, idempotency_key="one").json() == matched.json()
    work()
    assert script.get(waiting).json()["state"] == "succeeded"
    script.post(f"{waiting}store/", {})
    work()
    assert Question.objects.count() == 2
    problem_of(script.get(f"{waiting}columns/"), 409, "stored")
    problem_of(script.post(f"{waiting}match/", SENT), 409, "stored")
    [kept] = script.get("column-matchings/").json()["results"]
    assert (kept["name"], kept["matching"]["key_form"]) == ("sheet", SENT["key_form"])


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"columns": {"colour": "Stem"}}, "invalid"),
    ({"columns": {**SENT["columns"], "question": "Stern"}}, "invalid"),
    ({"constants": {"question": "x"}}, "invalid"),
    ({"key_form": "x"}, "invalid"),
    ({"name": " "}, "invalid"),
    ({"columns": {"question": "Stem"}}, "matching"),
    ({"key_form": ""}, "matching"),
]


@pytest.mark.parametrize(("wrong", "code"), WRONG)
def test_a_matching_that_cannot_be_is_refused(script: Program, waiting: str, wrong: dict[str, Any], code: str) -> None:
    problem_of(script.post(f"{waiting}match/", {**SENT, **wrong}), 422, code)
    assert not Job.objects.exists()
    assert not ColumnMatching.objects.exists()


def test_only_who_sent_a_file_reads_and_matches_its_columns(script: Program, waiting: str) -> None:
    other = program_of(make_person("Coco", Role.COORDINATOR), Role.COORDINATOR, TokenScope.BANK, "chest")
    assert other.get(waiting).status_code == 200
    problem_of(other.get(f"{waiting}columns/"), 404, "not_found")
    problem_of(other.post(f"{waiting}match/", SENT), 404, "not_found")


def test_kept_matchings_are_renamed_and_deleted(script: Program, cora: User, rita: User) -> None:
    for name in ("sheet", "other"):
        given = {"columns": ["a"], "matching": SHEET_MATCHING.as_json(), "created_by": cora}
        ColumnMatching.objects.create(name=name, created_at=NOON, changed_at=NOON, **given)
    one = f"column-matchings/{ColumnMatching.objects.get(name='sheet').pk}/"
    for act in ("rename", "delete"):
        problem_of(script.post(f"{one}{act}/", {"name": "sheet"}), 403, "forbidden")  # all banks share it
    problem_of(send_json(cora, f"{one}rename/", {"name": "other"}), 422, "name_taken")
    assert send_json(cora, f"{one}rename/", {"name": "Atlas"}).json()["matching"]["name"] == "Atlas"
    problem_of(send_json(cora, f"{one}delete/", {"name": "sheet"}), 409, "not_confirmed")
    assert send_json(cora, f"{one}delete/", {"name": "Atlas"}).status_code == 200
    assert [kept.name for kept in ColumnMatching.objects.all()] == ["other"]
    assert AuditEvent.objects.filter(act="matching.deleted").exists()
    problem_of(script.get(one), 404, "not_found")
    problem_of(program_of(rita, Role.REVIEWER).get("column-matchings/"), 403, "forbidden")


def test_an_upload_is_archived(script: Program, bank: QuestionBank) -> None:
    png = SimpleUploadedFile("a.png", b"\x89PNG")
    made = send(script, "uploads/", {"files": [png], "bank": "chest"})
    archive = f"{made['Location']}archive/"
    Job.objects.update(state=JobState.RUNNING)
    problem_of(script.post(archive), 409, "upload_in_use")
    Job.objects.update(state=JobState.FAILED)
    assert script.post(archive).json()["archived_at"] is not None
    assert Upload.objects.get().archived_at is not None


def test_an_image_is_credited_described_and_taken_out_of_sight(script: Program, bank: QuestionBank) -> None:
    make_revision(bank, 1)
    image = Image.objects.all()[0]
    one = f"images/{image.public_id}/"
    etag = script.get(one)["ETag"]
    credits = {"attribution": "Dr. A. Nonymous", "licence": "CC BY 4.0"}
    assert script.post(f"{one}credits/", credits).json()["licence"] == "CC BY 4.0"
    problem_of(script.post(f"{one}credits/", credits, if_match=etag), 412, "changed_since")
    assert script.post(f"{one}view/", {"view_position": "AP", "laterality": "L"}).json()["view_position"] == "AP"
    problem_of(script.post(f"{one}view/", {"view_position": "upside"}), 422, "invalid")
    assert script.post(f"{one}quarantine/", {"reason": "A name is seen."}).status_code == 409  # it has no pixels
    Image.objects.update(state=ImageState.AVAILABLE)
    assert script.post(f"{one}quarantine/", {"reason": "A name is seen."}).json()["state"] == "quarantined"
    problem_of(script.post(f"{one}quarantine/", {"reason": " "}), 422, "invalid")
    make_revision(make_bank("Other"), 1)
    elsewhere = Image.objects.exclude(exam__bank=bank)[0]
    for act, sent in (("credits", credits), ("quarantine", {"reason": "No."}), ("view", {"view_position": "AP"})):
        problem_of(script.post(f"images/{elsewhere.public_id}/{act}/", sent), 404, "not_found")
