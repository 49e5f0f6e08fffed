"""Storing an answer: once and for good, or refused with the reason and kept."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.case.kernels.traces import CaseRefused, Trace
from annotation.enums import EventKind
from annotation.models import AuditEvent, User
from readerstudy.enums import Refusal
from readerstudy.models import Enrolment, ReaderStudy, RefusedAnswer, Response
from readerstudy.reading import committing
from readerstudy.reading.committing import CommittedAnswer, commit_answer
from readerstudy.reading.kernels.visibility import Judged, judge
from readerstudy.reading.prefetched import ReadingRefused
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, images_of, new_key, reading_at
from tests.readerstudy.studies import later
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def test_an_answer_and_its_time_are_stored(desk: Desk) -> None:
    response = desk.read(desk.places[0], "C", seconds=10, takes=8)
    assert (response.option, response.state, response.is_confirmed) == ("C", "answered", True)
    assert (response.active_ms, response.elapsed_ms, response.time_rule) == (8_000, 8_000, "active-2")
    assert (response.time_flags, response.committed_at) == ([], later(18))
    assert reading_at(desk.places[0]).closed_at == later(18)
    assert AuditEvent.objects.filter(act="reading.answered").count() == 1


@pytest.mark.parametrize(("quiet_ms", "flags"), [(300, ["hasty"]), (200, []), (0, [])])
def test_an_answer_from_the_time_in_which_keys_choose_nothing_is_flagged(
    desk_with: MakeDesk, quiet_ms: int, flags: list[str]
) -> None:
    desk = desk_with(quiet_ms=quiet_ms)
    assert desk.read(desk.places[0], "C", seconds=10, takes=0.25).time_flags == flags


def test_the_audit_log_does_not_say_which_option(desk: Desk) -> None:
    desk.read(desk.places[0], "C", seconds=10)
    assert AuditEvent.objects.get(act="reading.answered").facts == {"block": "main", "position": 1}


def test_the_same_key_gets_the_first_result(desk: Desk) -> None:
    key = new_key()
    desk.open(desk.places[0], 1)
    desk.paint(desk.places[0], 1)
    first = desk.commit(desk.places[0], "C", seconds=5, key=key)
    assert desk.commit(desk.places[0], "C", seconds=9, key=key) == first
    assert desk.commit(desk.places[0], "C", seconds=9) == first
    assert Response.objects.count() == 1
    assert not RefusedAnswer.objects.exists()


def test_another_answer_is_refused_kept_and_logged(desk: Desk) -> None:
    first = desk.read(desk.places[0], "C", seconds=1)
    key = new_key()
    for seconds in (10, 11):
        with refuses(ReadingRefused, "other_answer") as refused:
            desk.commit(desk.places[0], "D", seconds=seconds, key=key)
        assert refused.value.facts["stored"] == first
    kept = RefusedAnswer.objects.get()
    assert (kept.reason, kept.option, kept.key) == ("other_answer", "D", key)
    assert AuditEvent.objects.filter(act="reading.answer_refused").count() == 2
    assert Response.objects.get().option == "C"


def test_a_page_that_lost_the_pen_is_refused_and_its_answer_kept(desk: Desk) -> None:
    desk.open(desk.places[0], 1)
    desk.paint(desk.places[0], 1)
    Desk(desk.enrolment).begin(2, take_over=True)
    with refuses(ReadingRefused, Refusal.NOT_THE_WRITER):
        desk.commit(desk.places[0], "B", seconds=5)
    kept = RefusedAnswer.objects.get()
    assert (kept.reason, kept.option, kept.session) == ("not_the_writer", "B", desk.token)
    assert not Response.objects.exists()


def test_a_stored_answer_is_acknowledged_to_a_page_that_lost_the_pen(desk: Desk) -> None:
    key = new_key()
    desk.open(desk.places[0], 1)
    desk.paint(desk.places[0], 1)
    first = desk.commit(desk.places[0], "C", seconds=5, key=key)
    Desk(desk.enrolment).begin(6, take_over=True)
    assert desk.commit(desk.places[0], "C", seconds=7, key=key) == first


@pytest.mark.parametrize(
    ("study", "enrolment", "reason"),
    [
        ({"state": "closed"}, {}, Refusal.STUDY_CLOSED),
        ({"deadline_at": later(3)}, {}, Refusal.DEADLINE_PASSED),
        ({}, {"deadline_at": later(3)}, Refusal.DEADLINE_PASSED),
        ({}, {"withdrawn_at": later(3)}, Refusal.WITHDRAWN),
        ({}, {"replaced_at": later(3)}, Refusal.WITHDRAWN),
    ],
)
def test_what_comes_after_the_end_is_refused_and_kept(
    desk: Desk, study: dict[str, object], enrolment: dict[str, object], reason: Refusal
) -> None:
    desk.open(desk.places[0], 1)
    desk.paint(desk.places[0], 1)
    if study:
        ReaderStudy.objects.update(**study)
    if enrolment:
        Enrolment.objects.update(**enrolment)
    with refuses(ReadingRefused, reason):
        desk.commit(desk.places[0], "B", seconds=5)
    assert RefusedAnswer.objects.get().reason == reason
    assert not Response.objects.exists()


def test_an_answer_in_the_instant_in_which_the_study_closes_is_refused_and_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The study was open when the answer began, and is closed and counted when it is to be stored."""
    place = desk.places[0]
    desk.open(place, 1)
    desk.paint(place, 1)

    def close_and_judge(**told: Any) -> Judged:
        ReaderStudy.objects.update(state="closed")
        return judge(**told)

    monkeypatch.setattr(committing, "judge", close_and_judge)
    with refuses(ReadingRefused, "study_closed"):
        desk.commit(place, "B", seconds=5)
    assert not Response.objects.exists()
    assert (RefusedAnswer.objects.get().option, reading_at(place).closed_at) == ("B", None)


def test_a_refused_answer_to_a_case_that_was_never_opened_is_kept_once_with_its_option(desk: Desk) -> None:
    Desk(desk.enrolment).begin(2, take_over=True)
    key = new_key()
    for seconds in (5, 6):
        with refuses(ReadingRefused, "not_the_writer"):
            desk.commit(desk.places[0], "B", seconds=seconds, key=key)
    kept = RefusedAnswer.objects.get()
    assert (kept.presented, kept.reason, kept.option, kept.key) == (desk.places[0], "not_the_writer", "B", key)
    told = AuditEvent.objects.filter(act="reading.answer_refused").first()
    assert told is not None
    assert told.facts == {"place": desk.places[0].public_id, "reason": "not_the_writer", "key": key}


def test_what_was_not_on_screen_is_not_answered(desk_with: MakeDesk) -> None:
    desk = desk_with(n_cases=1, pixels=True)
    place = desk.places[0]
    frontal, lateral = images_of(place)
    desk.open(place, 1)
    with refuses(CaseRefused, "not_seen") as unseen:
        desk.commit(place, seconds=5)
    assert set(unseen.value.facts["images"]) == {frontal, lateral}
    half = Trace(desk.page, (desk.event(desk.painted(place, 1).kind, 1, views=[frontal]),))
    with refuses(CaseRefused, "not_seen") as unseen:
        desk.commit(place, seconds=6, trace=half)
    assert unseen.value.facts == {"images": [lateral]}
    assert not RefusedAnswer.objects.exists()
    said = Trace(desk.page, half.events, unreadable=(lateral,))
    assert desk.commit(place, seconds=7, trace=said).unreadable == [lateral]


def test_an_image_of_another_case_is_not_said_to_be_unreadable(desk: Desk) -> None:
    desk.open(desk.places[0], 1)
    with refuses(CaseRefused, "malformed"):
        desk.commit(desk.places[0], seconds=5, trace=Trace(unreadable=tuple(images_of(desk.places[1]))))


def test_a_clock_that_cannot_be_read_costs_the_time_and_not_the_answer(desk_with: MakeDesk) -> None:
    desk = desk_with(n_cases=1, pixels=True)
    desk.open(desk.places[0], 1)
    response = desk.commit(desk.places[0], "B", seconds=5, trace=Trace(is_damaged=True))
    assert (response.option, response.state, response.active_ms) == ("B", "answered", None)
    assert "malformed" in response.time_flags


def test_a_commit_opens_the_case_whose_opening_was_lost(desk: Desk) -> None:
    painted = desk.painted(desk.places[0], 1_000)
    response = desk.commit(desk.places[0], "B", seconds=5, events=(painted,))
    assert (response.reading.opened_at, response.reading.painted_at) == (later(5), later(5))


def test_the_order_is_kept(desk: Desk) -> None:
    with refuses(ReadingRefused, "not_yet"):
        desk.commit(desk.places[1], seconds=5)
    with refuses(ReadingRefused, "not_prefetched"):
        desk.commit(desk.places[3], seconds=5)


def test_options_are_the_canonical_ones_whatever_stands_where(desk: Desk) -> None:
    place = desk.places[0]
    place.options = "DCBA"
    place.save()
    assert desk.state().cases[0].options[0] == ("D", place.case.revision.options[3])
    assert desk.read(place, "D", seconds=1).option == "D"


@pytest.mark.parametrize("option", ["", "E", "b", "AB", "\x00"])
def test_an_answer_names_an_option(desk: Desk, option: str) -> None:
    desk.open(desk.places[0], 1)
    with refuses(ReadingRefused, "malformed"):
        desk.commit(desk.places[0], option, seconds=5)


def test_cannot_tell_is_an_answer_where_the_rules_allow_it(desk_with: MakeDesk, remo: User) -> None:
    desk = desk_with(cannot_tell=True)
    desk.open(desk.places[0], 1)
    with refuses(ReadingRefused, "malformed"):
        desk.commit(desk.places[0], "A", declined=True, seconds=5)
    response = desk.commit(desk.places[0], "", declined=True, seconds=5)
    assert (response.state, response.option) == ("declined", "")


def test_cannot_tell_is_refused_where_the_rules_do_not(desk: Desk) -> None:
    desk.open(desk.places[0], 1)
    with refuses(ReadingRefused, "malformed"):
        desk.commit(desk.places[0], "", declined=True, seconds=5)


@pytest.mark.parametrize("key", ["", "1", "B" * 36, "c888dd40-5473-4174-8ced-bdbf6db25b7c ", "\x00" * 36])
def test_an_answer_has_a_key(desk: Desk, key: str) -> None:
    desk.open(desk.places[0], 1)
    with refuses(ReadingRefused, "malformed"):
        desk.commit(desk.places[0], seconds=5, key=key or " ")


def test_the_last_answer_finishes_the_reading(desk: Desk) -> None:
    for place in desk.places:
        assert Enrolment.objects.get().finished_at is None
        desk.read(place, seconds=place.position * 20)
    assert Enrolment.objects.get().finished_at == later(88)
    shown = desk.state(90)
    assert (shown.finished, shown.cases, shown.position.done) == (True, [], 4)


def test_a_case_taken_up_on_another_device_is_flagged(desk: Desk) -> None:
    place = desk.places[0]
    desk.open(place, 1)
    desk.paint(place, 1)
    second = Desk(desk.enrolment)
    second.begin(5, take_over=True)
    second.paint(place, 6)
    response = second.commit(place, "A", seconds=9)
    assert "resumed" in response.time_flags


def test_a_case_that_another_sitting_opened_is_flagged_although_nothing_more_was_heard_of_it(desk: Desk) -> None:
    """The browser crashed before it told its clock."""
    place = desk.places[0]
    desk.open(place, 1)
    second = Desk(desk.enrolment)
    second.begin(60)
    second.paint(place, 61)
    assert second.commit(place, "A", seconds=69).time_flags == ["resumed"]


def test_an_answer_from_before_a_break_is_taken_during_it(desk: Desk) -> None:
    """It was given without a connection, on a device that did not know of the break; its opening was refused."""
    painted = desk.painted(desk.places[0], 1_000)
    desk.pause(2)
    assert desk.commit(desk.places[0], "B", seconds=5, events=(painted,)).option == "B"
    assert desk.state(6).paused


def test_a_voided_case_is_still_read_and_stays_stored(desk: Desk) -> None:
    from readerstudy.models import Voiding

    Voiding.objects.create(case=desk.places[0].case, reason="wrong side", before_unblinding=True, at=later(1))
    assert desk.read(desk.places[0], seconds=2).state == "answered"


# --- the server's own times beside the word of the page ------------------------------------------
APART = "apart_from_server"


def test_a_page_that_tells_three_of_twenty_five_seconds_is_doubted(desk_with: MakeDesk) -> None:
    desk = desk_with(time_limit_s=8)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    told = desk.commit(desk.places[0], "B", seconds=25, ms=3_000)
    assert (told.state, told.delivered_late) == ("answered", True)
    assert APART in told.time_flags, "an answer whose time by the page and by the server part has to carry the doubt"


def test_what_the_page_told_before_holds_against_what_it_tells_with_the_answer(desk_with: MakeDesk) -> None:
    """Heartbeats until 16 s of its clock were heard of; an answer after 3 s of the same clock cannot be true."""
    desk = desk_with(time_limit_s=8)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    desk.tell(desk.places[0], *(desk.event(EventKind.HEARTBEAT, ms) for ms in (5_000, 10_000, 16_000)), seconds=16)
    assert desk.commit(desk.places[0], "B", seconds=25, ms=3_000).state == "late"


@pytest.mark.parametrize("damaged", [False, True])
def test_what_was_painted_with_the_answer_alone_counts_from_the_opening(desk_with: MakeDesk, damaged: bool) -> None:
    """Two loads of a page, or a clock that cannot be read: the server's time stands in."""
    desk = desk_with(time_limit_s=8)
    desk.open(desk.places[0], 0)
    if not damaged:
        desk.tell(desk.places[0], desk.event(EventKind.HEARTBEAT, 0), seconds=25)
    desk.page = new_key()
    trace = Trace(
        desk.page, (desk.painted(desk.places[0], 0), desk.event(EventKind.SUBMITTED, 3_000)), (), None, damaged
    )
    sent = CommittedAnswer(key=new_key(), option="B", trace=trace)
    answer = commit_answer(desk.enrolment, desk.places[0].public_id, sent, at=later(25), **desk.who)
    assert answer.state == "late" if damaged else APART in answer.time_flags


def test_an_answer_that_was_read_without_a_connection_is_doubted_and_counts(desk_with: MakeDesk) -> None:
    desk = desk_with(time_limit_s=30)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    told = desk.commit(desk.places[0], "B", seconds=600, ms=20_000)
    assert (told.state, told.delivered_late, APART in told.time_flags) == ("answered", True, True)


def test_a_slow_line_is_no_doubt_once_the_sitting_has_shown_how_slow(desk_with: MakeDesk) -> None:
    """Each way takes 3 s: opened at 0, on screen at 3, heard of at 6, answered after 8 s, heard of at 14."""
    desk = desk_with(time_limit_s=30)
    flags = []
    for number, place in enumerate(desk.places[:3]):
        start = number * 60
        desk.open(place, start)
        desk.tell(place, desk.painted(place, start * 1000 + 3_000), seconds=start + 6)
        flags.append(desk.commit(place, "B", seconds=start + 14, ms=start * 1000 + 11_000).time_flags)
    assert flags == [[APART], [], []]


def test_without_a_limit_nothing_is_doubted(desk: Desk) -> None:
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    assert APART not in desk.commit(desk.places[0], "B", seconds=600, ms=20_000).time_flags


def test_a_choice_that_came_long_after_its_time_is_doubted(desk_with: MakeDesk) -> None:
    desk = desk_with(time_limit_s=8)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    assert desk.choose(desk.places[0], "B", 1, 25, ms=3_000)
    ended = Response.objects.get()
    assert (ended.state, ended.option, ended.time_flags) == ("unconfirmed", "B", [APART])
