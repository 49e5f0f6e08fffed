"""Real questions on real radiographs, from an empty site to the exported reviews: by commands and pages alone."""

from __future__ import annotations

import csv
import io
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from annotation.enums import ImageState
from annotation.models import AnswerKey, Assignment, Image, Review, SamplingPlan, User
from tests.annotation.case.sent import seen
from tests.annotation.review.cases import as_post, good_judgement

pytestmark = pytest.mark.django_db
N_QUESTIONS, N_IMAGES = 8, 4


def told(command: str, *arguments: object) -> dict[str, Any]:
    out = StringIO()
    call_command(command, *map(str, arguments), "--json", stdout=out, stderr=StringIO())
    facts: dict[str, Any] = json.loads(out.getvalue())
    return facts


@pytest.fixture
def bank(settings: Settings, tmp_path: Path, shared_data: Path) -> str:
    settings.MEDIA_ROOT, settings.TEMP_ROOT = tmp_path / "media", tmp_path / "tmp"
    settings.TEMP_ROOT.mkdir()
    layout = shared_data / "rexvqa_release_layout"
    read = told("import_questions", layout / "metadata/test_vqa_data.json", "--bank", "Real")
    assert (read["created"], read["rejected"], read["images"]) == (N_QUESTIONS, 0, N_IMAGES)
    taken = told("ingest_images", layout / "deid_png", "--bank", "Real")
    assert (taken["images"], taken["quarantined"], taken["refused"]) == (N_IMAGES, 0, [])
    return "Real"


def review(browser: Client, case: Assignment) -> None:
    """Answer as the key says, having seen every image of the exam; then judge everything good."""
    images = case.revision.question.exam.images.order_by("position").values_list("public_id", flat=True)
    page = browser.get(reverse("review-case", args=[case.public_id])).content.decode()
    assert all(image in page for image in images)
    answer = {"best": AnswerKey.objects.get(revision=case.revision).key, "defensible": [], "difficulty": "easy"}
    to_answer, to_submit = (reverse(f"review-{act}", args=[case.public_id]) for act in ("answer", "submit"))
    assert browser.post(to_answer, {**answer, **seen(list(images))}).status_code == 302
    judged = {**as_post(good_judgement()), **seen(list(images), step="judge", first=3, start=12.0, end=30.0)}
    assert browser.post(to_submit, judged).status_code == 302


def test_from_a_file_to_the_exported_reviews(
    client: Client, bank: str, cora: User, rita: User, remo: User, tmp_path: Path
) -> None:
    assert not Image.objects.exclude(state=ImageState.AVAILABLE).exists()
    client.force_login(cora)
    sent: dict[str, str | int] = {"bank": "real", "by": "difficulty", "rated_by": "stated"}
    sent |= {"per_thousand": 500, "seed": 1}
    frame = client.get(reverse("sample-new"), sent).context["found"].frame_sha256
    client.post(reverse("sample-new"), {**sent, "name": "Half", "frame_sha256": frame})
    assert SamplingPlan.objects.get().questions.count() == N_QUESTIONS / 2
    asked = {"name": "First", "sample": SamplingPlan.objects.get().slug, "per_question": 2, "steps": "full", "seed": 1}
    made = client.post(reverse("round-new"), {**asked, "reviewers": [rita.pk, remo.pk]})
    assert made.status_code == 302
    assert client.post(reverse("round-open", args=["first"])).status_code == 302
    for person in (rita, remo):
        browser = Client()
        browser.force_login(person)
        for case in Assignment.objects.filter(reviewer=person).order_by("position"):
            review(browser, case)
    assert Review.objects.count() == N_QUESTIONS

    path = tmp_path / "reviews.csv"
    call_command("export_reviews", "--round", "first", "--format", "csv", "--output", str(path), stdout=StringIO())
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
    assert len(rows) == N_QUESTIONS
    assert {row["verdict"] for row in rows} == {"accept"}
    downloaded = client.get(reverse("round-export", args=["first", "csv"]))
    assert b"".join(downloaded.streaming_content) == path.read_bytes()  # type: ignore[attr-defined]
