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
from annotation.models import AuditEvent, Image, User
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
    assert stated_views() == [
        StatedView("LIGGEND", ViewPosition.UNKNOWN, 2),
        StatedView("Z Q", ViewPosition.UNKNOWN, 1),
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


def test_without_such_words_the_page_says_so(client: Client, cora: User) -> None:
    client.force_login(cora)
    assert "Every view that a file stated was understood" in markup(client.get(reverse("views-said")))
