"""Asking for the write lease, and for the state, over HTTP."""

from __future__ import annotations

import pytest

from annotation.models import User
from readerstudy.models import Enrolment, ReaderStudy, ReadingSession
from tests.annotation.review.cases import NOON
from tests.readerstudy.reading.page import ReadingPage

pytestmark = pytest.mark.django_db


def test_the_first_page_gets_the_pen_and_the_cases(page: ReadingPage) -> None:
    found = page.begin(device='{"window": [1366, 768]}')
    session = ReadingSession.objects.get()
    assert (found["writer"], found["session"], session.device) == (True, session.public_id, {"window": [1366, 768]})
    assert len(found["state"]["cases"]) == 3
    assert found["state"]["session"] == session.public_id


@pytest.mark.parametrize("device", ["", "no json", "[1]", '{"a": "\\u0000"}', '{"a": "\\ud800"}', "{" * 3_000])
def test_what_a_device_says_of_itself_stops_nobody(page: ReadingPage, device: str) -> None:
    assert page.begin(device=device)["writer"]
    assert ReadingSession.objects.get().device == {}


def test_the_second_page_looks_on_and_can_take_over(page: ReadingPage, rita: User) -> None:
    page.begin()
    second = ReadingPage(rita, page.slug)
    found = second.begin()
    assert (found["writer"], found["state"]["cases"], found["state"]["writer"]) == (False, [], False)
    assert found["since"] == ReadingSession.objects.get().started_at.isoformat()
    assert second.begin(take="yes")["writer"]
    assert (page.state()["writer"], page.state()["cases"]) == (False, [])
    refused = page.open(second.state()["cases"][0]["id"])
    assert (refused.status_code, refused.json()["reason"]) == (409, "not_the_writer")
    assert refused.json()["message"]


@pytest.mark.parametrize(
    ("study", "enrolment", "reason"),
    [
        ({"state": "closed"}, {}, "study_closed"),
        ({"state": "analysed"}, {}, "study_closed"),
        ({"deadline_at": NOON}, {}, "deadline_passed"),
        ({}, {"withdrawn_at": NOON}, "withdrawn"),
    ],
)
def test_the_end_of_reading_is_said_with_its_reason(
    page: ReadingPage, study: dict[str, object], enrolment: dict[str, object], reason: str
) -> None:
    page.begin()
    if study:
        ReaderStudy.objects.update(**study)
    if enrolment:
        Enrolment.objects.update(**enrolment)
    refused = page.post("session")
    assert (refused.status_code, refused.json()["reason"]) == (409, reason)
    assert page.state()["cases"] == []


def test_the_steps_in_front_come_first(page: ReadingPage) -> None:
    Enrolment.objects.update(display_checked_at=None)
    assert page.post("session").status_code == 404
    assert page.state()["cases"] == []


def test_the_last_case_leads_on(page: ReadingPage) -> None:
    for case in page.begin()["state"]["cases"]:
        assert page.read(case).status_code == 200
    found = page.state()
    assert (found["finished"], found["next"], found["cases"]) == (True, "/read/trial/", [])
