"""Readers of an open study see its images as they were frozen, whatever is done to them meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.enums import ImageState, ViewPosition
from annotation.ingest.describing import correct_view, set_credits
from annotation.ingest.kernels.credits import IngestRefused
from annotation.ingest.quarantine import mask, quarantine_image, release, remove
from annotation.models import Exam, Image, Rendition, User
from tests.annotation.review.cases import NOON
from tests.annotation.review.pixels import give_pixels
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, images_of
from tests.readerstudy.reading.page import ReadingPage
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(desk_with: MakeDesk) -> Desk:
    return desk_with(n_cases=3, pixels=True)


@pytest.fixture
def page(desk: Desk) -> ReadingPage:
    page = ReadingPage(desk.reader, desk.enrolment.study.slug)
    page.begin(take="yes")
    return page


def first_image(desk: Desk) -> Image:
    return Image.objects.get(public_id=images_of(desk.places[0])[0])


def add_view(image: Image) -> None:
    """As an exam file with the same Study Instance UID does."""
    give_pixels(Image.objects.create(exam=image.exam, position=5, view_position=ViewPosition.AP), seed=77)


def move_to_another_exam(image: Image) -> None:
    """As the import of another bank does that names its file."""
    Image.objects.filter(pk=image.pk).update(exam=Exam.objects.exclude(pk=image.exam_id)[0], position=9)


CHANGES: dict[str, Callable[[Image], object]] = {
    "view position": lambda image: correct_view(image, ViewPosition.AP, "R", actor=None, at=NOON),
    "credits": lambda image: set_credits(image, "KEY IS B", "CC BY", actor=None, at=NOON),
    "order": lambda image: Image.objects.filter(pk=image.pk).update(position=7),
    "another view": add_view,
    "another exam": move_to_another_exam,
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_said_of_an_image_waits_for_the_next_study(what: str, desk: Desk, page: ReadingPage) -> None:
    before = page.state()
    CHANGES[what](first_image(desk))
    assert page.state() == before
    view = before["cases"][0]["views"][0]
    assert page.client.get(view["full"]).status_code == 200
    assert page.read(before["cases"][0]).status_code == 200  # the page that was loaded is believed


@pytest.mark.parametrize("act", [remove, lambda image, **who: mask(image, [(0, 0, 9, 9)], **who)])
def test_pixels_that_are_being_read_are_neither_changed_nor_removed(act: Any, desk: Desk, dina: User) -> None:
    image = first_image(desk)
    quarantine_image(image, reason="a name", actor=dina, at=NOON)
    image.refresh_from_db()
    names = set(Rendition.objects.filter(image=image).values_list("name", flat=True))
    with refuses(IngestRefused, "being_read", match="This image is being read in “Trial”"):
        act(image, reason="a name", actor=dina, at=NOON)
    assert set(Rendition.objects.filter(image=image).values_list("name", flat=True)) == names
    assert Image.objects.get(pk=image.pk).state == ImageState.QUARANTINED


def test_an_image_in_quarantine_leaves_a_placeholder_in_its_case(desk: Desk, page: ReadingPage, dina: User) -> None:
    """Nobody sees who the patient is, and nobody answers "both views" on one without a word."""
    image, before = first_image(desk), page.state()["cases"][0]
    quarantine_image(image, reason="a name", actor=dina, at=NOON)
    now = page.state()["cases"][0]
    assert [view["id"] for view in now["views"]] == [before["views"][1]["id"]]
    assert now["withheld"] == [{"id": image.public_id, "view": "PA", "why": "withheld (possible patient data)"}]
    assert page.client.get(before["views"][0]["full"]).status_code == 404
    assert page.read(now).status_code == 200
    release(Image.objects.get(pk=image.pk), reason="it was a marker", actor=dina, at=NOON)
    assert page.client.get(before["views"][0]["full"]).status_code == 200


def test_a_coordinator_is_told_that_readers_go_on_seeing_what_was_frozen(desk: Desk, cora: User) -> None:
    client = Client()
    client.force_login(cora)
    address = reverse("image-credits", args=[first_image(desk).public_id])
    told = client.post(address, {"attribution": "A hospital", "licence": ""}, follow=True).content.decode()
    assert "Readers of “Trial” go on seeing what was frozen" in told


def test_whoever_removes_an_image_that_is_being_read_is_told_why_not(desk: Desk, dina: User) -> None:
    image = first_image(desk)
    quarantine_image(image, reason="a name", actor=dina, at=NOON)
    client = Client()
    client.force_login(dina)
    told = client.post(reverse("quarantine-remove", args=[image.public_id]), {"reason": "a name"}, follow=True)
    assert "it can be changed or removed when the study is closed" in told.content.decode()
    assert Image.objects.get(pk=image.pk).state == ImageState.QUARANTINED
