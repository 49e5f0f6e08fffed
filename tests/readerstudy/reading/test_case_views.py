"""The reading page over HTTP: the room, opening, choosing, events, remarks and breaks."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db.models import F
from django.http import HttpResponseBase
from django.test import Client
from django.urls import reverse

from annotation.enums import Role
from annotation.models import Membership, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enums import StudyState
from readerstudy.exports.columns import response_columns
from readerstudy.exports.responses import response_rows
from readerstudy.models import Enrolment, ReaderStudy, Reading, Remark, StudyRole, TimingEvent
from tests.annotation.review.cases import OPTIONS, SECRETS
from tests.conftest import NOON
from tests.readerstudy.reading.page import ReadingPage, new_key
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(rita: User) -> ReadingPage:
    study = make_study(n_cases=5, rules=Rules(confidence=True, time_limit_s=600))
    enrol(study, rita)
    return ReadingPage(rita, study.slug)


def test_opening_says_how_the_case_stands(page: ReadingPage) -> None:
    first, second, *_rest = page.begin()["state"]["cases"]
    answer = page.open(first["id"])
    told = answer.json()
    assert told.pop("state")["cases"][0]["stem"], "a limited case gets its text with its opening"
    assert told == {"opened": True, "closed": False, "seconds_left": None, "choice": "", "choice_sequence": 0}
    assert page.tell(first["id"], page.painted(first, 0)).status_code == 204
    assert page.choose(first["id"], "B").status_code == 204
    again = page.open(first["id"]).json()
    assert (again["choice"], again["choice_sequence"]) == ("B", 1)
    assert 590 < again["seconds_left"] <= 600
    assert page.open(second["id"]).json()["reason"] == "not_yet"
    page.commit(first["id"], "B")
    closed = page.open(first["id"]).json()
    assert (closed["closed"], closed["choice"]) == (True, "")


def test_a_script_that_lies_about_its_time_is_seen_in_export_and_codebook(page: ReadingPage) -> None:
    """For the server 25 seconds go by between opening and answer; the script tells of 3."""
    first = page.begin()["state"]["cases"][0]
    page.open(first["id"])
    page.tell(first["id"], page.painted(first, 0))
    earlier = {name: F(name) - timedelta(seconds=25) for name in ("opened_at", "painted_at", "deadline_at")}
    Reading.objects.update(**earlier)
    assert page.commit(first["id"], "B", page.event("submitted", 3_000)).json()["stored"]["state"] == "answered"
    columns = response_columns(with_key=False)
    place = [column.name for column in columns].index("time_flags")
    rows = list(response_rows(ReaderStudy.objects.get(), with_key=False))
    assert "apart_from_server" in str(rows[0][place]).split("|"), "the export has to say which answers are in doubt"
    assert "apart_from_server (differs from the server's time" in columns[place].values


def test_the_way_from_confidence_to_the_next_case(page: ReadingPage) -> None:
    first, second, *_rest = page.begin()["state"]["cases"]
    state = page.read(first, "B").json()["state"]
    assert state["last"]["needs_confidence"]
    assert page.open(second["id"]).json()["reason"] == "confidence_missing"
    key = new_key()
    said = page.post("remark", first["id"], kind="confidence", value="80", key=key)
    assert said.json() == {"stored": {"key": key, "kind": "confidence", "value": "80"}}
    assert not page.state()["last"]["needs_confidence"]
    assert page.open(second["id"]).status_code == 200
    late = page.post("remark", first["id"], kind="confidence", value="60", key=new_key())
    assert (late.status_code, late.json()["reason"]) == (409, "too_late")


def test_the_way_from_a_best_guess_to_the_next_case(rita: User) -> None:
    """The answers to "cannot tell" and to a guess hold nothing that tells whether it is right."""
    enrol(make_study("Second", n_cases=5, rules=Rules(confidence=True, cannot_tell=True)), rita)
    page = ReadingPage(rita, "second")
    first, second, *_rest = page.begin()["state"]["cases"]
    page.open(first["id"])
    declined = page.commit(first["id"], "", *page.watch(first, 0, 1500), declined="yes").json()
    last = declined["state"]["last"]
    assert declined["feedback"] is None
    assert (last["needs_guess"], last["needs_confidence"], last["may_slip"], last["option"]) == (True, False, False, "")
    assert (last["stem"], last["options"]) == (first["stem"], first["options"])
    assert page.open(second["id"]).json()["reason"] == "guess_missing"
    key = new_key()
    said = page.post("remark", first["id"], kind="guess", value="C", key=key)
    assert said.json() == {"stored": {"key": key, "kind": "guess", "value": "C"}}
    last = page.state()["last"]
    assert (last["needs_guess"], last["needs_confidence"], last["stem"], last["options"]) == (False, True, "", [])
    assert page.open(second["id"]).json()["reason"] == "confidence_missing"
    page.post("remark", first["id"], kind="confidence", value="25", key=new_key())
    assert page.open(second["id"]).status_code == 200
    late = page.post("remark", first["id"], kind="guess", value="A", key=new_key())
    assert (late.status_code, late.json()["reason"]) == (409, "too_late")
    assert list(Remark.objects.values_list("kind", "value")) == [("guess", "C"), ("confidence", "25")]


@pytest.mark.parametrize(
    ("changed", "status", "reason"),
    [({"session": "another page 000"}, 409, "not_the_writer"), ({"value": "E"}, 422, "malformed")],
)
def test_what_is_wrong_with_a_guess(rita: User, changed: dict[str, str], status: int, reason: str) -> None:
    enrol(make_study("Second", rules=Rules(cannot_tell=True)), rita)
    page = ReadingPage(rita, "second")
    first = page.begin()["state"]["cases"][0]
    page.open(first["id"])
    page.commit(first["id"], "", *page.watch(first, 0, 1500), declined="yes")
    refused = page.post("remark", first["id"], **{"kind": "guess", "value": "A", "key": new_key(), **changed})
    assert (refused.status_code, refused.json()["reason"]) == (status, reason)
    assert not Remark.objects.exists()
    assert page.state()["last"]["needs_guess"]


def test_a_guess_after_closing_and_on_the_place_of_another_reader(rita: User, remo: User) -> None:
    study = make_study("Second", rules=Rules(cannot_tell=True))
    enrol(study, rita), enrol(study, remo)
    page, other = ReadingPage(rita, "second"), ReadingPage(remo, "second")
    first = page.begin()["state"]["cases"][0]
    other.begin()
    page.open(first["id"])
    page.commit(first["id"], "", *page.watch(first, 0, 1500), declined="yes")
    said = {"kind": "guess", "value": "A"}
    assert other.post("remark", first["id"], key=new_key(), **said).status_code == 404
    ReaderStudy.objects.filter(pk=study.pk).update(state="closed")
    refused = page.post("remark", first["id"], key=new_key(), **said)
    assert (refused.status_code, refused.json()["reason"]) == (409, "study_closed")
    assert not Remark.objects.exists()


def test_a_remark_that_fits_nothing_is_422(page: ReadingPage) -> None:
    first = page.begin()["state"]["cases"][0]
    page.read(first, "B")
    for fields in ({"kind": "slip", "value": "B"}, {"kind": "confidence", "value": "50"}, {"kind": "fault"}):
        refused = page.post("remark", first["id"], key=new_key(), **fields)
        assert (refused.status_code, refused.json()["reason"]) == (422, "malformed")
    assert not Remark.objects.exists()


def test_an_older_choice_is_acknowledged_and_changes_nothing(page: ReadingPage) -> None:
    first = page.begin()["state"]["cases"][0]
    page.open(first["id"])
    assert page.choose(first["id"], "C", 7).status_code == 204
    assert page.choose(first["id"], "A", 6).status_code == 204
    assert Reading.objects.get().choice == "C"


@pytest.mark.parametrize("sequence", ["", "-1", "x", "99999999999", "٣"])
def test_a_choice_is_counted(page: ReadingPage, sequence: str) -> None:
    first = page.begin()["state"]["cases"][0]
    page.open(first["id"])
    assert page.post("choice", first["id"], option="A", sequence=sequence).status_code == 422


def test_events_that_cannot_be_read_are_refused_whole(page: ReadingPage) -> None:
    first = page.begin()["state"]["cases"][0]
    assert page.tell(first["id"], page.painted(first, 0)).json()["reason"] == "not_opened"
    page.open(first["id"])
    refused = page.tell(first["id"], page.painted(first, 0), {"kind": "opened"})
    assert (refused.status_code, refused.json()["reason"]) == (422, "malformed")
    assert TimingEvent.objects.exclude(page="server").count() == 0


def test_a_break(page: ReadingPage) -> None:
    first = page.begin()["state"]["cases"][0]
    assert page.post("pause").json()["paused"]
    assert page.open(first["id"]).json()["reason"] == "paused"
    assert not page.post("resume").json()["paused"]
    assert page.open(first["id"]).status_code == 200


def test_a_study_without_breaks(rita: User) -> None:
    study = make_study("Second", rules=Rules(may_pause=False))
    enrol(study, rita)
    page = ReadingPage(rita, study.slug)
    page.begin()
    refused = page.post("pause")
    assert (refused.status_code, refused.json()["reason"]) == (409, "no_pause")


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


# --- the room --------------------------------------------------------------------------------------
ROOM = "/read/trial/room/"


@pytest.fixture
def plain(rita: User) -> ReadingPage:
    enrol(make_study(n_cases=2), rita)
    return ReadingPage(rita, "trial")


def test_the_page_holds_nothing_of_a_case(plain: ReadingPage) -> None:
    answer = plain.client.get(ROOM)
    assert answer.status_code == 200
    text = re.sub(r'<script id="keys".*?</script>', "", answer.content.decode())  # names what every key does
    assert not [word for word in (*OPTIONS, *SECRETS.values(), "Which finding") if len(word) > 1 and word in text]
    assert "no-store" in answer["Cache-Control"]
    assert "/read/trial/session/" in text
    assert "c0ffee" in text


@pytest.mark.parametrize("step", ["consented_at", "instructed_at", "display_checked_at"])
def test_the_steps_in_front_come_first(plain: ReadingPage, step: str) -> None:
    Enrolment.objects.update(**{step: None})
    assert plain.client.get(ROOM)["Location"] == "/read/trial/"


def test_so_do_the_facts_about_the_reader(plain: ReadingPage) -> None:
    Enrolment.objects.update(facts={})
    assert plain.client.get(ROOM)["Location"] == "/read/trial/"
    assert plain.post("session").status_code == 404


@pytest.mark.parametrize("over", [{"state": "closed"}, {"deadline_at": NOON}])
def test_who_cannot_read_any_more_is_told_at_the_entry(plain: ReadingPage, over: dict[str, object]) -> None:
    ReaderStudy.objects.update(**over)
    assert plain.client.get(ROOM)["Location"] == "/read/trial/"


def test_who_has_finished_goes_on(plain: ReadingPage) -> None:
    for case in plain.begin()["state"]["cases"]:
        plain.read(case)
    assert plain.client.get(ROOM)["Location"] == "/read/trial/"


def test_who_has_finished_says_first_what_is_asked_about_the_last_answer(rita: User) -> None:
    enrol(make_study("Second", n_cases=1, rules=Rules(cannot_tell=True)), rita)
    plain = ReadingPage(rita, "second")
    case = plain.begin()["state"]["cases"][0]
    plain.open(case["id"])
    state = plain.commit(case["id"], "", *plain.watch(case, 0, 1500), declined="yes").json()["state"]
    assert (state["finished"], state["last"]["needs_guess"]) == (True, True)
    assert plain.client.get("/read/second/room/").status_code == 200
    plain.post("remark", case["id"], kind="guess", value="A", key=new_key())
    assert plain.client.get("/read/second/room/")["Location"] == "/read/second/"


def test_who_did_not_pass_the_practice_is_told_so(rita: User) -> None:
    enrol(make_study("Second", n_practice=1, rules=Rules(practice_pass=1), contact="cora@example.org"), rita)
    Enrolment.objects.update(practised_at=None)
    plain = ReadingPage(rita, "second")
    state = plain.read(plain.begin()["state"]["cases"][0], "A").json()["state"]
    assert (state["finished"], state["next"], state["cases"]) == (True, "/read/second/room/", [])
    text = plain.client.get(state["next"]).content.decode()
    assert "cora@example.org" in text
    assert "let you continue" in text
    assert 'href="/read/"' in text
    assert 'href="/read/second/room/"' in text


@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.ADMINISTRATOR, None])
def test_no_case_opens_for_who_could_look_the_answers_up(plain: ReadingPage, rita: User, role: Role | None) -> None:
    """They got both roles before either was refused; giving one up is enough."""
    study = ReaderStudy.objects.get()
    given: Membership | StudyRole = (
        Membership.objects.create(user=rita, role=role, granted_at=NOON)
        if role
        else StudyRole.objects.create(user=rita, study=study, granted_at=NOON)
    )
    answer = plain.client.get(ROOM)
    assert answer.status_code == 403
    assert "no case opens until you give up one of the two" in answer.content.decode()
    refused = plain.post("session")
    assert (refused.status_code, refused.json()["reason"]) == (409, "keys_at_hand")
    assert not Reading.objects.exists()
    given.delete()
    assert plain.client.get(ROOM).status_code == 200
    assert plain.begin()["writer"]
