"""Views that files state and nobody understands: told after an import, and mapped by one act."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotation.enums import ViewPosition
from annotation.ingest.describing import StatedView, stated_views
from annotation.ingest.exams import ingest_paths
from annotation.models import AuditEvent, Exam, Image, QuestionBank, User
from tests.annotation.imaging.dicomfiles import make_dicom
from tests.pages import markup


@pytest.fixture
def films(home: Path, noon: datetime, db: None) -> None:
    folder = home / "films"
    folder.mkdir()
    for number, view in enumerate(("LIGGEND", "LIGGEND", "Z Q", "PA"), 1):
        uid = f"1.2.{number}"
        (folder / f"{number}.dcm").write_bytes(make_dicom(ViewPosition=view, SOPInstanceUID=uid, StudyInstanceUID=uid))
    ingest_paths([folder], bank=None, actor=None, at=noon)


def say(client: Client, words: str, view: str, means: str) -> str:
    sent = {"words": words, "view": view, "means": means}
    return markup(client.post(reverse("views-said"), sent, follow=True))


def test_one_act_maps_all_images_with_the_same_words(client: Client, films: None, cora: User) -> None:
    client.force_login(cora)
    first, _second, third = Image.objects.order_by("pk")[:3]
    assert stated_views() == [
        StatedView("LIGGEND", ViewPosition.UNKNOWN, 2, first.public_id),
        StatedView("Z Q", ViewPosition.UNKNOWN, 1, third.public_id),
    ]
    assert "The views of 2 images are changed." in say(client, "LIGGEND", "unknown", "AP")
    assert Image.objects.filter(view_position="AP").count() == 2
    facts = AuditEvent.objects.get(act="images.views_said").facts
    assert facts == {"before": "unknown", "after": "AP", "images": 2}
    say(client, "LIGGEND", "AP", "unknown")
    assert Image.objects.filter(view_position="unknown").count() == 3


@pytest.mark.parametrize(
    ("words", "view", "means"), [("LIGGEND", "PA", "AP"), ("PA", "PA", "AP"), ("Z Q", "unknown", "X")]
)
def test_what_is_not_on_the_page_changes_nothing(
    client: Client, films: None, cora: User, words: str, view: str, means: str
) -> None:
    client.force_login(cora)
    before = list(Image.objects.values_list("view_position", flat=True))
    assert "Nothing was changed." in say(client, words, view, means)
    assert list(Image.objects.values_list("view_position", flat=True)) == before


def test_rows_that_are_said_together_change_no_image_twice(client: Client, films: None, cora: User) -> None:
    client.force_login(cora)
    first, second = Image.objects.filter(view_position="unknown").order_by("pk")[:2]
    Image.objects.filter(pk=first.pk).update(view_position="PA")
    sent = {"words": ["LIGGEND"] * 2, "view": ["unknown", "PA"], "means": ["PA", "unknown"]}
    client.post(reverse("views-said"), sent)
    views = dict(Image.objects.values_list("pk", "view_position"))
    assert (views[first.pk], views[second.pk]) == ("unknown", "PA")


def test_images_in_the_bin_keep_their_view(client: Client, films: None, cora: User, noon: datetime) -> None:
    client.force_login(cora)
    image = Image.objects.filter(view_position="unknown").order_by("pk").first()
    assert image
    gone = QuestionBank.objects.create(name="Gone", slug="gone", created_at=noon, deleted_at=noon)
    Exam.objects.filter(pk=image.exam_id).update(bank=gone)
    assert "The view of 1 image is changed." in say(client, "LIGGEND", "unknown", "AP")
    image.refresh_from_db()
    assert image.view_position == ViewPosition.UNKNOWN


def test_words_that_are_not_shown_have_no_common_meaning(home: Path, noon: datetime, db: None) -> None:
    (home / "films").mkdir()
    for number, view in enumerate((b"<B>UP", b"T\xcaTE")):
        data = make_dicom(ViewPosition="12345", SOPInstanceUID=f"1.2.{number}", StudyInstanceUID=f"1.2.{number}")
        (home / "films" / f"{number}.dcm").write_bytes(data.replace(b"12345 ", view.ljust(6)))
    assert ingest_paths([home / "films"], bank=None, actor=None, at=noon).missed_views == {"?": 2}
    assert stated_views() == []


def test_without_such_words_the_page_says_so(client: Client, cora: User) -> None:
    client.force_login(cora)
    assert "No stated view waits for its meaning." in markup(client.get(reverse("views-said")))
