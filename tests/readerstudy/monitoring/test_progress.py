from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.enrolment.progress import Habits, ReaderProgress, flagged_cases, longest_run, progress_of
from readerstudy.enums import RemarkKind, ResponseState, SessionEnd
from readerstudy.models import ReaderStudy, ReadingSession, RefusedAnswer, Remark
from tests.readerstudy.exports.read_study import read, void
from tests.readerstudy.studies import enrol, make_study, places_of


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study(n_cases=6)


def timed(ms: int, *flags: str, **fields: object) -> dict[str, object]:
    return {"option": "A", "active_ms": ms, "time_rule": "active-1", "time_flags": list(flags), **fields}


def only(study: ReaderStudy, at: datetime) -> ReaderProgress:
    [found] = progress_of(study, at)
    return found


def test_pace_is_of_times_that_count(study: ReaderStudy, rita: User, noon: datetime) -> None:
    places = places_of(enrol(study, rita))
    read(places[0], timed(10_000))
    read(places[1], timed(20_000, "hidden"))
    read(places[2], timed(60_000, "resumed"))  # taken up in another sitting
    read(places[3], timed(30_000, limit_ms=30_000, state=ResponseState.LATE))
    found = only(study, noon)
    assert (found.status.n_done, found.status.n) == (4, 6)
    assert (found.pace.n, found.pace.median.value, found.pace.n_left_out) == (2, 15_000, 1)
    assert found.pace.per_hour == pytest.approx(240)  # 2 cases in 30 s
    assert found.pace.rule == "active-1"


def test_answers_too_fast_and_straight_lines_are_alerts(rita: User, remo: User, noon: datetime) -> None:
    study = make_study(n_cases=24)
    for person, ms, option in ((rita, 1_500, "A"), (remo, 20_000, "")):
        for number, place in enumerate(places_of(enrol(study, person))):
            read(place, timed(ms) | {"option": option or "ABCD"[number % 4]})
    fast, slow = progress_of(study, noon)
    assert (fast.habits, fast.has_problems) == (Habits(24, 24), True)
    assert (slow.habits, slow.has_problems) == (Habits(), False)


def test_cases_about_whose_time_page_and_server_part_are_an_alert(
    study: ReaderStudy, rita: User, noon: datetime
) -> None:
    places = places_of(enrol(study, rita))
    read(places[0], timed(10_000, "apart_from_server"))
    ended = {"option": "B", "state": ResponseState.UNCONFIRMED, "is_confirmed": False}
    doubted = {"time_flags": ["apart_from_server"]}
    read(places[1], {**ended, **doubted}, timed(20_000, "apart_from_server"))  # both of one case
    read(places[2], {**ended, **doubted})
    found = only(study, noon)
    assert (found.habits, found.has_problems) == (Habits(n_doubts=3), True)


@pytest.mark.parametrize(
    ("places", "longest"), [([], 0), ([-1, -1], 0), ([1, 1, 2, 2, 2, -1, 2], 3), ([0, 0, -1, 0], 2)]
)
def test_the_longest_run_at_one_place(places: list[int], longest: int) -> None:
    assert longest_run(places) == longest


@pytest.mark.parametrize("display", [{"passed": False}, {"dark_step": True, "light_step": False, "n_failed": 3}])
def test_a_reader_who_went_on_without_passing_the_display_check_is_flagged(
    study: ReaderStudy, rita: User, noon: datetime, display: dict[str, object]
) -> None:
    """By the check of today, or by the one of two grey steps."""
    enrolment = enrol(study, rita)
    enrolment.display, enrolment.display_checked_at = display, noon
    enrolment.save()
    found = only(study, noon)
    assert found.is_unseen
    assert found.has_problems


def test_nobody_has_a_pace_before_the_first_case(study: ReaderStudy, rita: User, noon: datetime) -> None:
    enrol(study, rita)
    found = only(study, noon)
    assert (found.pace.n, found.pace.per_hour, found.pace.median.value, found.last_seen) == (0, None, None, None)
    assert not found.has_problems


def test_sittings_breaks_and_whether_somebody_reads_now(study: ReaderStudy, rita: User, noon: datetime) -> None:
    enrolment = enrol(study, rita)
    old = noon - timedelta(hours=1)
    ReadingSession.objects.create(
        enrolment=enrolment, started_at=old, seen_at=old, ended_at=old, end=SessionEnd.TAKEN_OVER
    )
    assert not only(study, noon).is_here
    ReadingSession.objects.create(enrolment=enrolment, started_at=noon, seen_at=noon)
    record("reading.paused", actor=rita, at=noon, subject=enrolment)
    found = only(study, noon + timedelta(seconds=45))
    assert (found.n_sessions, found.n_takeovers, found.n_breaks) == (2, 1, 1)
    assert (found.last_seen, found.is_here) == (noon, True)
    assert not only(study, noon + timedelta(seconds=46)).is_here


def test_problems_are_counted_by_reader(study: ReaderStudy, rita: User, remo: User, noon: datetime) -> None:
    opened, waiting, *_more = places_of(enrol(study, rita))
    reading = read(opened, {"option": "A"})
    enrol(study, remo)
    for place, key in ((opened, "k"), (waiting, "l")):
        RefusedAnswer.objects.create(presented=place, reason="not_the_writer", option="B", key=key, at=noon)
    for key in ("r1", "r2"):
        Remark.objects.create(reading=reading, kind=RemarkKind.FAULT, text=f"text {key}", key=key, at=noon)
    first, second = progress_of(study, noon)
    assert (first.n_refused, first.n_faults, second.n_refused, second.n_faults) == (2, 1, 0, 0)
    assert [one.has_problems for one in (first, second)] == [True, False]


def test_flagged_cases_have_the_newest_words_of_each_reader(
    study: ReaderStudy, rita: User, remo: User, noon: datetime
) -> None:
    first = read(places_of(enrol(study, rita))[0], {"option": "A"})
    second = read(places_of(enrol(study, remo))[0], {"option": "A"})  # case 2: the order of Remo starts there
    for reading, key, text in ((first, "a", "old words"), (first, "b", "two clavicles"), (second, "c", "too dark")):
        Remark.objects.create(reading=reading, kind=RemarkKind.FAULT, text=text, key=key, at=noon)
    Remark.objects.create(reading=first, kind=RemarkKind.SLIP, value="C", key="d", at=noon)
    void(first.case)
    found = flagged_cases(study)
    assert [(one.case.number, [said.text for said in one.faults], one.voiding is None) for one in found] == [
        (2, ["too dark"], True),
        (1, ["two clavicles"], False),
    ]
