"""Who comes to the folder or the database later finds no identifier that should be gone."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from annotation.audit.deleting import clear_leftovers, sweep_leftovers
from annotation.enums import ImportState, JobState
from annotation.models import BankImport, Job, QuestionBank, Upload, User
from tests.conftest import NOON

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(days=8)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Settings) -> Path:
    settings.HOME, settings.TEMP_ROOT = tmp_path, tmp_path / "tmp"
    return tmp_path


def left(home: Path, name: str, at: datetime = NOON) -> Path:
    """A file in the home with this time; of a folder, where the name ends with a slash, the folder has it."""
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith("/"):
        path.mkdir()
        left(path, "DOE^JOHN.dcm", at)
    else:
        path.write_bytes(b"original")
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def upload_of(person: User, name: str, state: JobState, kind: str = "ingest_upload", **result: object) -> Job:
    job = Job.objects.create(
        kind=kind, title="-", params={"upload": name}, state=state, result=result, created_at=NOON, finished_at=NOON
    )
    Upload.objects.create(public_id=name, created_by=person, created_at=NOON, purpose="images", job=job)
    return job


def test_originals_that_a_kill_left_behind_go(home: Path, cora: User) -> None:
    for name, state in (("done", JobState.SUCCEEDED), ("failed", JobState.FAILED), ("waits", JobState.QUEUED)):
        upload_of(cora, name, state)
    names = ("decoding-x/", "tmpabc.upload", "upload-gone/", "upload-done/", "upload-failed/", "upload-waits/")
    paths = {name: left(home, f"tmp/{name}") for name in names}
    young = left(home, "tmp/decoding-now/", NOON + timedelta(hours=23))
    assert clear_leftovers(NOON + timedelta(days=1)) == 4
    assert [name for name, path in paths.items() if path.exists()] == ["upload-failed/", "upload-waits/"]
    assert young.exists()
    clear_leftovers(LATER)
    assert [name for name, path in paths.items() if path.exists()] == ["upload-waits/"]


def test_question_files_go_with_their_bank_or_if_they_were_never_stored(home: Path, cora: User) -> None:
    bank = QuestionBank.objects.create(name="Bank", slug="bank", created_at=NOON)
    stored = upload_of(cora, "stored", JobState.SUCCEEDED, kind="store_questions")
    upload_of(cora, "checked", JobState.SUCCEEDED, kind="check_questions")
    brought = BankImport.objects.create(
        bank=bank, job=stored, state=ImportState.PUBLISHED, started_at=NOON, heartbeat_at=NOON
    )
    paths = {name: left(home, f"question_files/{name}/") for name in ("stored", "checked")}
    clear_leftovers(NOON + timedelta(days=6))
    assert all(path.exists() for path in paths.values())
    clear_leftovers(LATER)
    assert [name for name, path in paths.items() if path.exists()] == ["stored"]
    brought.delete()
    clear_leftovers(LATER)
    assert not paths["stored"].exists()


def test_predictions_go_whose_receiver_was_killed(home: Path, cora: User) -> None:
    upload_of(cora, "checked", JobState.SUCCEEDED, kind="check_predictions")
    paths = [left(home, f"prediction_files/{name}/") for name in ("checked", "killed")]
    paths.append(left(home, "submission_files/killed/"))
    clear_leftovers(NOON + timedelta(days=6))
    assert all(path.exists() for path in paths)
    clear_leftovers(LATER)
    assert [path.exists() for path in paths] == [True, False, False]


def test_letters_that_were_never_sent_go(home: Path) -> None:
    letter = left(home, "tmp/letters/abc")
    clear_leftovers(NOON + timedelta(days=6))
    assert letter.exists()
    clear_leftovers(LATER)
    assert not letter.exists()


def test_names_of_refused_files_go_and_the_reasons_stay(cora: User) -> None:
    refused = [{"file": "DOE^JOHN/1.dcm", "code": "size", "message": "Too large."}]
    views = [{"words": "DOE^JOHN", "images": 2}]
    job = upload_of(cora, "u", JobState.SUCCEEDED, refused=refused, images=3, views=views)
    clear_leftovers(NOON + timedelta(days=6))
    job.refresh_from_db()
    assert job.result is not None
    assert job.result["refused"] == refused
    assert [clear_leftovers(LATER), clear_leftovers(LATER)] == [1, 0]
    job.refresh_from_db()
    assert "DOE" not in str(Job.objects.values())
    assert (job.result["refused"][0]["code"], job.result["images"]) == ("size", 3)
    assert job.result["views"] == [{"words": "view 1", "images": 2}]


def test_a_worker_looks_once_an_hour(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.audit.deleting._last", [])
    moments = (0, 10, 61)
    for minute in moments:
        left(home, f"tmp/decoding-{minute}/", NOON - timedelta(days=1))
    found = []
    for minute in moments:
        found.append(sweep_leftovers(NOON + timedelta(minutes=minute)))
        left(home, f"tmp/tmp{minute}.upload", NOON - timedelta(days=1))
    assert found == [3, 0, 2]
