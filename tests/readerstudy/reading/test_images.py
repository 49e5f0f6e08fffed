"""Which images a reader may fetch, and that they stay as they were frozen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.enums import ImageState, ViewPosition
from annotation.ingest.describing import correct_view, set_credits
from annotation.ingest.kernels.credits import IngestRefused
from annotation.ingest.quarantine import mask, quarantine_image, release, remove
from annotation.ingest.serving import may_see
from annotation.models import Exam, Image, Rendition, User
from readerstudy.models import Enrolment, PresentedCase, ReaderStudy
from readerstudy.reading.showing import shows_images
from tests.annotation.review.pixels import give_pixels
from tests.conftest import NOON
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, images_of
from tests.readerstudy.reading.page import ReadingPage
from tests.readerstudy.studies import later
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(desk_with: MakeDesk) -> Desk:
    return desk_with(n_cases=6)


def shown(desk: Desk, seconds: float = 0) -> list[int]:
    """The places whose images this reader may fetch then."""
    return [place.position for place in desk.places if shows_images(desk.reader.pk, first_image(place), later(seconds))]


def test_those_of_the_armed_cases_and_of_the_last_one(desk: Desk) -> None:
    assert shown(desk) == [1, 2, 3]
    desk.read(desk.places[0], seconds=1)
    assert shown(desk) == [1, 2, 3, 4]
    desk.read(desk.places[1], seconds=20)
    assert shown(desk) == [2, 3, 4, 5]


@pytest.mark.parametrize("over", [{"withdrawn_at": later(1)}, {"replaced_at": later(1)}, {"consented_at": None}])
def test_none_to_a_reader_who_is_not_taking_part(desk: Desk, over: dict[str, object]) -> None:
    Enrolment.objects.update(**over)
    assert shown(desk) == []


@pytest.mark.parametrize("state", ["frozen", "closed", "analysed"])
def test_none_when_the_study_is_not_open(desk: Desk, state: str) -> None:
    ReaderStudy.objects.update(state=state)
    assert shown(desk) == []


def test_none_after_the_deadline_of_the_reader(desk: Desk) -> None:
    desk.read(desk.places[0], seconds=1)
    ReaderStudy.objects.update(deadline_at=later(60))
    assert [shown(desk, 60), shown(desk, 61)] == [[1, 2, 3, 4], []]
    Enrolment.objects.update(deadline_at=later(120))
    assert [shown(desk, 120), shown(desk, 121)] == [[1, 2, 3, 4], []]


def test_readers_are_asked_about_before_coordinators_are(
    desk_with: MakeDesk, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Readers fetch every image of a study; coordinators look at a few."""
    desk = desk_with(n_cases=4, pixels=True)
    image = first_image(desk.places[0])
    reader = User.objects.get(pk=desk.reader.pk)
    with django_assert_num_queries(3):  # what a reviewer sees, where this person reads the exam, what is prefetched
        assert may_see(reader, image, at=later(1))


def test_asking_for_the_deadline_costs_no_query(desk: Desk, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    ReaderStudy.objects.update(deadline_at=later(60))
    image = first_image(desk.places[0])
    with django_assert_num_queries(2):  # where this person reads with the image, and whether a prefetched case shows it
        assert shows_images(desk.reader.pk, image, later(1))
    with django_assert_num_queries(1):
        assert not shows_images(desk.reader.pk, image, later(61))


def test_none_of_the_main_block_during_practice(desk_with: MakeDesk) -> None:
    desk = desk_with(n_practice=2)
    Enrolment.objects.update(practised_at=None)
    assert shown(desk) == []


def test_none_to_somebody_else(desk: Desk, remo: User) -> None:
    assert not shows_images(remo.pk, first_image(desk.places[0]), later(0))


def test_the_server_gives_them_out_by_this_rule(desk_with: MakeDesk) -> None:
    desk = desk_with(n_cases=4, pixels=True)
    client = Client()
    client.force_login(desk.reader)
    status = [client.get(reverse("rendition", args=[name_of(place)])).status_code for place in desk.places]
    assert status == [200, 200, 200, 404]


def name_of(place: PresentedCase) -> str:
    return Rendition.objects.get(image=first_image(place), kind="full").name


def first_image(place: PresentedCase) -> Image:
    return Image.objects.get(public_id=images_of(place)[0])


# --- as they were frozen ---------------------------------------------------------------------------
@pytest.fixture
def pictured(desk_with: MakeDesk) -> Desk:
    return desk_with(n_cases=3, pixels=True)


@pytest.fixture
def page(pictured: Desk) -> ReadingPage:
    page = ReadingPage(pictured.reader, pictured.enrolment.study.slug)
    page.begin(take="yes")
    return page


def first_picture(pictured: Desk) -> Image:
    return Image.objects.get(public_id=images_of(pictured.places[0])[0])


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
def test_what_is_said_of_an_image_waits_for_the_next_study(what: str, pictured: Desk, page: ReadingPage) -> None:
    before = page.state()
    CHANGES[what](first_picture(pictured))
    assert page.state() == before
    view = before["cases"][0]["views"][0]
    assert page.client.get(view["full"]).status_code == 200
    assert page.read(before["cases"][0]).status_code == 200  # the page that was loaded is believed


@pytest.mark.parametrize("act", [remove, lambda image, **who: mask(image, [(0, 0, 9, 9)], **who)])
def test_pixels_that_are_being_read_are_neither_changed_nor_removed(act: Any, pictured: Desk, dina: User) -> None:
    image = first_picture(pictured)
    quarantine_image(image, reason="a name", actor=dina, at=NOON)
    image.refresh_from_db()
    names = set(Rendition.objects.filter(image=image).values_list("name", flat=True))
    with refuses(IngestRefused, "being_read", match="This image is being read in “Trial”"):
        act(image, reason="a name", actor=dina, at=NOON)
    assert set(Rendition.objects.filter(image=image).values_list("name", flat=True)) == names
    assert Image.objects.get(pk=image.pk).state == ImageState.QUARANTINED


def test_an_image_in_quarantine_leaves_a_placeholder_in_its_case(pictured: Desk, page: ReadingPage, dina: User) -> None:
    """Nobody sees who the patient is, and nobody answers "both views" on one without a word."""
    image, before = first_picture(pictured), page.state()["cases"][0]
    quarantine_image(image, reason="a name", actor=dina, at=NOON)
    now = page.state()["cases"][0]
    assert [view["id"] for view in now["views"]] == [before["views"][1]["id"]]
    assert now["withheld"] == [{"id": image.public_id, "view": "PA", "why": "withheld (possible patient data)"}]
    assert page.client.get(before["views"][0]["full"]).status_code == 404
    assert page.read(now).status_code == 200
    release(Image.objects.get(pk=image.pk), reason="it was a marker", actor=dina, at=NOON)
    assert page.client.get(before["views"][0]["full"]).status_code == 200


def test_a_coordinator_is_told_that_readers_go_on_seeing_what_was_frozen(pictured: Desk, cora: User) -> None:
    client = Client()
    client.force_login(cora)
    address = reverse("image-credits", args=[first_picture(pictured).public_id])
    told = client.post(address, {"attribution": "A hospital", "licence": ""}, follow=True).content.decode()
    assert "Readers of “Trial” go on seeing what was frozen" in told


def test_whoever_removes_an_image_that_is_being_read_is_told_why_not(pictured: Desk, dina: User) -> None:
    image = first_picture(pictured)
    quarantine_image(image, reason="a name", actor=dina, at=NOON)
    client = Client()
    client.force_login(dina)
    told = client.post(reverse("quarantine-remove", args=[image.public_id]), {"reason": "a name"}, follow=True)
    assert "it can be changed or removed when the study is closed" in told.content.decode()
    assert Image.objects.get(pk=image.pk).state == ImageState.QUARANTINED
