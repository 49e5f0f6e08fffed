"""Files, samples and images over the API: asynchronous, made once for each key, within the reach of a token."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from annotation.enums import ImageState, JobState, Role
from annotation.models import (
    AuditEvent,
    ColumnMatching,
    Image,
    Job,
    KeptAnswer,
    Question,
    QuestionBank,
    Rendition,
    SamplingPlan,
    Upload,
    User,
)
from annotation.models.people import TokenScope
from tests.annotation.api.asking import V1, Program, problem_of, program_of, send_json
from tests.annotation.api.schema import faults_of
from tests.annotation.questionbank.sheets import SHEET, SHEET_MATCHING
from tests.annotation.review.cases import make_bank, make_revision, make_revisions
from tests.annotation.review.pixels import give_pixels
from tests.conftest import NOON, make_person
from tests.jobs import work


@pytest.fixture
def bank(db: None) -> QuestionBank:
    bank = make_bank("Chest")
    make_revisions(bank, {number: {"task": ("presence", "negation")[number % 2]} for number in range(1, 21)})
    return bank


@pytest.fixture
def script(cora: User, bank: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)


def send(script: Program, address: str, fields: dict[str, Any], **headers: str) -> Any:
    sent = {"authorization": f"Bearer {script.token}", **{n.replace("_", "-"): v for n, v in headers.items()}}
    answer = Client(raise_request_exception=False).post(V1 + address, fields, headers=sent)
    assert (faults := faults_of("POST", V1 + address, answer)) == [], faults
    return answer


def questions() -> SimpleUploadedFile:
    record = {"question": "Is there a mass?", "options": {}, "correct_answer": "A"}
    return SimpleUploadedFile("more.json", json.dumps({"q1": record}).encode())


# --- samples --------------------------------------------------------------------------------------
def test_a_sample_is_drawn_once_for_each_key(script: Program, cora: User) -> None:
    asked = {"bank": "chest", "name": "First", "by": "task", "per_thousand": 500, "seed": 7}
    first = script.post("samples/", asked, idempotency_key="k1")
    assert first.status_code == 201
    assert first.json()["n_drawn"] == 10
    again = script.post("samples/", asked, idempotency_key="k1")
    assert (again.status_code, again.json(), again["Location"]) == (201, first.json(), first["Location"])
    assert again["Idempotent-Replayed"] == "true"
    assert SamplingPlan.objects.count() == 1
    assert AuditEvent.objects.get(act="sample.drawn").actor == cora
    problem_of(script.post("samples/", asked | {"seed": 8}, idempotency_key="k1"), 422, "key_reused")
    problem_of(script.post("samples/", asked, idempotency_key=""), 400, "bad_key")
    problem_of(script.post("samples/", asked), 409, "name_taken")
    assert script.get(first["Location"]).json() == first.json()
    drawn = script.get(f"{first['Location']}questions/?fields=position,number").json()["results"]
    assert [one["position"] for one in drawn] == list(range(1, 11))


def test_a_refusal_is_not_kept(script: Program) -> None:
    asked = {"bank": "chest", "name": "First", "filters": {"task": "location"}}
    problem_of(script.post("samples/", asked, idempotency_key="k"), 422, "no_questions")
    assert not KeptAnswer.objects.exists()
    assert script.post("samples/", asked | {"filters": {}}, idempotency_key="k").status_code == 201


def test_a_key_is_that_of_its_caller(script: Program, bank: QuestionBank) -> None:
    other = program_of(make_person("Cleo", Role.COORDINATOR), Role.COORDINATOR, TokenScope.BANK, bank.slug)
    assert script.post("samples/", {"bank": "chest", "name": "A"}, idempotency_key="k").status_code == 201
    assert other.post("samples/", {"bank": "chest", "name": "B"}, idempotency_key="k").status_code == 201


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"per_thousand": 0}, "per_thousand"),
    ({"per_thousand": "many"}, "per_thousand"),
    ({"by": "colour"}, "by"),
    ({"seed": -1}, "seed"),
    ({"filters": {"colour": "red"}}, "filters.colour"),
    ({"filters": {"task": "dance"}}, "filters.task"),
    ({"size": 3}, "size"),
]


def test_nonsense_in_a_sample_is_named(script: Program) -> None:
    for wrong, field in WRONG:
        told = problem_of(script.post("samples/", {"bank": "chest", **wrong}), 422, "invalid")
        assert [error["field"] for error in told["errors"]] == [field]
    assert not SamplingPlan.objects.exists()


def test_a_sample_of_another_bank_is_not_there(script: Program) -> None:
    make_revisions(make_bank("Other"), {1: {}})
    problem_of(script.post("samples/", {"bank": "other"}), 404, "not_found")
    assert not SamplingPlan.objects.exists()


def test_a_sample_is_put_away_and_brought_back(script: Program) -> None:
    address = script.post("samples/", {"bank": "chest", "name": "First"})["Location"]
    assert script.post(f"{address}archive/").json()["archived_at"]
    assert script.get("samples/?archived=false").json()["results"] == []
    assert script.post(f"{address}bring-back/").json()["archived_at"] is None


# --- question files -------------------------------------------------------------------------------
def test_a_question_file_is_checked_by_a_job(
    script: Program, settings: Settings, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    answer = send(script, "banks/chest/imports/", {"file": questions()}, idempotency_key="k")
    assert answer.status_code == 202
    again = send(script, "banks/chest/imports/", {"file": questions()}, idempotency_key="k")
    assert again.json() == answer.json()
    assert Upload.objects.count() == 1
    told = script.get(answer["Location"]).json()
    assert (told["state"], told["bank"], told["file"], told["is_stored"]) == ("queued", "Chest", "more.json", False)
    problem_of(script.post(f"{answer['Location']}store/", {}), 409, "not_checked")
    Job.objects.update(state=JobState.SUCCEEDED, result={"n_errors": 0, "read": 1, "errors": []})
    assert script.post(f"{answer['Location']}store/", {}).status_code == 202
    assert script.get(answer["Location"]).json()["state"] == "queued"
    assert [job.kind for job in Job.objects.order_by("pk")] == ["check_questions", "store_questions"]
    assert len(script.get("banks/chest/imports/").json()["results"]) == 1


def test_an_archived_bank_takes_no_file(script: Program) -> None:
    script.post("banks/chest/archive/")
    problem_of(send(script, "banks/chest/imports/", {"file": questions()}), 409, "bank_archived")
    assert not Upload.objects.exists()


def test_a_file_is_asked_for(script: Program) -> None:
    told = problem_of(send(script, "banks/chest/imports/", {"colour": "red"}), 422, "invalid")
    assert {error["field"] for error in told["errors"]} == {"colour"}
    problem_of(script.post("banks/chest/imports/", {"file": "x"}), 415, "unsupported_media_type")


# --- images ---------------------------------------------------------------------------------------
def test_images_are_taken_by_a_job(script: Program) -> None:
    fields = {"bank": "chest", "files": [SimpleUploadedFile("a.png", b"x"), SimpleUploadedFile("b.png", b"y")]}
    answer = send(script, "uploads/", fields)
    assert answer.status_code == 202
    told = script.get(answer["Location"]).json()
    assert (told["n_files"], told["state"], told["bank"]) == (2, "queued", "chest")
    same = {"bank": "chest", "files": [SimpleUploadedFile("a.png", b"x"), SimpleUploadedFile("A.png", b"y")]}
    problem_of(send(script, "uploads/", same), 422, "same_name")
    problem_of(send(script, "uploads/", {"bank": "chest"}), 422, "invalid")
    assert Upload.objects.count() == 1


def test_several_files_are_taken_once_for_each_key(script: Program) -> None:
    def both(second: bytes = b"y") -> dict[str, Any]:
        return {"bank": "chest", "files": [SimpleUploadedFile("b.png", b"x"), SimpleUploadedFile("a.png", second)]}

    first = send(script, "uploads/", both(), idempotency_key="k")
    assert (first.status_code, first.json()["n_files"]) == (202, 2)
    assert send(script, "uploads/", both(), idempotency_key="k").json() == first.json()
    problem_of(send(script, "uploads/", both(b"z"), idempotency_key="k"), 422, "key_reused")
    assert Upload.objects.count() == 1


def test_an_upload_that_failed_says_why(script: Program) -> None:
    place = send(script, "uploads/", {"bank": "chest", "files": [SimpleUploadedFile("a.png", b"x")]})["Location"]
    Job.objects.update(state=JobState.FAILED, error="The files are no longer kept.")
    assert script.get(place).json()["error"] == "The files are no longer kept."


def test_more_than_a_form_holds_is_read_for_a_token_alone(script: Program) -> None:
    large = {"bank": "chest", "files": [SimpleUploadedFile("a.png", b"x" * (6 * 1024 * 1024))]}
    assert send(script, "uploads/", large).status_code == 202
    large["files"] = [SimpleUploadedFile("a.png", b"x" * (6 * 1024 * 1024))]
    problem_of(Client().post(f"{V1}uploads/", large), 413, "too_large")
    large["files"] = [SimpleUploadedFile("a.png", b"x" * (6 * 1024 * 1024))]
    stranger = Program("rexvqa_" + "a" * 12 + "_" + "b" * 43)
    problem_of(send(stranger, "uploads/", large), 401, "token_unknown")


def test_pixels_are_for_whom_the_pages_show_them(script: Program, bank: QuestionBank) -> None:
    image = Image.objects.filter(exam__bank=bank).first()
    assert image
    give_pixels(image, seed=1, shape=(24, 20))
    told = script.get(f"images/{image.public_id}/").json()
    assert set(told["renditions"]) == {"preview", "full"}
    answer = script.get(told["renditions"]["preview"])
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("image/")
    name = Rendition.objects.first()
    assert name
    make_revisions(make_bank("Other"), {1: {}})
    other = program_of(User.objects.get(name="Cora"), Role.COORDINATOR, TokenScope.BANK, "other")
    problem_of(other.get(f"renditions/{name.name}/"), 404, "not_found")
    assert len(other.get("images/").json()["results"]) == Image.objects.filter(exam__bank__slug="other").count()


def test_exams_tell_nothing_of_their_source(script: Program) -> None:
    (exam, *_rest) = script.get("exams/?limit=1").json()["results"]
    assert set(exam) == {"id", "bank", "age_years", "sex", "prior", "images"}
    assert script.get(f"exams/{exam['id']}/").json() == exam


def test_few_queries(script: Program, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    script.post("samples/", {"bank": "chest", "name": "First"})
    send(script, "banks/chest/imports/", {"file": questions()})
    lists = ("exams/", "images/", "samples/", "samples/first/", "samples/first/questions/", "uploads/")
    for address in (*lists, "banks/chest/imports/"):
        with django_assert_max_num_queries(12):
            assert script.get(address).status_code == 200


# --- over the API columns of a foreign file are matched and matchings kept; uploads and images are put in order ---
IMPORTS = "banks/chest/imports/"
SENT = {name: value for name, value in SHEET_MATCHING.as_json().items() if name != "words"}


@pytest.fixture
def empty(own_home: None, db: None) -> QuestionBank:
    return make_bank("Chest")


@pytest.fixture
def importer(cora: User, empty: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")


@pytest.fixture
def waiting(importer: Program) -> str:
    """The address of a file that waits for its columns."""
    made = send(importer, IMPORTS, {"file": SimpleUploadedFile("sheet.csv", SHEET)})
    assert (made.status_code, made.json()["waits_for_columns"]) == (202, True)
    return str(made["Location"])


def test_columns_are_read_matched_checked_and_stored(importer: Program, waiting: str) -> None:
    answer = importer.get(f"{waiting}columns/")
    told = answer.json()
    assert told["columns"] == SHEET.decode().partition("\n")[0].split(",")
    assert told["offered"]["columns"]["question"] == "Stem"
    assert b"Which finding" not in answer.content  # no cell: they hold keys
    matched = importer.post(f"{waiting}match/", SENT, idempotency_key="one")
    assert (matched.status_code, matched["Location"]) == (202, waiting)
    assert importer.post(f"{waiting}match/", SENT, idempotency_key="one").json() == matched.json()
    work()
    assert importer.get(waiting).json()["state"] == "succeeded"
    importer.post(f"{waiting}store/", {})
    work()
    assert Question.objects.count() == 2
    problem_of(importer.get(f"{waiting}columns/"), 409, "stored")
    problem_of(importer.post(f"{waiting}match/", SENT), 409, "stored")
    [kept] = importer.get("column-matchings/").json()["results"]
    assert (kept["name"], kept["matching"]["key_form"]) == ("sheet", SENT["key_form"])


WRONG_MATCHINGS: list[tuple[dict[str, Any], str]] = [
    ({"columns": {"colour": "Stem"}}, "invalid"),
    ({"columns": {**SENT["columns"], "question": "Stern"}}, "invalid"),
    ({"constants": {"question": "x"}}, "invalid"),
    ({"key_form": "x"}, "invalid"),
    ({"name": " "}, "invalid"),
    ({"columns": {"question": "Stem"}}, "matching"),
    ({"key_form": ""}, "matching"),
]


def test_a_matching_that_cannot_be_is_refused(importer: Program, waiting: str) -> None:
    for wrong, code in WRONG_MATCHINGS:
        problem_of(importer.post(f"{waiting}match/", {**SENT, **wrong}), 422, code)
    assert not Job.objects.exists()
    assert not ColumnMatching.objects.exists()


def test_only_who_sent_a_file_reads_and_matches_its_columns(importer: Program, waiting: str) -> None:
    other = program_of(make_person("Coco", Role.COORDINATOR), Role.COORDINATOR, TokenScope.BANK, "chest")
    assert other.get(waiting).status_code == 200
    problem_of(other.get(f"{waiting}columns/"), 404, "not_found")
    problem_of(other.post(f"{waiting}match/", SENT), 404, "not_found")


def test_kept_matchings_are_renamed_and_deleted(importer: Program, cora: User) -> None:
    for name in ("sheet", "other"):
        given = {"columns": ["a"], "matching": SHEET_MATCHING.as_json(), "created_by": cora}
        ColumnMatching.objects.create(name=name, created_at=NOON, changed_at=NOON, **given)
    one = f"column-matchings/{ColumnMatching.objects.get(name='sheet').pk}/"
    for act in ("rename", "delete"):
        problem_of(importer.post(f"{one}{act}/", {"name": "sheet"}), 403, "forbidden")  # all banks share it
    problem_of(send_json(cora, f"{one}rename/", {"name": "other"}), 422, "name_taken")
    assert send_json(cora, f"{one}rename/", {"name": "Atlas"}).json()["matching"]["name"] == "Atlas"
    problem_of(send_json(cora, f"{one}delete/", {"name": "sheet"}), 409, "not_confirmed")
    assert send_json(cora, f"{one}delete/", {"name": "Atlas"}).status_code == 200
    assert [kept.name for kept in ColumnMatching.objects.all()] == ["other"]
    assert AuditEvent.objects.filter(act="matching.deleted").exists()
    problem_of(importer.get(one), 404, "not_found")


def test_an_upload_is_archived(importer: Program, empty: QuestionBank) -> None:
    png = SimpleUploadedFile("a.png", b"\x89PNG")
    made = send(importer, "uploads/", {"files": [png], "bank": "chest"})
    archive = f"{made['Location']}archive/"
    Job.objects.update(state=JobState.RUNNING)
    problem_of(importer.post(archive), 409, "upload_in_use")
    Job.objects.update(state=JobState.FAILED)
    assert importer.post(archive).json()["archived_at"] is not None
    assert Upload.objects.get().archived_at is not None


def test_an_image_is_credited_described_and_taken_out_of_sight(importer: Program, empty: QuestionBank) -> None:
    make_revision(empty, 1)
    image = Image.objects.all()[0]
    one = f"images/{image.public_id}/"
    etag = importer.get(one)["ETag"]
    credits = {"attribution": "Dr. A. Nonymous", "licence": "CC BY 4.0"}
    assert importer.post(f"{one}credits/", credits).json()["licence"] == "CC BY 4.0"
    problem_of(importer.post(f"{one}credits/", credits, if_match=etag), 412, "changed_since")
    assert importer.post(f"{one}view/", {"view_position": "AP", "laterality": "L"}).json()["view_position"] == "AP"
    problem_of(importer.post(f"{one}view/", {"view_position": "upside"}), 422, "invalid")
    assert importer.post(f"{one}quarantine/", {"reason": "A name is seen."}).status_code == 409  # it has no pixels
    Image.objects.update(state=ImageState.AVAILABLE)
    assert importer.post(f"{one}quarantine/", {"reason": "A name is seen."}).json()["state"] == "quarantined"
    problem_of(importer.post(f"{one}quarantine/", {"reason": " "}), 422, "invalid")
    make_revision(make_bank("Other"), 1)
    elsewhere = Image.objects.exclude(exam__bank=empty)[0]
    for act, sent in (("credits", credits), ("quarantine", {"reason": "No."}), ("view", {"view_position": "AP"})):
        problem_of(importer.post(f"images/{elsewhere.public_id}/{act}/", sent), 404, "not_found")
