"""Uploads: limits before anything is stored, the job, its report, and tables of credits."""

from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import reverse
from PIL import Image as Picture
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from annotation.enums import IdentifierKind, JobState
from annotation.imaging.kernels import text
from annotation.ingest import uploading
from annotation.ingest.describing import credit_images
from annotation.ingest.kernels.credits import IngestRefused, parse_credits
from annotation.models import AuditEvent, Image, Job, QuestionBank, SourceIdentifier, Upload, User
from rexvqa_site.lanes import PART, Whole
from tests.refusals import refuses

from .conftest import MakeImage

CREDITS = b"file,attribution,licence\na.png,Institute X,CC0\nnobody.png,Y,CC0\n"


def png(seed: int = 1) -> bytes:
    stream = io.BytesIO()
    Picture.fromarray(np.random.default_rng(seed).integers(0, 255, (90, 90)).astype(np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def sent(name: str, content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, "application/octet-stream")


class Reports:
    def report(self, done: int, total: int, message: str = "") -> None:
        self.last = (done, total)


@pytest.fixture
def upload(client: Client, cora: User, home: Path) -> Upload:
    """Cora sent an image in a folder, a text file and a table of credits."""
    client.force_login(cora)
    files = [sent("a.png", png()), sent("b.png", b"no image")]
    data: dict[str, Any] = {"files": files, "paths": json.dumps(["box/a.png", "box/b.png"])}
    answer = client.post(reverse("upload-new"), {**data, "credits": sent("c.csv", CREDITS)})
    assert answer.status_code == 302
    return Upload.objects.get()


def test_files_are_kept_under_their_paths_and_a_job_waits(upload: Upload, cora: User) -> None:
    kept = uploading.folder_of(upload.public_id)
    assert (kept / "files/box/a.png").read_bytes() == png()
    assert (upload.n_files, upload.created_by) == (2, cora)
    assert upload.job is not None
    assert (upload.job.kind, upload.job.state) == ("ingest_upload", JobState.QUEUED)
    assert AuditEvent.objects.filter(act="upload.kept").exists()


@pytest.mark.parametrize("address", ["upload-new", "api-uploads"])
def test_of_an_upload_that_is_stopped_nothing_is_stored(
    address: str, cora: User, home: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """However many of its files had come, and though the token of the form came as well."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(cora)
    client.get(reverse("upload-new"))
    token = client.cookies["csrftoken"].value
    files = [sent(f"{n}.png", bytes(PART)) for n in range(4)]
    content = {"csrfmiddlewaretoken": token, "files": files, "paths": json.dumps(["a/0.png"] * 4)}
    body = encode_multipart(BOUNDARY, content)
    came = body[: body.index(b"3.png") + PART // 2]
    environ: dict[str, Any] = {
        "PATH_INFO": reverse(address),
        "REQUEST_METHOD": "POST",
        "CONTENT_TYPE": MULTIPART_CONTENT,
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_X_CSRFTOKEN": token,
        "wsgi.input": io.BytesIO(came),
    }
    environ["wsgi.input"] = io.BufferedReader(Whole(environ))
    assert client.request(**environ).status_code == 400
    assert (Upload.objects.count(), list(settings.TEMP_ROOT.iterdir())) == (0, [])
    assert not [line for line in caplog.records if line.levelno >= logging.ERROR]


def test_the_job_takes_in_searches_credits_and_cleans_up(
    upload: Upload, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "find_text", lambda *_given: [])
    result = uploading.ingest_upload(Reports(), {"upload": upload.public_id})
    assert (result["files"], result["images"], result["quarantined"]) == (2, 1, 0)
    assert [(row["file"], row["code"]) for row in result["refused"]] == [("box/b.png", "format")]
    assert [row["file"] for row in result["credits_refused"]] == ["nobody.png"]
    image = Image.objects.get()
    assert (image.state, image.attribution) == ("available", "Institute X")
    assert not uploading.folder_of(upload.public_id).exists()
    for settings.NODES, said in ((1, "no longer kept"), (2, f"not on {gethostname()}")):
        with refuses(IngestRefused, "upload_gone", match=said):
            uploading.ingest_upload(Reports(), {"upload": upload.public_id})


@pytest.mark.parametrize("ends", [RuntimeError, SystemExit])
def test_what_an_earlier_run_of_this_upload_brought_in_is_imported(
    coordinator: Client, home: Path, monkeypatch: pytest.MonkeyPatch, ends: type[BaseException]
) -> None:
    """Its worker is ended in the middle; of three new pictures one was sent twice, another was here before."""

    class Ended(Reports):
        def report(self, done: int, total: int, message: str = "") -> None:
            if done == 3:
                raise ends

    monkeypatch.setattr(text, "find_text", lambda *_given: [])
    seeds = (9, 1, 2, 1, 3)
    for chosen in (seeds[:1], seeds):
        coordinator.post(
            reverse("upload-new"), {"files": [sent(f"{n}.png", png(seed)) for n, seed in enumerate(chosen)]}
        )
    first, upload = Upload.objects.order_by("pk")
    uploading.ingest_upload(Reports(), {"upload": first.public_id})
    with pytest.raises(ends):
        uploading.ingest_upload(Ended(), {"upload": upload.public_id})
    assert Image.objects.count() == 3
    result = uploading.ingest_upload(Reports(), {"upload": upload.public_id})
    counts = {"files": 5, "images": 3, "exams": 3, "duplicates": 2}
    assert {name: result[name] for name in counts} == counts
    assert len(set(result["image_ids"])) == len(result["unmet_ids"]) == 3


def test_the_page_and_the_report(client: Client, upload: Upload) -> None:
    refused = [{"file": "=cmd.png", "code": "format", "message": "This is not a DICOM, PNG or JPEG file."}]
    result = {"files": 2, "images": 1, "exams": 1, "duplicates": 0, "quarantined": 0, "refused": refused}
    page = client.get(reverse("upload", args=[upload.public_id])).content.decode()
    assert 'hx-trigger="every 1s"' in page
    assert client.get(reverse("upload-report", args=[upload.public_id])).status_code == 404
    assert "View not understood" not in page
    result["views"] = [{"words": "FRONTAL <1>", "images": 2}]
    Job.objects.update(state=JobState.SUCCEEDED, result=result)
    page = client.get(reverse("upload", args=[upload.public_id]), headers={"HX-Request": "true"}).content.decode()
    assert "View not understood" in page
    assert "FRONTAL &lt;1&gt;" in page
    assert page.lstrip().startswith('<div id="upload">')
    assert "=cmd.png" in page
    report = client.get(reverse("upload-report", args=[upload.public_id]))
    assert AuditEvent.objects.filter(act="upload.report_taken").count() == 1
    assert b"".join(report).decode().splitlines()[1].startswith("'=cmd.png,format")
    assert reverse("upload", args=[upload.public_id]) in client.get(reverse("uploads")).content.decode()


def test_the_page_says_what_its_job_waits_for_and_offers_what_is_not_refused(client: Client, upload: Upload) -> None:
    def page() -> str:
        return client.get(reverse("upload", args=[upload.public_id])).content.decode()

    archive, away = reverse("upload-archive", args=[upload.public_id]), "The PACS “try” does not answer now"
    Job.objects.update(message=away, attempts=2, due_at=datetime(2026, 3, 1, 14, 24, 18, tzinfo=UTC))
    assert away in page()
    assert "tried again by itself at" in page()
    assert "Waiting for a worker" not in page()
    assert archive not in page()
    Job.objects.update(state=JobState.RUNNING)
    assert away in page()
    Job.objects.update(state=JobState.SUCCEEDED, result={})
    assert away not in page()
    assert archive in page()
    Job.objects.update(state=JobState.QUEUED, attempts=1, due_at=None)
    assert "it was begun once" in " ".join(page().split())


@pytest.mark.logs("upload.archived")
def test_archive_and_delete(
    client: Client,
    upload: Upload,
    cora: User,
    ada: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    archive, delete = (reverse(f"upload-{act}", args=[upload.public_id]) for act in ("archive", "delete"))
    client.post(archive)
    assert Upload.objects.filter(archived_at=None).exists()  # its job still waits
    Job.objects.update(state=JobState.CANCELLED)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(archive)
    assert not Upload.objects.filter(archived_at=None).exists()
    assert not uploading.folder_of(upload.public_id).exists()
    assert reverse("upload", args=[upload.public_id]) not in client.get(reverse("uploads")).content.decode()
    client.force_login(ada)
    client.post(delete, {"confirmed": "yes"})
    assert not Upload.objects.exists()
    assert AuditEvent.objects.filter(act="upload.binned").exists()


def test_refusals_store_nothing(coordinator: Client, home: Path, settings: Settings) -> None:
    settings.UPLOAD_MAX_FILES, settings.IMAGE_MAX_BYTES, settings.UPLOAD_MAX_BYTES = 2, 2048, 8192
    one, two = [("a.png", b"x")], [("a.png", b"x"), ("b.png", b"x")]
    refused: list[tuple[list[tuple[str, bytes]], dict[str, Any], str]] = [
        ([], {}, "No file was chosen"),
        ([*two, ("c.png", b"x")], {}, "are more than the 2"),
        ([("a.png", b"x" * 3000)], {}, "larger than the"),
        ([("a.zip", b"x" * 9000)], {}, "The upload is larger"),
        (one, {"paths": '["../a.png"]'}, "cannot be kept"),
        (one, {"paths": '["/etc/a.png"]'}, "cannot be kept"),
        (one, {"paths": "[1]"}, "could not be read"),
        (two, {"paths": '["c.png", "C.png"]'}, "Two files"),
        (two, {"paths": '["c", "c/d"]'}, "same name"),
        (one, {"bank": "nothing"}, "choice"),
        (one, {"credits": sent("c.csv", b"file,licence\n")}, "attribution"),
    ]
    for files, extra, words in refused:
        data = {"files": [sent(*file) for file in files], **extra}
        answer = coordinator.post(reverse("upload-new"), data, headers={"Accept": "application/json"})
        assert answer.status_code == 422, words
        assert words in " ".join(answer.json()["errors"])
    assert not Upload.objects.exists()
    assert not Job.objects.exists()
    assert not list((home / "tmp").glob("upload-*"))


def test_a_script_gets_the_address_and_too_many_parts_are_a_page_and_no_error(
    coordinator: Client, home: Path, settings: Settings
) -> None:
    one = {"files": [sent("a.png", png())]}
    answer = coordinator.post(reverse("upload-new"), one, headers={"Accept": "application/json"})
    assert answer.status_code == 201
    assert answer.json() == {"url": reverse("upload", args=[Upload.objects.get().public_id])}
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 5
    answer = coordinator.post(reverse("upload-new"), {"files": [sent(f"{n}.png", b"x") for n in range(9)]})
    assert (answer.status_code, "could not be read" in answer.content.decode()) == (400, True)


def test_a_body_that_announces_too_much_is_not_read(coordinator: Client, settings: Settings) -> None:
    class Unread(io.BytesIO):
        def read(self, *_args: Any) -> bytes:
            raise AssertionError("the body was read")

    settings.UPLOAD_MAX_BYTES = 1
    request: dict[str, Any] = {
        "wsgi.input": Unread(),
        "CONTENT_LENGTH": str(50 * 1024 * 1024),
        "CONTENT_TYPE": "multipart/form-data; boundary=x",
    }
    assert coordinator.post(reverse("upload-new"), **request).status_code == 413


def test_a_stranger_may_not_send_much(client: Client, db: None, settings: Settings) -> None:
    length = str(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    assert client.post(reverse("login"), CONTENT_LENGTH=length).status_code == 413


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"", "Missing: 'file'"),
        (b"file,attribution\na,b\n", "Missing: 'licence'"),
        (b"file,file,attribution,licence\n", "twice"),
        (b"file,attribution,licence\n,b,c\n", "Row 2: 'file' is empty"),
        (b"file,attribution,licence\na,b\n", "Row 2: The row has 2 cells"),
        (b"file,attribution,licence\na,b,c\na,b,c\n", "Row 3: the file of row 2"),
        (b"file,attribution,licence,view_position\na,b,c,upside\n", "Row 2: 'view_position'"),
        (b"file,attribution,licence\na," + b"x" * 301 + b",c\n", "longer than 300"),
        (b"\xff\xfe", "UTF-8"),
        (b"file,attribution,licence\na,\0,c\n", "zero bytes"),
    ],
)
def test_tables_that_cannot_be_used(table: bytes, words: str) -> None:
    with refuses(IngestRefused, "credits_unusable", match=words):
        parse_credits(table)


def named(image: Image, path: str) -> Image:
    SourceIdentifier.objects.create(digest=1, kind=IdentifierKind.IMAGE_PATH, value=path, image_id=image.pk)
    return image


@pytest.mark.logs("images.credited")
def test_credits_meet_images_by_path_or_its_end(make_image: MakeImage, noon: datetime) -> None:
    one, two = named(make_image(), "x/a.png"), named(make_image(), "y/b.png")
    rows = parse_credits(b"\xef\xbb\xbffile,attribution,licence,view_position\nx/a.png,X,CC0,PA\nb.png,Y,CC BY,\n")
    assert credit_images(rows, bank=None, actor=None, at=noon) == {"rows": 2, "changed": 2}
    one.refresh_from_db()
    two.refresh_from_db()
    assert (one.attribution, one.view_position) == ("X", "PA")
    assert (two.attribution, two.licence, two.view_position) == ("Y", "CC BY", "unknown")
    assert credit_images(rows, bank=None, actor=None, at=noon)["changed"] == 0


def test_one_unknown_file_stores_nothing(make_image: MakeImage, noon: datetime) -> None:
    image = named(make_image(), "a.png")
    rows = parse_credits(b"file,attribution,licence\na.png,X,CC0\nb.png,Y,CC0\n")
    with refuses(IngestRefused, "credits_unmatched") as caught:
        credit_images(rows, bank=None, actor=None, at=noon)
    assert [problem[:2] for problem in caught.value.facts["problems"]] == [(3, "b.png")]
    image.refresh_from_db()
    assert image.attribution == ""


def test_the_command(make_image: MakeImage, tmp_path: Path, bank: QuestionBank, capsys: Any) -> None:
    named(make_image(), "a.png")
    table = tmp_path / "c.csv"
    table.write_bytes(b"file,attribution,licence\na.png,X,CC0\n")
    call_command("set_image_credits", str(table))
    assert "1 rows read, 1 images changed" in capsys.readouterr().out
    for arguments in ([str(tmp_path / "none.csv")], [str(table), "--bank", "nothing"], [str(table), "--bank", "Bank"]):
        with pytest.raises(CommandError) as caught:
            call_command("set_image_credits", *arguments)
        assert caught.value.returncode == 2
