"""The list of images and the page of one, for coordinators."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.enums import ImageState
from annotation.models import AuditEvent, Exam, Image, QuestionBank, User

from .conftest import MakeImage


def test_the_list_filters_and_says_what_is_missing(
    client: Client, cora: User, make_image: MakeImage, bank: QuestionBank
) -> None:
    client.force_login(cora)
    assert "No image is here yet" in client.get(reverse("images")).content.decode()
    make_image(attribution="Institute X")
    Image.objects.create(exam=Exam.objects.create(bank=bank, pseudonym="E1"))
    page = client.get(reverse("images")).content.decode()
    assert "2 images" in page
    assert "Institute X" in page
    assert "missing" in page
    pending = client.get(reverse("images"), {"state": "pending", "bank": "bank"}).content.decode()
    assert "Institute X" not in pending
    assert "their files are missing" in pending
    fragment = client.get(reverse("images"), headers={"HX-Request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<div id="image-list">')
    assert client.get(reverse("images"), {"state": "nonsense"}).status_code == 200


def test_the_list_asks_as_much_for_many_as_for_few(
    client: Client, cora: User, make_image: MakeImage, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        make_image()
    client.force_login(cora)
    with django_assert_max_num_queries(8):
        assert client.get(reverse("images")).status_code == 200


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (ImageState.AVAILABLE, "data-viewer"),
        (ImageState.PENDING, "a question names it"),
        (ImageState.CHECKING, "waiting to be searched"),
        (ImageState.QUARANTINED, "is in quarantine"),
        (ImageState.REMOVED, "was removed"),
    ],
)
def test_the_page_in_each_state(
    client: Client, cora: User, make_image: MakeImage, state: ImageState, words: str
) -> None:
    image = make_image(state)
    client.force_login(cora)
    page = client.get(reverse("image", args=[image.public_id])).content.decode()
    assert words in page
    assert ("/images/" + image.renditions.all()[0].name in page) is (state == ImageState.AVAILABLE)


def test_a_view_is_corrected_with_an_audit_row(client: Client, cora: User, make_image: MakeImage) -> None:
    image = make_image()
    client.force_login(cora)
    address = reverse("image-view", args=[image.public_id])
    assert client.post(address, {"view_position": "LL", "laterality": "L"}).status_code == 302
    image.refresh_from_db()
    assert (image.view_position, image.laterality) == ("LL", "L")
    event = AuditEvent.objects.get(act="image.view_corrected")
    assert event.facts == {"before": ["unknown", ""], "after": ["LL", "L"]}
    client.post(address, {"view_position": "LL", "laterality": "L"})
    assert AuditEvent.objects.filter(act="image.view_corrected").count() == 1
    refused = client.post(address, {"view_position": "XX"}, follow=True)
    assert "Select a valid choice" in refused.content.decode()
    assert client.get(address).status_code == 405


@pytest.mark.logs("image.credited")
def test_credits_are_stored(client: Client, cora: User, make_image: MakeImage) -> None:
    image = make_image()
    client.force_login(cora)
    address = reverse("image-credits", args=[image.public_id])
    client.post(address, {"attribution": "Institute <X>", "licence": "CC0"})
    image.refresh_from_db()
    assert (image.attribution, image.licence) == ("Institute <X>", "CC0")
    assert "Institute <X>" not in client.get(reverse("image", args=[image.public_id])).content.decode()
    refused = client.post(address, {"attribution": "x" * 301}, follow=True)
    assert "at most 300 characters" in refused.content.decode()


def test_a_coordinator_can_quarantine(client: Client, cora: User, make_image: MakeImage) -> None:
    image = make_image()
    client.force_login(cora)
    address = reverse("image-quarantine", args=[image.public_id])
    refused = client.post(address, {"reason": ""}, follow=True)
    assert "Say in a few words why." in refused.content.decode()
    client.post(address, {"reason": "a name on the collar"})
    image.refresh_from_db()
    assert image.state == ImageState.QUARANTINED
    assert client.get(reverse("image", args=["nothing"])).status_code == 404
