"""What an upload met, which images are missing, and which names came near."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from annotation.enums import JobState
from annotation.imaging.kernels import text
from annotation.ingest import uploading
from annotation.models import AuditEvent, Image, Job, QuestionBank, SourceIdentifier, Upload, User
from tests.annotation.images.test_uploads import Reports, png, sent
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.pages import markup

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.MEDIA_ROOT, settings.TEMP_ROOT = tmp_path / "media", tmp_path / "tmp"
    settings.TEMP_ROOT.mkdir()
    settings.FILE_UPLOAD_TEMP_DIR = str(settings.TEMP_ROOT)
    monkeypatch.setattr(text, "find_text", lambda *_given: [])
    return tmp_path


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    """Three questions on two exams of two images each."""
    records = {f"q{n}": make_record(n, exam=exam) for n, exam in ((1, 1), (2, 1), (3, 2))}
    run_import(write_file(tmp_path / "files", records), bank="Chest")
    return QuestionBank.objects.get()


def send(client: Client, files: dict[str, bytes], bank: str = "chest") -> str:
    """The page of an upload whose job has run."""
    data: dict[str, Any] = {"files": [sent(Path(path).name, content) for path, content in files.items()], "bank": bank}
    answer = client.post(reverse("upload-new"), {**data, "paths": json.dumps(list(files))})
    upload = Upload.objects.latest("pk")
    result = uploading.ingest_upload(Reports(), {"upload": upload.public_id})
    Job.objects.filter(kind=uploading.JOB_KIND, params__upload=upload.public_id).update(
        state=JobState.SUCCEEDED, result=result
    )
    return str(answer["Location"])


def test_an_upload_that_met_nothing_says_so_and_which_names_came_near(
    client: Client, cora: User, bank: QuestionBank
) -> None:
    client.force_login(cora)
    page = client.get(send(client, {"2/PA_.PNG": png(1), "laterall.png": png(2), "chart.png": png(3)}))
    words = page.content.decode()
    assert "Met 0 of 4 images that questions wait for." in words
    assert "4 images are still missing" in words
    near = dict(page.context["near"])
    assert near["laterall.png"].endswith("/lateral.png")
    assert near["2/PA_.PNG"] == "2/pa.png"
    assert "chart.png" not in near
    assert f'href="{reverse("bank-missing", args=["chest"])}"' in words
    assert "Draw a sample" not in words


def test_an_upload_that_met_all_leads_on(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    half = {f"release/{exam}/pa.png": png(exam) for exam in (1, 2)}
    words = client.get(send(client, half)).content.decode()
    assert "Met 2 of 4 images that questions wait for." in words
    assert "2 images are still missing" in words
    rest = {f"release/{exam}/lateral.png": png(exam + 5) for exam in (1, 2)}
    words = client.get(send(client, rest)).content.decode()
    assert "Met 2 of 2 images that questions wait for." in words
    assert "still missing" not in words
    assert "Draw a sample" in words


def test_counts_lead_to_the_things_counted(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    send(client, {"1/pa.png": png(1)})
    page = send(client, {"2/pa.png": png(2), "2/lateral.png": png(3), "no.png": b"no image"})
    upload = Upload.objects.latest("pk")
    words = markup(client.get(page))
    of_upload = f"{reverse('images')}?upload={upload.public_id}"
    assert f'<a href="{of_upload}">2</a>' in words
    assert '<a href="#refusals">1</a>' in words
    assert 'id="refusals"' in words
    shown = client.get(of_upload)
    assert shown.context["page"].paginator.count == 2
    assert f'value="{upload.public_id}"' in markup(shown)
    assert client.get(f"{of_upload}&state=quarantined").context["page"].paginator.count == 0
    assert client.get(f"{reverse('images')}?upload=nonesuch").status_code == 200


def test_the_only_bank_is_the_default(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    assert '<option value="chest" selected>' in client.get(reverse("upload-new")).content.decode()
    QuestionBank.objects.create(name="Other", slug="other", created_at=bank.created_at)
    assert client.get(reverse("upload-new")).context["form"].initial["bank"] is None
    words = client.get(send(client, {"1/pa.png": png(1)}, bank="")).content.decode()
    assert "No bank was chosen" in words


def test_the_list_of_missing_images_as_page_and_file(client: Client, cora: User, ada: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    send(client, {"1/pa.png": png(1)})
    with CaptureQueriesContext(connection) as queries:
        page = client.get(reverse("bank-missing", args=["chest"]))
    assert not [one for one in queries if '"annotation_question"."split"' in one["sql"]], (
        "numbers, no rows of questions"
    )
    assert [one.path for one in page.context["rows"]] == ["1/lateral.png", "2/pa.png", "2/lateral.png"]
    by_path = client.get(reverse("bank-missing", args=["chest"]), {"sort": "-path"})
    assert [one.path for one in by_path.context["rows"]] == ["2/pa.png", "2/lateral.png", "1/lateral.png"]
    assert 'href="/banks/chest/2/">2</a>' in page.content.decode()
    assert "3 images missing" in client.get("/banks/chest/").content.decode()

    def rows() -> list[dict[str, str]]:
        file = client.get(reverse("bank-missing-file", args=["chest"]))
        content = b"".join(file.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
        return list(csv.DictReader(io.StringIO(content, newline="")))

    assert (rows()[0]["path"], rows()[0]["questions"]) == ("1/lateral.png", "1|2")
    SourceIdentifier.objects.filter(value="1/lateral.png").delete()
    assert client.get(reverse("bank-missing", args=["chest"])).status_code == 200
    assert [one["path"] for one in rows()] == ["", "2/lateral.png", "2/pa.png"], "no file named it: it has no path"
    assert {one.facts["rows"] for one in AuditEvent.objects.filter(act="bank.missing_images_taken")} == {3}
    client.force_login(ada)
    words = client.get(reverse("upload", args=[Upload.objects.latest("pk").public_id])).content.decode()
    assert "near" not in words
    assert reverse("bank-missing", args=["chest"]) not in words


def test_the_command_says_what_it_met(bank: QuestionBank, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "files" / "1"
    folder.mkdir()
    (folder / "pa.png").write_bytes(png(1))
    call_command("ingest_images", str(folder))
    assert "met 1 of 4 images that questions wait for" in capsys.readouterr().out
    assert Image.objects.filter(state="pending").count() == 3
