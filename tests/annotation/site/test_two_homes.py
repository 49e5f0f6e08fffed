"""Two machines with one database, one bucket and a home each: what one writes the other reads, and nothing stays."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from annotation.audit.belonging import check_media
from annotation.audit.deleting import clear_leftovers
from annotation.enums import JobState
from annotation.exports import review_report
from annotation.exports.review_report_job import KIND, kept_report
from annotation.imaging.kernels import text
from annotation.ingest import pacs, uploading
from annotation.ingest.receiving import Receiver, take_in_received
from annotation.jobs import queueing
from annotation.models import BankImport, Image, Job, Question, Upload, User
from annotation.people.accounts import _delete_emails
from annotation.people.mailing import send_email, try_to_send
from annotation.site import home_files
from annotation.site.media import MediaAway, MediaRefused, place_at
from tests.annotation.exports.test_review_report import make_lively
from tests.annotation.images.test_uploads import CREDITS, png, sent
from tests.annotation.imaging.dicomfiles import chest, make_data_set, make_dicom
from tests.annotation.ingest.stand_in_pacs import stand_in
from tests.annotation.questionbank.test_import_views import GOOD, send
from tests.annotation.questionbank.test_zip_imports import paper
from tests.annotation.questionbank.test_zip_imports import send as send_zip
from tests.jobs import work
from tests.object_storage import ObjectStorage, TwoHomes, object_storage
from tests.processes import environment, manage, migrated_site
from tests.refusals import refuses

KEYS = ("SECRET", "PSEUDONYM")
pytestmark = [pytest.mark.services, pytest.mark.django_db]


@pytest.fixture(scope="module")
def s3() -> Iterator[ObjectStorage]:
    with object_storage() as found:
        yield found


@pytest.fixture
def homes(s3: ObjectStorage, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoHomes]:
    monkeypatch.setattr(queueing, "nudge", lambda job: None)
    monkeypatch.setattr(text, "find_text", lambda *_given: [])
    settings.EMAIL_HOST = "mail.example.org"
    yield TwoHomes(tmp_path / "machines", settings, s3)
    s3.refuses = None


def post_upload(client: Client) -> Any:
    files = [sent("a.png", png()), sent("b.png", b"no image")]
    data = {"files": files, "paths": json.dumps(["box/a.png", "box/b.png"]), "credits": sent("c.csv", CREDITS)}
    return client.post(reverse("upload-new"), data)


def hours_later(hours: float) -> datetime:
    return timezone.now() + timedelta(hours=hours)


# --- what the module promises ---
def test_files_of_any_size_go_there_and_come_back_over_a_bad_line(s3: ObjectStorage, homes: TwoHomes) -> None:
    spoilt, folder = s3.spoilt, homes.at("a") / "tmp" / "upload-x"
    sizes = {f"files/{n}/ä {n}.dcm": n * 1000 for n in range(40)} | {"files/large.zip": 20 * 1024**2 + 7}
    for name, size in sizes.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(os.urandom(size))
    before = {name: (folder / name).read_bytes() for name in sizes}
    home_files.hand_over(folder)
    assert homes.left() == []
    path = homes.at("b") / "tmp" / "upload-x"
    for _again in range(2):
        found = home_files.here(path)
        assert {name: (found / name).read_bytes() for name in sizes} == before
    assert home_files.is_there(path)
    assert not home_files.is_there(path.with_name("upload-")), "another name that begins alike"
    assert len(homes.left()) == len(sizes), "no part of a file"
    assert s3.spoilt > spoilt
    home_files.drop(path)
    home_files.drop(path)
    assert (homes.left(), homes.in_bucket(), home_files.is_there(path)) == ([], [], False)


def test_images_and_files_of_the_home_do_not_see_each_other(homes: TwoHomes, settings: Settings) -> None:
    place: Any = place_at(settings.MEDIA)
    folder = homes.at("a") / "reports"
    folder.mkdir()
    (folder / "ab").write_bytes(b"x")
    home_files.hand_over(folder / "ab")
    assert list(place.entries()) == []
    assert [one.key for one in home_files.children(folder)] == ["ab"]


def test_a_copy_that_is_used_again_is_not_swept(homes: TwoHomes) -> None:
    path = homes.at("a") / "reports" / "one.zip"
    path.parent.mkdir()
    path.write_bytes(b"x")
    home_files.hand_over(path)
    there = homes.at("b") / "reports" / "one.zip"
    os.utime(home_files.here(there), (0, 0))
    copy = home_files.here(there)
    clear_leftovers(timezone.now())
    assert copy.exists()


def test_a_site_of_one_machine_does_not_start_beside_files_of_several(homes: TwoHomes, settings: Settings) -> None:
    path = homes.at("a") / "reports" / "one.zip"
    path.parent.mkdir()
    path.write_bytes(b"x")
    check_media()
    home_files.hand_over(path)
    check_media()
    settings.NODES = 1
    with refuses(MediaRefused, "several_machines", match="Set REXVQA_NODES to 2 again"):
        check_media()


def test_nothing_changes_where_images_are_in_a_folder(homes: TwoHomes, settings: Settings) -> None:
    settings.MEDIA = "folder"
    path = homes.at("a") / "reports" / "one.zip"
    path.parent.mkdir()
    path.write_bytes(b"x")
    home_files.hand_over(path)
    assert (home_files.here(path), homes.left()) == (path, ["a/reports/one.zip"])
    home_files.drop(path)
    assert homes.left() == []


def test_what_a_killed_writer_left_goes_after_a_while(homes: TwoHomes, settings: Settings) -> None:
    """In the bucket as well: whole files without a row, and parts of a file, which no list shows."""
    place: Any = place_at(settings.MEDIA)
    home = homes.at("a")
    (home / "tmp" / "upload-handed").mkdir()
    (home / "tmp" / "upload-handed" / "DOE^JOHN.dcm").write_bytes(b"x")
    home_files.hand_over(home / "tmp" / "upload-handed")
    (home / "tmp" / "upload-half").mkdir()
    (home / "tmp" / "upload-half" / "DOE^JOHN.dcm").write_bytes(b"x")
    client = place.connection.meta.client
    client.create_multipart_upload(Bucket=place.bucket_name, Key="of/site/home/tmp/upload-parts/x")
    clear_leftovers(hours_later(11))
    assert (len(homes.left()), len(homes.in_bucket())) == (1, 1)
    homes.at("b")
    clear_leftovers(hours_later(13))
    assert (len(homes.left()), homes.in_bucket()) == (1, []), "each machine clears its own home, and the bucket"
    assert "Uploads" not in client.list_multipart_uploads(Bucket=place.bucket_name)
    homes.at("a")
    clear_leftovers(hours_later(13))
    assert homes.left() == []


def test_every_worker_looks_for_what_is_left_in_its_home(homes: TwoHomes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the one that comes right after another, which does the rest."""
    left = [homes.at(name) / "tmp" / "decoding-x" for name in "ab"]
    for path in left:
        path.mkdir()
        os.utime(path, (0, 0))
    for name in "ab":
        monkeypatch.setattr("annotation.audit.deleting._last", [])  # another process
        homes.at(name)
        queueing.sweep(at=timezone.now())
    assert not any(path.exists() for path in left)


def test_a_command_runs_on_a_machine_whose_home_is_empty(homes: TwoHomes, s3: ObjectStorage, tmp_path: Path) -> None:
    with migrated_site(tmp_path / "first") as first:
        keys = {f"REXVQA_{key}_KEY": (tmp_path / "first" / f"{key.lower()}_key").read_text() for key in KEYS}
        told = {"REXVQA_NODES": "2", "REXVQA_MEDIA": homes.settings.MEDIA, "REXVQA_MEDIA_ENDPOINT": s3.url, **keys}
        told |= {f"REXVQA_MEDIA_{name}": "of-the-tests" for name in ("ACCESS_KEY", "SECRET_KEY")}
        database = first["DATABASE_URL"] or f"sqlite:///{tmp_path / 'first' / 'db.sqlite3'}"
        done = manage("jobs", env=environment(tmp_path / "second", database, **told))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "second").rglob("*") if path.is_file()} == set()


# --- uploads of images ---
def test_an_upload_that_one_machine_received_is_taken_in_by_the_other(coordinator: Client, homes: TwoHomes) -> None:
    assert post_upload(coordinator).status_code == 302
    assert homes.left() == []
    assert len(homes.in_bucket()) == 3
    homes.at("b")
    work()
    job = Job.objects.get()
    assert job.state == JobState.SUCCEEDED, job.error
    assert (Image.objects.get().attribution, job.result and job.result["files"]) == ("Institute X", 2)
    assert (homes.left(), homes.in_bucket()) == ([], [])


def test_a_job_that_fails_keeps_the_files_for_a_third_machine(
    coordinator: Client, homes: TwoHomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    post_upload(coordinator)
    upload = Upload.objects.get()
    homes.at("b")
    with monkeypatch.context() as patch:
        patch.setattr("annotation.ingest.exams.ingest_paths", lambda *_given, **_more: 1 / 0)
        work()
    assert Job.objects.get().state == JobState.FAILED
    clear_leftovers(hours_later(13))
    assert (homes.left(), len(homes.in_bucket())) == ([], 3), "the copy goes, and can be fetched again"
    homes.at("c")
    Job.objects.update(state=JobState.QUEUED)
    work()
    assert Job.objects.get().state == JobState.SUCCEEDED
    assert (homes.left(), homes.in_bucket()) == ([], [])
    Job.objects.update(state=JobState.QUEUED)
    work()
    assert "no longer kept" in Job.objects.get().error
    assert not home_files.is_there(uploading.folder_of(upload.public_id))


def test_an_upload_that_is_archived_goes_from_the_bucket(
    coordinator: Client, cora: User, homes: TwoHomes, noon: datetime, django_capture_on_commit_callbacks: Any
) -> None:
    post_upload(coordinator)
    Job.objects.update(state=JobState.CANCELLED)
    homes.at("b")
    with django_capture_on_commit_callbacks(execute=True):
        uploading.archive_upload(Upload.objects.get(), actor=cora, at=noon)
    assert homes.in_bucket() == []


def test_a_bucket_that_is_away_stores_nothing_and_says_so(
    coordinator: Client, homes: TwoHomes, s3: ObjectStorage
) -> None:
    s3.refuses = ("InvalidAccessKeyId", 403)
    answer = post_upload(coordinator)
    assert (answer.status_code, "does not accept the keys" in answer.content.decode()) == (422, True)
    assert not try_to_send(lambda: send_email("Subject", "text", "nina@example.org"))
    answer = coordinator.post(
        "/banks/import/",
        {"file": SimpleUploadedFile("q.json", json.dumps(GOOD).encode()), "bank": "Chest"},
    )
    assert "does not accept the keys" in answer.content.decode()
    assert (Upload.objects.exists(), Job.objects.exists(), homes.left()) == (False, False, [])
    with pytest.raises(MediaAway):
        home_files.here(homes.at("a") / "reports" / "x")


def test_what_machines_send_is_in_the_bucket_before_they_are_told_so(
    cora: User, homes: TwoHomes, settings: Settings
) -> None:
    settings.DICOM_SILENCE_SECONDS = 30
    receiver = Receiver(cora, None)
    for n in (1, 2):
        receiver.keep(make_dicom(SOPInstanceUID=f"1.2.{n}"), f"1.2.{n}", "ROOM")
    assert (homes.left(), len(homes.in_bucket())) == ([], 2)
    homes.at("b")
    take_in_received(timezone.now())
    assert not Job.objects.exists()
    clear_leftovers(hours_later(40 * 24))
    take_in_received(hours_later(1))
    work()
    assert Job.objects.get().result["files"] == 2  # type: ignore[index]
    assert (homes.left(), homes.in_bucket()) == ([], [])


def test_a_fetch_that_the_pacs_ended_goes_on_elsewhere(
    coordinator: Client, homes: TwoHomes, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: dict[str, Any] = {"SeriesInstanceUID": "2.2", "StudyDate": "20260301"}
    named: list[dict[str, Any]] = [
        {"SOPInstanceUID": f"3.{n}", "StudyInstanceUID": f"1.{n}", "AccessionNumber": f"A-{n}"} for n in range(3)
    ]
    images = [make_data_set(chest(90, 80 + n), **places, **one) for n, one in enumerate(named)]
    monkeypatch.setenv("REXVQA_DICOMWEB_KEY_TRY", "reader:se:cret")
    monkeypatch.setattr(pacs, "WAITS", (0, 0))
    with stand_in(images) as archive:
        settings.DICOMWEB = (archive.pacs,)
        asked = {"pacs": "try", "accession_numbers": "A-0\nA-1\nA-2", "modalities": ["CR"], "most": "10"}
        assert coordinator.post(reverse("upload-fetch"), asked).status_code == 302
        for name in "bc":
            homes.at(name)
            archive.faults = ["", 503, 503, 503] if name == "b" else []
            Job.objects.update(due_at=None)
            work()
    result = Job.objects.get().result
    assert result is not None
    assert (result["images"], result["known"], len(set(result["image_ids"]))) == (3, 0, 3)
    assert archive.fetched.count("3.0") == 1
    assert ([name for name in homes.left() if name[0] == "c"], homes.in_bucket()) == ([], [])


# --- question files ---
def test_a_question_file_is_checked_there_shown_here_and_stored_there(coordinator: Client, homes: TwoHomes) -> None:
    address = send(coordinator, GOOD)
    assert homes.left() == []
    homes.at("b")
    work()
    homes.at("a")
    assert len(coordinator.get(address).context["first"]) == 2
    coordinator.post(address + "store/")
    homes.at("b")
    work()
    assert Question.objects.count() == 2
    assert len(homes.in_bucket()) == 1, "kept as long as a bank holds the import"
    for name in "ab":
        homes.at(name)
        clear_leftovers(hours_later(13))
    assert homes.left() == []
    clear_leftovers(hours_later(9 * 24))
    assert len(homes.in_bucket()) == 1
    BankImport.objects.update(job=None)
    clear_leftovers(hours_later(9 * 24))
    assert homes.in_bucket() == []


def test_a_zip_of_questions_and_images(coordinator: Client, homes: TwoHomes) -> None:
    address = str(send_zip(coordinator, paper())["Location"])
    homes.at("b")
    work()
    homes.at("a")
    page = coordinator.get(address)
    picture = page.context["first"][0].pictures[0]
    assert b"WEBP" in coordinator.get(f"{address}pictures/{picture.name}.webp").content[:16]
    assert not [name for name in homes.left() if name.endswith("questions.json") and name[0] == "a"], "no need of it"
    coordinator.post(address + "store/")
    homes.at("b")
    work()
    homes.at("a")
    work()
    assert [job.error for job in Job.objects.exclude(state=JobState.SUCCEEDED)] == []
    assert Image.objects.count() == 2
    assert not [key for key in homes.in_bucket() if "upload-" in key or key.endswith("questions.json")]


# --- letters ---
def test_a_letter_is_sent_by_the_other_machine(homes: TwoHomes) -> None:
    for name in ("nina", "otto"):
        send_email("Subject", f"for {name}", f"{name}@example.org")
    assert (homes.left(), len(homes.in_bucket())) == ([], 2)
    homes.at("b")
    _delete_emails("otto@example.org")
    work()
    assert [letter.body for letter in mail.outbox] == ["for nina"]
    assert homes.in_bucket() == []
    assert not [name for name in homes.left() if not name.startswith("b/tmp/copy-")]
    clear_leftovers(hours_later(13))
    assert homes.left() == []


def test_letters_that_were_never_sent_go(homes: TwoHomes) -> None:
    send_email("Subject", "text", "nina@example.org")
    clear_leftovers(hours_later(6 * 24))
    assert len(homes.in_bucket()) == 1
    clear_leftovers(hours_later(8 * 24))
    assert homes.in_bucket() == []


# --- results of jobs ---
def test_a_report_is_downloaded_from_the_machine_that_did_not_make_it(
    client: Client, rita: User, remo: User, cora: User, noon: datetime, homes: TwoHomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_report, "_figures", lambda numbers: ())
    lively = make_lively([rita, remo], cora, n=6)
    client.force_login(cora)
    homes.at("b")
    client.post("/rounds/lively/report/make/")
    work()
    assert Job.objects.get(kind=KIND).state == JobState.SUCCEEDED
    assert (homes.left(), len(homes.in_bucket())) == ([], 1)
    homes.at("a")
    assert "Download the ZIP" in client.get("/rounds/lively/report/").content.decode()
    assert b"".join(client.post("/rounds/lively/report.zip"))[:2] == b"PK"
    found = kept_report(lively)
    assert found is not None
    home_files.drop(found.path)
    assert not found.is_there
    assert (homes.left(), homes.in_bucket()) == ([], [])
