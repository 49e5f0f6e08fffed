"""Asking for the write lease, and for the state, over HTTP."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from annotation.models import AuditEvent, User
from readerstudy.enums import Refusal
from readerstudy.models import Enrolment, ReaderStudy, ReadingSession
from readerstudy.reading.case_opening import end_left_sessions
from readerstudy.reading.prefetched import ReadingRefused
from readerstudy.reading.sessions import take_write_lease
from tests.annotation.review.cases import NOON
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk
from tests.readerstudy.reading.page import ReadingPage
from tests.readerstudy.studies import enrol, later, make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def test_the_first_page_gets_the_pen_and_the_cases(page: ReadingPage) -> None:
    found = page.begin(device='{"window": [1366, 768]}')
    session = ReadingSession.objects.get()
    assert (found["writer"], found["session"]) == (True, session.public_id)
    assert session.device == {"window": [1366, 768], "conditions": []}
    assert len(found["state"]["cases"]) == 3
    assert found["state"]["session"] == session.public_id


@pytest.mark.parametrize(
    "device", ["", "no json", "[1]", '{"conditions": 1}', '{"a": "\\u0000"}', '{"a": "\\ud800"}', "{" * 3_000]
)
def test_what_a_device_says_of_itself_stops_nobody(page: ReadingPage, device: str) -> None:
    assert page.begin(device=device)["writer"]
    assert ReadingSession.objects.get().device == {"conditions": []}


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


# --- The pen: one page writes, the others look on ---
def other(desk: Desk) -> Desk:
    """A second page of the same reader."""
    return Desk(desk.enrolment)


def test_the_same_page_goes_on_by_its_token(desk: Desk) -> None:
    token = desk.token
    assert desk.begin(30).session == token
    assert ReadingSession.objects.get().seen_at == later(30)


def test_a_second_page_looks_on_while_the_first_is_alive(desk: Desk) -> None:
    lease = other(desk).begin(45)
    assert (lease.session, lease.since) == (None, later(0))
    assert ReadingSession.objects.count() == 1


def test_taking_over_ends_the_other_session_and_is_in_the_audit_log(desk: Desk) -> None:
    second = other(desk)
    assert second.begin(10, take_over=True).session
    ended = ReadingSession.objects.get(public_id=desk.token)
    assert (ended.end, ended.ended_at) == ("taken_over", later(10))
    assert AuditEvent.objects.filter(act="reading.session_taken_over", subject_id=desk.token).count() == 1
    with refuses(ReadingRefused, Refusal.NOT_THE_WRITER):
        desk.open(desk.places[0], 11)


def test_a_page_that_was_not_heard_of_for_long_does_not_stand_in_the_way(desk: Desk) -> None:
    assert other(desk).begin(46).session
    assert ReadingSession.objects.get(public_id=desk.token).end == "lapsed"


def test_a_silent_page_goes_on_when_nobody_asked_meanwhile(desk: Desk) -> None:
    desk.open(desk.places[0], 3_600)
    assert desk.begin(7_200).session == desk.token


def test_the_database_holds_one_live_session(desk: Desk) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        ReadingSession.objects.create(enrolment=desk.enrolment, started_at=later(1), seen_at=later(1))


def test_nobody_takes_the_pen_of_another_reader(desk: Desk, remo: User) -> None:
    with refuses(ReadingRefused, "not_the_reader"):
        take_write_lease(desk.enrolment, take_over=True, actor=remo, at=later(1))


def test_there_is_no_pen_before_the_steps_in_front_are_done(desk_with: MakeDesk) -> None:
    with refuses(ReadingRefused, "not_prefetched"):
        desk_with(ready=False).begin(0)


@pytest.mark.parametrize(
    ("study", "enrolment", "reason"),
    [
        ({"state": "closed"}, {}, Refusal.STUDY_CLOSED),
        ({"deadline_at": later(5)}, {}, Refusal.DEADLINE_PASSED),
        ({"deadline_at": later(500)}, {"deadline_at": later(5)}, Refusal.DEADLINE_PASSED),
        ({}, {"withdrawn_at": later(5)}, Refusal.WITHDRAWN),
        ({}, {"replaced_at": later(5)}, Refusal.WITHDRAWN),
    ],
)
def test_no_pen_when_reading_is_over(
    rita: User, study: dict[str, object], enrolment: dict[str, object], reason: Refusal
) -> None:
    enrolled = enrol(make_study(**study), rita)  # type: ignore[arg-type]
    Enrolment.objects.filter(pk=enrolled.pk).update(**enrolment)
    with refuses(ReadingRefused, reason):
        Desk(enrolled).begin(10)


def test_an_extension_for_one_reader_goes_before_the_deadline_of_the_study(rita: User) -> None:
    enrolled = enrol(make_study(deadline_at=later(5)), rita)
    Enrolment.objects.filter(pk=enrolled.pk).update(deadline_at=later(500))
    assert Desk(enrolled).begin(10).session


def test_sessions_that_nobody_sits_at_end_in_the_sweep(desk: Desk) -> None:
    assert end_left_sessions(at=later(11 * 3600)) == 0
    Enrolment.objects.update(finished_at=later(10))
    assert end_left_sessions(at=later(1_700)) == 0
    assert end_left_sessions(at=later(1_900)) == 1
    assert ReadingSession.objects.get().end == "finished"
    assert end_left_sessions(at=later(1_901)) == 0


def test_a_page_that_was_forgotten_for_half_a_day_lapses(desk: Desk) -> None:
    assert end_left_sessions(at=later(13 * 3600)) == 1
    assert ReadingSession.objects.get().end == "lapsed"


def test_a_study_without_practice_begins_with_the_main_block(desk: Desk) -> None:
    Enrolment.objects.update(practised_at=None)
    desk.begin(5)
    assert Enrolment.objects.get().practised_at == later(5)
    assert desk.state(5).position.block == "main"


def test_the_open_case_can_still_be_answered(desk: Desk) -> None:
    desk.open(desk.places[0], 1)
    desk.pause(2)
    desk.paint(desk.places[0], 3)
    assert desk.commit(desk.places[0], seconds=9).state == "answered"
    assert desk.state(10).paused


@pytest.mark.logs("reading.session_started", "reading.paused")
def test_pausing_twice_keeps_the_first_moment(desk: Desk) -> None:
    desk.pause(2)
    desk.pause(9)
    assert Enrolment.objects.get().paused_at == later(2)
    desk.resume(62)
    desk.resume(70)
    assert Enrolment.objects.get().paused_at is None
    assert AuditEvent.objects.get(act="reading.resumed").facts == {"seconds": 60}


def test_a_study_can_do_without_breaks(desk_with: MakeDesk) -> None:
    desk = desk_with(may_pause=False)
    with refuses(ReadingRefused, "no_pause"):
        desk.pause(1)


def test_a_study_with_breaks_of_its_own_lets_readers_take_them(desk_with: MakeDesk) -> None:
    desk = desk_with(may_pause=False, break_every=2)
    desk.pause(1)
    assert desk.state(2).paused


def breaks_before(desk: Desk, seconds: float) -> list[int]:
    """The positions before which the page knows of a break."""
    return [case.position for case in desk.state(seconds).cases if case.break_before]


def test_the_page_knows_of_a_break_before_it_asks_for_the_case_after_it(desk_with: MakeDesk) -> None:
    desk = desk_with(n_cases=5, break_every=2)
    known = [breaks_before(desk, 0)]
    for place in desk.places[:4]:
        desk.read(place, seconds=place.position * 20)
        known.append(breaks_before(desk, place.position * 20 + 10))
    assert known == [[3], [3], [3, 5], [5], [5]]
    desk.open(desk.places[4], 100)
    assert breaks_before(desk, 101) == []


def test_no_break_in_the_practice_block(desk_with: MakeDesk) -> None:
    desk = desk_with(n_practice=3, break_every=1)
    Enrolment.objects.update(practised_at=None)
    assert desk.state(0).position.block == "practice"
    assert breaks_before(desk, 0) == []


def test_only_the_page_with_the_pen_begins_a_break(desk: Desk) -> None:
    Desk(desk.enrolment).begin(1, take_over=True)
    with refuses(ReadingRefused, "not_the_writer"):
        desk.pause(2)
    with refuses(ReadingRefused, "not_the_writer"):
        desk.resume(2)
