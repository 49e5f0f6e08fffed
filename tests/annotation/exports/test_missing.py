"""What an upload met, which images are missing, and which names came near."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from PIL import Image as Picture
from pytest_django import Settings

from annotation.enums import ImageState, JobState, QuestionState
from annotation.imaging.kernels import text
from annotation.imaging.kernels.rendering import png_of
from annotation.ingest import uploading
from annotation.models import AuditEvent, Image, Job, Question, QuestionBank, Settlement, SourceIdentifier, Upload, User
from annotation.review.ending import complete_reviews
from tests.annotation.adjudication.made import N_OPEN, make_reviewed
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


# --- images and decisions in an exported bank: what is written, what is counted, what stays ---
@pytest.fixture
def chest(tmp_path: Path) -> Path:
    """Two exams of two images: three came in, of which one waits in quarantine. Gives the folder of the files."""
    files = tmp_path / "files"
    run_import(write_file(files, {f"q{n}": make_record(n, exam=n) for n in (1, 2)}), bank="Chest")
    for number, path in enumerate(("1/pa.png", "1/lateral.png", "2/pa.png")):
        (files / path).parent.mkdir(exist_ok=True)
        (files / path).write_bytes(png(number))
    call_command("ingest_images", str(files), verbosity=0)
    held = SourceIdentifier.objects.get(kind="image_path", value="2/pa.png").image_id
    Image.objects.filter(pk__in=filter(None, [held])).update(state=ImageState.QUARANTINED)
    Image.objects.filter(state=ImageState.AVAILABLE).update(attribution="A. Author", licence="CC BY 4.0")
    return files


def test_available_images_are_written_under_the_paths_of_their_questions(chest: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call_command("export_questions", bank="Chest", form="rexvqa", output=str(out), images="images", verbosity=0)
    written = sorted(path.relative_to(out / "images").as_posix() for path in out.glob("images/*/*"))
    assert written == ["1/lateral.png", "1/pa.png"]
    for path in written:
        with Picture.open(out / "images" / path) as mine, Picture.open(chest / path) as theirs:
            assert np.array_equal(np.asarray(mine), np.asarray(theirs.convert(mine.mode)))
    card = (out / "card.md").read_text()
    assert "written: 2, in quarantine: 1, missing or removed: 1" in card
    assert "| A. Author | CC BY 4.0 | 2 |" in card


def test_another_folder_for_the_images_has_to_be_empty(chest: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "old").touch()
    arguments = {"bank": "Chest", "form": "rexvqa", "output": str(tmp_path / "out"), "images": str(other)}
    with pytest.raises(CommandError, match="not empty"):
        call_command("export_questions", **arguments)
    assert not (tmp_path / "out").exists()
    (other / "old").unlink()
    call_command("export_questions", **arguments, verbosity=0)
    assert (other / "1" / "pa.png").is_file()


@pytest.mark.parametrize(("bits", "mode"), [(8, "L"), (12, "I;16")])
def test_a_picture_keeps_its_depth_and_has_white_bones(bits: int, mode: str) -> None:
    payload = np.array([[0, 1], [5, (1 << bits) - 1]], np.uint16)
    for is_inverted in (False, True):
        with Picture.open(io.BytesIO(png_of(payload, bits=bits, is_inverted=is_inverted))) as picture:
            assert picture.mode == mode
            wanted = (1 << bits) - 1 - payload.astype(int) if is_inverted else payload
            assert np.array_equal(np.asarray(picture), wanted)


@pytest.mark.usefixtures("without_pixels")
def test_the_card_tells_decisions_with_their_intervals_and_the_rule(
    tmp_path: Path, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    made = make_reviewed(cora, rita, remo)
    complete_reviews(made, actor=cora, at=noon, confirmed_open=N_OPEN)
    bank = QuestionBank.objects.get()
    call_command("export_questions", bank=bank.slug, form="jsonl", output=str(tmp_path / "out"), verbosity=0)
    card = (tmp_path / "out" / "card.md").read_text()
    Question.objects.filter(state=QuestionState.ACCEPTED).update(state=QuestionState.REJECTED)  # in a later round
    Settlement.objects.filter(outcome=QuestionState.ACCEPTED).update(outcome=QuestionState.REJECTED)
    call_command("export_questions", bank=bank.slug, form="jsonl", output=str(tmp_path / "later"), verbosity=0)
    later = (tmp_path / "later" / "card.md").read_text()
    assert "| rejected | 1 of 1 |" in later, "what stayed back was decided all the same: 0 rejected would be false"
    assert "## Stayed back\n\n| state | questions |\n| --- | ---: |\n| disputed | 2 |" in card
    assert "| accepted | 1 of 1 | 100.0% | 20.7% to 100.0% |" in card
    assert "Rules of settling: settling-1." in card
    assert "questions: 2 of 4 in the bank" in card
