"""The reading page itself: a shell, and who is sent elsewhere."""

from __future__ import annotations

import re

import pytest

from annotation.enums import Role
from annotation.models import Membership, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.models import Enrolment, ReaderStudy, Reading, StudyRole
from tests.annotation.review.cases import NOON, OPTIONS, SECRETS
from tests.readerstudy.reading.page import ReadingPage, new_key
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db
ROOM = "/read/trial/room/"


@pytest.fixture
def page(rita: User) -> ReadingPage:
    enrol(make_study(n_cases=2), rita)
    return ReadingPage(rita, "trial")


def test_the_page_holds_nothing_of_a_case(page: ReadingPage) -> None:
    answer = page.client.get(ROOM)
    assert answer.status_code == 200
    text = re.sub(r'<script id="keys".*?</script>', "", answer.content.decode())  # names what every key does
    assert not [word for word in (*OPTIONS, *SECRETS.values(), "Which finding") if len(word) > 1 and word in text]
    assert "no-store" in answer["Cache-Control"]
    assert "/read/trial/session/" in text
    assert "c0ffee" in text


@pytest.mark.parametrize("step", ["consented_at", "instructed_at", "display_checked_at"])
def test_the_steps_in_front_come_first(page: ReadingPage, step: str) -> None:
    Enrolment.objects.update(**{step: None})
    assert page.client.get(ROOM)["Location"] == "/read/trial/"


def test_so_do_the_facts_about_the_reader(page: ReadingPage) -> None:
    Enrolment.objects.update(facts={})
    assert page.client.get(ROOM)["Location"] == "/read/trial/"
    assert page.post("session").status_code == 404


@pytest.mark.parametrize("over", [{"state": "closed"}, {"deadline_at": NOON}])
def test_who_cannot_read_any_more_is_told_at_the_entry(page: ReadingPage, over: dict[str, object]) -> None:
    ReaderStudy.objects.update(**over)
    assert page.client.get(ROOM)["Location"] == "/read/trial/"


def test_who_has_finished_goes_on(page: ReadingPage) -> None:
    for case in page.begin()["state"]["cases"]:
        page.read(case)
    assert page.client.get(ROOM)["Location"] == "/read/trial/"


def test_who_has_finished_says_first_what_is_asked_about_the_last_answer(rita: User) -> None:
    enrol(make_study("Second", n_cases=1, rules=Rules(cannot_tell=True)), rita)
    page = ReadingPage(rita, "second")
    case = page.begin()["state"]["cases"][0]
    page.open(case["id"])
    state = page.commit(case["id"], "", *page.watch(case, 0, 1500), declined="yes").json()["state"]
    assert (state["finished"], state["last"]["needs_guess"]) == (True, True)
    assert page.client.get("/read/second/room/").status_code == 200
    page.post("remark", case["id"], kind="guess", value="A", key=new_key())
    assert page.client.get("/read/second/room/")["Location"] == "/read/second/"


def test_who_did_not_pass_the_practice_is_told_so(rita: User) -> None:
    enrol(make_study("Second", n_practice=1, rules=Rules(practice_pass=1), contact="cora@example.org"), rita)
    Enrolment.objects.update(practised_at=None)
    page = ReadingPage(rita, "second")
    state = page.read(page.begin()["state"]["cases"][0], "A").json()["state"]
    assert (state["finished"], state["next"], state["cases"]) == (True, "/read/second/room/", [])
    text = page.client.get(state["next"]).content.decode()
    assert "cora@example.org" in text
    assert "let you continue" in text
    assert 'href="/read/"' in text
    assert 'href="/read/second/room/"' in text


@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.ADMINISTRATOR, None])
def test_no_case_opens_for_who_could_look_the_answers_up(page: ReadingPage, rita: User, role: Role | None) -> None:
    """They got both roles before either was refused; giving one up is enough."""
    study = ReaderStudy.objects.get()
    given: Membership | StudyRole = (
        Membership.objects.create(user=rita, role=role, granted_at=NOON)
        if role
        else StudyRole.objects.create(user=rita, study=study, granted_at=NOON)
    )
    answer = page.client.get(ROOM)
    assert answer.status_code == 403
    assert "no case opens until you give up one of the two" in answer.content.decode()
    refused = page.post("session")
    assert (refused.status_code, refused.json()["reason"]) == (409, "keys_at_hand")
    assert not Reading.objects.exists()
    given.delete()
    assert page.client.get(ROOM).status_code == 200
    assert page.begin()["writer"]
