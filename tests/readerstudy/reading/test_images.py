"""Which images a reader may fetch."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.ingest.serving import may_see
from annotation.models import Image, Rendition, User
from readerstudy.models import Enrolment, PresentedCase, ReaderStudy
from readerstudy.reading.showing import shows_images
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, images_of
from tests.readerstudy.studies import later

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
