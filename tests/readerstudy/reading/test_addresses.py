"""What holds for every address of the reading page: who finds it, and that nothing is kept."""

from __future__ import annotations

import pytest
from django.http import HttpResponseBase
from django.test import Client
from django.urls import reverse

from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from tests.readerstudy.reading.page import ReadingPage

pytestmark = pytest.mark.django_db

OF_THE_STUDY = ("session", "pause", "resume")
OF_A_CASE = ("open", "choice", "events", "commit", "remark")
POSTED = (*OF_THE_STUDY, *OF_A_CASE)
ALL = (*POSTED, "state")


def address(name: str, place: str = "nowhere") -> str:
    return reverse(f"reading-{name}", args=["trial", place] if name in OF_A_CASE else ["trial"])


def ask(client: Client, name: str, place: str = "nowhere", **sent: object) -> HttpResponseBase:
    send = client.get if name == "state" else client.post
    answer: HttpResponseBase = send(address(name, place), **sent)  # type: ignore[arg-type]
    return answer


def test_a_login_that_has_ended_is_said_in_a_word(page: ReadingPage) -> None:
    statuses = {name: ask(Client(), name, HTTP_ACCEPT="application/json").status_code for name in ALL}
    assert statuses == dict.fromkeys(ALL, 401)


@pytest.mark.parametrize("state", [StudyState.DRAFT, StudyState.FROZEN])
def test_a_study_that_was_never_open_is_not_there(page: ReadingPage, state: StudyState) -> None:
    ReaderStudy.objects.update(state=state)
    assert {name: ask(page.client, name).status_code for name in ALL} == dict.fromkeys(ALL, 404)


@pytest.mark.parametrize("place", ["nowhere", "é"])
def test_a_case_that_is_not_in_the_order_is_not_there(page: ReadingPage, place: str) -> None:
    page.begin()
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
    statuses = {name: ask(page.client, name, place, data=sent).status_code for name in OF_A_CASE}
    assert statuses == dict.fromkeys(OF_A_CASE, 404)


def test_no_cache_keeps_an_answer(page: ReadingPage) -> None:
    page.begin()
    for name in (*OF_A_CASE, "state", *OF_THE_STUDY):
        answer = ask(page.client, name, data={"session": page.session})
        if answer.status_code != 404:  # the page of an error says nothing of a case
            assert "no-store" in answer["Cache-Control"], name
            assert "ETag" not in answer, name


def test_a_form_of_another_site_is_refused(page: ReadingPage) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies = page.client.cookies
    assert {name: ask(client, name).status_code for name in POSTED} == dict.fromkeys(POSTED, 403)
