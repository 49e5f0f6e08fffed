from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import ImportState, JobState
from annotation.models import AuditEvent, BankImport, Job, Question, QuestionBank, Revision, Upload
from annotation.questionbank.matchings import TEMPLATE_FORMS, template_file
from tests.annotation.files.test_tables import parquet
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.jobs import work, worked

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]

NEW = "/banks/import/"


def json_file(records: dict[str, Any], name: str = "valid.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, json.dumps(records).encode(), "application/json")


def send(client: Client, records: dict[str, Any], **fields: Any) -> str:
    """The address of the import of a sent file."""
    response = client.post(NEW, {"file": json_file(records), "bank": "Chest", **fields})
    assert response.status_code == 302, response.context["form"].errors
    return str(response["Location"])


GOOD = {f"q{n}": make_record(n, exam=n) for n in (1, 2)}
BAD = {**GOOD, "q3": make_record(3, correct_answer="=E")}


def test_check_look_store(coordinator: Client) -> None:
    address = send(coordinator, GOOD, difficulty=SimpleUploadedFile("d.csv", b"id,difficulty\nq1,hard\n"))
    assert "being checked" in coordinator.get(address).content.decode()
    work()
    assert not Question.objects.exists()
    checked = coordinator.get(address)
    assert checked.context["result"]["created"] == 2
    assert [row["act"] for row in checked.context["result"]["rows"]] == ["created", "created"]
    assert "Preview: nothing has been saved." in checked.content.decode()
    coordinator.post(address + "store/")
    work()
    assert Question.objects.count() == 2
    assert Revision.objects.get(question__number=1).difficulty == "hard"
    assert "The questions are in the bank" in coordinator.get(address).content.decode()
    import_row = QuestionBank.objects.get().imports.get()
    assert (import_row.file_name, import_row.actor and import_row.actor.name) == ("valid.json", "Cora")


def test_a_second_store_into_one_bank_waits_its_turn(coordinator: Client) -> None:
    first, second = send(coordinator, GOOD), send(coordinator, {"q9": make_record(9)})
    work()
    coordinator.post(first + "store/")
    work()
    another = BankImport.objects.get()
    BankImport.objects.update(state=ImportState.RUNNING, heartbeat_at=timezone.now())
    coordinator.post(second + "store/")
    work()
    job = Job.objects.latest("pk")
    assert (job.state, job.attempts) == (JobState.QUEUED, 0), job.error
    assert "Another import into the bank 'Chest' is running" in job.message
    BankImport.objects.filter(pk=another.pk).update(state=ImportState.PUBLISHED)
    assert worked(job, at=job.due_at).state == JobState.SUCCEEDED
    assert Question.objects.count() == 3


def test_storing_twice_is_one_job_and_before_the_check_is_over_none(coordinator: Client) -> None:
    address = send(coordinator, GOOD)
    coordinator.post(address + "store/")
    assert not Job.objects.filter(kind="store_questions").exists()
    work()
    for _again in range(2):
        coordinator.post(address + "store/")
    assert Job.objects.filter(kind="store_questions").count() == 1


@pytest.mark.logs("questions.received")
def test_of_a_file_with_refused_records_the_rest_alone_is_stored_by_a_button_of_its_own(coordinator: Client) -> None:
    address = send(coordinator, BAD)
    work()
    response = coordinator.get(address)
    assert not response.context["may_store"]
    assert "key_outside_options" in response.content.decode()
    assert "Store the rest: 2 questions" in response.content.decode()
    coordinator.post(address + "store/")
    work()
    assert not Question.objects.exists()
    coordinator.post(address + "store/", {"skip_refused": "1"})
    work()
    assert Question.objects.count() == 2
    assert "The questions are in the bank" in coordinator.get(address).content.decode()


def test_without_a_refusal_or_without_a_rest_there_is_no_such_button(coordinator: Client) -> None:
    for records in (GOOD, {"q3": BAD["q3"]}, {}):
        address = send(coordinator, records)
        work()
        assert "Store the rest" not in coordinator.get(address).content.decode()
        coordinator.post(address + "store/", {"skip_refused": "1"})
        work()
        assert not Question.objects.exists(), records


@pytest.mark.parametrize("form", TEMPLATE_FORMS)
def test_the_template_is_downloaded_and_comes_in_again(client: Client, coordinator: Client, form: str) -> None:
    template = coordinator.get(f"{NEW}questions.{form}")
    assert template["Content-Disposition"] == f'attachment; filename="questions.{form}"'
    assert f'{NEW}questions.{form}"' in coordinator.get(NEW).content.decode()
    sent = SimpleUploadedFile(f"mine.{form}", template.content)
    address = coordinator.post(NEW, {"file": sent, "bank": "Chest"})["Location"]
    work()
    coordinator.post(address + "store/")
    work()
    assert sorted(Question.objects.values_list("number", flat=True)) == [1, 2]
    assert coordinator.get(f"{NEW}questions.pdf", follow=True).status_code == 404


def test_a_refused_file_says_what_was_found(coordinator: Client) -> None:
    nul = template_file("csv").replace(b"Findings", b"Find\0ings", 1)
    for content, told in ((b"question\nWhat?\n", "Found: question."), (nul, "The text holds a NUL character")):
        sent = SimpleUploadedFile("mine.csv", content)
        address = coordinator.post(NEW, {"file": sent, "bank": "Chest"})["Location"]
        work()
        text = coordinator.get(address).content.decode()
        assert (told in text, "What a question file looks like" in text) == (True, True)
    assert not Question.objects.exists()


def test_the_dry_run_says_new_changed_unchanged_row_by_row(coordinator: Client, tmp_path: Path) -> None:
    run_import(write_file(tmp_path / "old", GOOD), bank="Chest")
    address = send(coordinator, {**GOOD, "q2": make_record(2, exam=2, category="Heart"), "q9": make_record(9, exam=9)})
    work()
    rows = {row["key"]: row["act"] for row in coordinator.get(address).context["result"]["rows"]}
    assert rows == {"q1": "unchanged", "q2": "updated", "q9": "created"}


def test_the_report_as_json_and_csv(coordinator: Client) -> None:
    address = send(coordinator, {"=cmd()": make_record(correct_answer="E")})
    assert coordinator.get(address + "report.json").status_code == 404
    work()
    report = coordinator.get(address + "report.json")
    assert report.json()["errors"][0]["code"] == "key_outside_options"
    assert "attachment" in report["Content-Disposition"]
    file = b"".join(coordinator.get(address + "report.csv"))
    rows = list(csv.DictReader(io.StringIO(file.decode("utf-8-sig"))))
    assert rows[0]["key"] == "'=cmd()"
    assert coordinator.get(address + "report.xml").status_code == 404
    taken = AuditEvent.objects.filter(act="upload.report_taken", subject_id=Upload.objects.get().public_id)
    assert taken.count() == 2


def test_a_path_on_the_server_is_taken_where_its_folder_is_offered(
    coordinator: Client, tmp_path: Path, settings: Settings
) -> None:
    path = write_file(tmp_path / "offered" / "metadata", GOOD)
    outside = write_file(tmp_path / "elsewhere", GOOD)
    assert "path" not in coordinator.get(NEW).context["form"].fields
    assert coordinator.post(NEW, {"path": str(path)}).status_code == 422
    settings.SERVER_FOLDERS = [tmp_path.resolve() / "offered"]
    for refused in (outside, tmp_path / "offered/../elsewhere/questions.json", tmp_path / "offered/missing.json"):
        response = coordinator.post(NEW, {"path": str(refused), "bank": "Chest"})
        assert response.status_code == 422
        assert "path" in response.context["form"].errors
    address = coordinator.post(NEW, {"path": str(path)})["Location"]
    work()
    assert coordinator.get(address).context["asked"]["bank"] == "questions"


def test_bad_input_is_told_and_keeps_nothing(coordinator: Client, settings: Settings) -> None:
    assert coordinator.post(NEW, {"bank": "Chest"}).status_code == 422
    bad_side_file = SimpleUploadedFile("d.csv", b"id,difficulty\nq1,brutal\n")
    response = coordinator.post(NEW, {"file": json_file(GOOD), "difficulty": bad_side_file})
    assert "line 2" in str(response.context["form"].errors["difficulty"])
    settings.UPLOAD_MAX_BYTES = 10
    response = coordinator.post(NEW, {"file": json_file(GOOD)})
    assert response.status_code == 422
    assert "import_questions" in str(response.context["form"].errors["file"])
    assert not Upload.objects.exists()
    assert not (settings.HOME / "question_files").exists()


def test_an_archived_bank_takes_no_import(coordinator: Client, tmp_path: Path) -> None:
    run_import(write_file(tmp_path, GOOD), bank="Chest")
    QuestionBank.objects.update(archived_at=timezone.now())
    response = coordinator.post(NEW, {"file": json_file(GOOD), "bank": "Chest"})
    assert "archived" in str(response.context["form"].errors["bank"])


def test_images_of_uploaded_files_share_one_root_per_bank(coordinator: Client) -> None:
    from annotation.models import SourceIdentifier

    for records in (GOOD, {"q5": make_record(5, exam=5, ImagePath=["../deid_png/5.png"], ImageViewPosition=[])}):
        address = send(coordinator, records)
        work()
        coordinator.post(address + "store/")
        work()
    roots = set(SourceIdentifier.objects.filter(kind="image_path").values_list("root", flat=True))
    assert roots == {"/uploaded/Chest"}
    assert SourceIdentifier.objects.filter(value="deid_png/5.png").exists()


def test_a_fragment_for_htmx_polls_until_it_is_over(coordinator: Client) -> None:
    address = send(coordinator, GOOD)
    fragment = {"HX-Request": "true"}
    assert 'hx-trigger="every 1s"' in coordinator.get(address, headers=fragment).content.decode()
    work()
    text = coordinator.get(address, headers=fragment).content.decode()
    assert text.lstrip().startswith('<div id="import"')
    assert "hx-trigger" not in text


def with_nul(form: str, before: str, after: str) -> bytes:
    """The template in one of the forms that come in, with a text replaced by one that holds a NUL."""
    if form != "parquet":
        written = after if form == "csv" else after.replace("\0", "\\u0000")
        return template_file(form).replace(before.encode(), written.encode(), 1)
    rows = list(csv.DictReader(io.StringIO(template_file("csv").decode("utf-8-sig"))))
    return parquet([{name: cell.replace(before, after) for name, cell in row.items()} for row in rows])


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "json"])
@pytest.mark.parametrize(
    ("before", "after", "key", "field"),
    [
        ("The left costophrenic angle", "The left\0angle", "q-001", "correct_answer_explanation"),
        ("q-001", "q\0-1", "q\ufffd-1", "id"),
    ],
)
def test_a_nul_is_an_error_of_its_row_on_every_database(
    coordinator: Client, form: str, before: str, after: str, key: str, field: str
) -> None:
    """PostgreSQL takes no NUL, neither in a text nor in JSON, which is how the errors are kept."""
    file = SimpleUploadedFile(f"q.{form}", with_nul(form, before, after))
    address = coordinator.post(NEW, {"file": file, "bank": "Chest"})["Location"]
    work()
    told = coordinator.get(address).context["result"]["errors"]
    assert [(one["key"], one["code"]) for one in told] == [(key, "nul_character")]
    assert told[0]["message"] == "The text holds a NUL character."
    assert told[0]["field"] == (field if form != "json" or field != "id" else "")
    coordinator.post(address + "store/", {"skip_refused": "yes"})
    work()
    assert Question.objects.count() == 1
    assert "NUL character" in coordinator.get(address).content.decode()
