"""What holds for every address of the reading page: who is let in, by which method, and that nothing is kept."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import User
from readerstudy.models import ReaderStudy
from tests.readerstudy.reading.page import ReadingPage
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db

OF_THE_STUDY = ("session", "pause", "resume")
OF_A_CASE = ("open", "choice", "events", "commit", "remark")
POSTED = (*OF_THE_STUDY, *OF_A_CASE)


@pytest.fixture
def page(rita: User) -> ReadingPage:
    study = make_study()
    enrol(study, rita)
    return ReadingPage(rita, study.slug)


def address(name: str, place: str = "nowhere") -> str:
    return reverse(f"reading-{name}", args=["trial", place] if name in OF_A_CASE else ["trial"])


@pytest.mark.parametrize("name", POSTED)
def test_acts_are_posted(page: ReadingPage, name: str) -> None:
    assert page.client.get(address(name)).status_code == 405


def test_the_state_is_asked_for(page: ReadingPage) -> None:
    assert page.client.post(address("state")).status_code == 405


@pytest.mark.parametrize("name", [*POSTED, "state"])
def test_a_login_that_has_ended_is_said_in_a_word(page: ReadingPage, name: str) -> None:
    ask = Client().get if name == "state" else Client().post
    assert ask(address(name), HTTP_ACCEPT="application/json").status_code == 401


@pytest.mark.parametrize("name", [*POSTED, "state"])
@pytest.mark.parametrize("who", ["stan", "cora", "ada"])
def test_nobody_else_finds_a_reading(page: ReadingPage, name: str, who: str, request: pytest.FixtureRequest) -> None:
    client = Client()
    client.force_login(request.getfixturevalue(who))
    ask = client.get if name == "state" else client.post
    assert ask(address(name)).status_code == 404


@pytest.mark.parametrize("name", [*POSTED, "state"])
@pytest.mark.parametrize("state", ["draft", "frozen"])
def test_a_study_that_was_never_open_is_not_there(page: ReadingPage, name: str, state: str) -> None:
    ReaderStudy.objects.update(state=state)
    ask = page.client.get if name == "state" else page.client.post
    assert ask(address(name)).status_code == 404


@pytest.mark.parametrize("name", OF_A_CASE)
@pytest.mark.parametrize("place", ["nowhere", "é"])
def test_a_case_that_is_not_in_the_order_is_not_there(page: ReadingPage, name: str, place: str) -> None:
    page.begin()
    where = address(name).replace("nowhere", place)
    sent = {
        "session": page.session,
        "option": "A",
        "sequence": "1",
        "key": page.name,
        "page": page.name,
        "events": "[]",
        "kind": "fault",
        "text": "words",
    }
    assert page.client.post(where, sent).status_code == 404


@pytest.mark.parametrize("name", [*POSTED, "state"])
def test_no_cache_keeps_an_answer(page: ReadingPage, name: str) -> None:
    page.begin()
    ask = page.client.get if name == "state" else page.client.post
    answer = ask(address(name), {"session": page.session})
    if answer.status_code != 404:  # the page of an error says nothing of a case
        assert "no-store" in answer["Cache-Control"]
        assert "ETag" not in answer


@pytest.mark.parametrize("name", POSTED)
def test_a_form_of_another_site_is_refused(page: ReadingPage, name: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies = page.client.cookies
    assert client.post(address(name)).status_code == 403
