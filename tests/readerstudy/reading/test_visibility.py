"""What a reader may see of a place, and the time limit of a case, without a database."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from annotation.case.kernels.durations import ClockEvent
from annotation.enums import EventKind
from readerstudy.enums import Block, Information
from readerstudy.reading.kernels.visibility import (
    QUESTION,
    TRAVEL_MS,
    CaseProgress,
    Heard,
    Judged,
    Part,
    Taken,
    deadline_after,
    is_in_doubt,
    is_in_time,
    is_over,
    is_to_be_closed,
    judge,
    most_elapsed_ms,
    seconds_left,
    since_opening_ms,
    state_without_answer,
    time_taken,
    visible_parts,
)
from tests.readerstudy.studies import later

TRUTH = (True, False)
EVERY = [
    CaseProgress(
        may_read=reads, block=block, information=information, is_prefetched=prefetched, is_last=last, answered=answered
    )
    for reads, block, information, prefetched, last, answered in itertools.product(
        TRUTH, Block, Information, TRUTH, TRUTH, TRUTH
    )
]
KNOWN = {
    Part.STEM,
    Part.OPTIONS,
    Part.IMAGES,
    Part.AGE_SEX,
    Part.INDICATION,
    Part.OWN_CHOICE,
    Part.OWN_ANSWER,
    Part.FEEDBACK,
}


def test_there_is_no_part_for_what_no_reader_ever_sees() -> None:
    """Task, category, class, difficulty, findings, predictions, other readers: there is no name for them."""
    assert set(Part) == KNOWN


def test_nothing_is_shown_to_who_may_not_read_nor_of_a_place_that_is_neither_armed_nor_the_last() -> None:
    hidden = [s for s in EVERY if not s.may_read or not (s.is_prefetched or s.is_last)]
    assert {visible_parts(standing) for standing in hidden} == {frozenset()}


def test_feedback_is_for_the_final_answer_of_a_practice_case_alone() -> None:
    for standing in EVERY:
        expected = standing.may_read and standing.block == Block.PRACTICE and standing.answered and standing.is_last
        assert (Part.FEEDBACK in visible_parts(standing)) == expected, standing


def test_an_answered_case_shows_no_question_any_more() -> None:
    of_question = {Part.STEM, Part.OPTIONS, Part.OWN_CHOICE, Part.AGE_SEX, Part.INDICATION}
    assert not [s for s in EVERY if s.answered and visible_parts(s) & of_question]


def test_the_question_of_the_last_case_comes_back_for_a_guess_and_its_options_for_a_slip() -> None:
    for standing in EVERY:
        before = visible_parts(standing)
        is_last_answer = standing.may_read and standing.is_last and standing.answered
        guessing, slipping = replace(standing, guesses=True), replace(standing, may_slip=True)
        assert visible_parts(guessing) - before == ({Part.STEM, Part.OPTIONS} if is_last_answer else set()), standing
        assert visible_parts(slipping) - before == ({Part.OPTIONS} if is_last_answer else set()), standing


def test_an_armed_case_shows_its_question_and_before_its_opening_its_images_alone() -> None:
    for standing in EVERY:
        if standing.may_read and standing.is_prefetched and not standing.answered:
            assert visible_parts(standing) >= QUESTION, standing
            assert Part.OWN_ANSWER not in visible_parts(standing), standing
            assert visible_parts(replace(standing, awaits_opening=True)) == {Part.IMAGES}, standing


def test_the_arm_decides_what_stands_beside_the_question() -> None:
    for standing in EVERY:
        shown = visible_parts(standing)
        if Part.AGE_SEX in shown:
            assert standing.information in (Information.AGE_SEX, Information.INDICATION), standing
        if Part.INDICATION in shown:
            assert standing.information == Information.INDICATION, standing
        assert Part.AGE_SEX in shown or Part.INDICATION not in shown, standing


def test_the_images_of_the_last_case_stay_with_the_own_answer() -> None:
    answered = CaseProgress(may_read=True, block=Block.MAIN, is_prefetched=False, is_last=True, answered=True)
    assert visible_parts(answered) == {Part.IMAGES, Part.OWN_ANSWER}
    ran_out = CaseProgress(may_read=True, block=Block.MAIN, is_prefetched=False, is_last=True)
    assert visible_parts(ran_out) == {Part.IMAGES}


def test_the_whole_table_of_an_unaided_main_block() -> None:
    table = {
        (s.is_prefetched, s.is_last, s.answered): visible_parts(s)
        for s in EVERY
        if s.may_read and s.block == Block.MAIN and s.information == Information.NONE
    }
    own = frozenset({Part.IMAGES, Part.OWN_ANSWER})
    assert table == {
        (True, True, False): QUESTION,
        (True, False, False): QUESTION,
        (True, True, True): own,
        (True, False, True): frozenset(),
        (False, True, True): own,
        (False, True, False): frozenset({Part.IMAGES}),
        (False, False, True): frozenset(),
        (False, False, False): frozenset(),
    }


PAINTED = ClockEvent("page", 9, EventKind.PAINTED, 100_000.0, None, later(100))


def test_the_opening_bounds_the_time() -> None:
    assert since_opening_ms(later(0), later(8)) == 8_000 + TRAVEL_MS
    assert since_opening_ms(None, later(8)) is None


def test_what_was_heard_before_ties_the_clock_of_the_page_to_the_servers() -> None:
    """At 90 s of its clock the page was heard of at second 90; painted at its 100 s, answered at second 160."""
    earlier = [Heard("page", 90_000.0, later(90)), Heard("page", 50_000.0, later(60)), Heard("other", 0.0, later(95))]
    assert most_elapsed_ms(PAINTED, earlier, begun_at=later(0), at=later(160)) == 60_000 + TRAVEL_MS


def test_the_sitting_bounds_what_was_never_heard_of() -> None:
    assert most_elapsed_ms(PAINTED, [], begun_at=later(0), at=later(160)) == 160_000 + TRAVEL_MS
    assert most_elapsed_ms(None, [], begun_at=later(150), at=later(160)) == 10_000 + TRAVEL_MS
    assert most_elapsed_ms(PAINTED, [], begun_at=None, at=later(160)) is None


# --- the limit -------------------------------------------------------------------------------------
def judged(client_s: float | None, received_s: float, limit: int | None = 30, *, declined: bool = False) -> Judged:
    """Painted on the server at 0."""
    at = later(received_s)
    return judge(
        declined=declined,
        time_limit_s=limit,
        client_ms=(
            time_taken((), None, opened_at=later(0), painted_at=later(0), at=at).ms
            if client_s is None
            else client_s * 1000
        ),
        deadline_at=deadline_after(later(0), limit),
        at=at,
    )


@pytest.mark.parametrize(
    ("client_s", "received_s", "expected"),
    [
        (10, 10, Judged("answered")),  # type: ignore[arg-type]
        (30, 30, Judged("answered")),  # type: ignore[arg-type]
        (32, 30, Judged("answered")),  # type: ignore[arg-type]
        (32.001, 32, Judged("late", limit_ms=30_000)),  # type: ignore[arg-type]
        (10, 31, Judged("answered", delivered_late=True)),  # type: ignore[arg-type]
        (10, 9_000, Judged("answered", delivered_late=True)),  # type: ignore[arg-type]
        (600, 9_000, Judged("late", limit_ms=30_000)),  # type: ignore[arg-type]
        (None, 31, Judged("answered", delivered_late=True)),  # type: ignore[arg-type]
        (None, 33, Judged("late", limit_ms=30_000)),  # type: ignore[arg-type]
    ],
)
def test_the_clock_of_the_device_decides(client_s: float | None, received_s: float, expected: Judged) -> None:
    assert judged(client_s, received_s) == expected


# --- stories of a case with a limit of 8 s, given out at 0 -------------------------------------------
Story = tuple[list[ClockEvent], float | None, float | None, float]  # events, elapsed_s, painted_s, answered_s
SHOWN, BEAT, SENT = EventKind.PAINTED, EventKind.HEARTBEAT, EventKind.SUBMITTED


def told(page: str, *events: tuple[EventKind, float], day_s: float = 0.0) -> list[ClockEvent]:
    """By the own clock of a page, in seconds; the server got them some time."""
    return [ClockEvent(page, n, kind, s * 1000, (day_s + s) * 1000, later(0)) for n, (kind, s) in enumerate(events)]


IN_TIME, LATE, DOUBT = "in time", "late", "in doubt"
STORIES: dict[
    str, tuple[Story, float, str]
] = {  # the story, longest round trip of the sitting in s, what is made of it
    "honest, with a connection": ((told("a", (SHOWN, 1), (SENT, 6)), 5, 0.1, 5.2), 0, IN_TIME),
    "honest and too slow": ((told("a", (SHOWN, 1), (SENT, 12)), 11, 0.1, 11.2), 0, LATE),
    "within the grace": ((told("a", (SHOWN, 1), (SENT, 11)), 10, 0.1, 10.2), 0, IN_TIME),
    "without a connection since it was on screen": ((told("a", (SHOWN, 1), (SENT, 6)), 5, 600, 600), 0, DOUBT),
    "without a connection since then, and too slow": ((told("a", (SHOWN, 1), (SENT, 20)), 19, 600, 600), 0, LATE),
    "without a connection after the first seconds": (
        (told("a", (SHOWN, 1), (BEAT, 5), (SENT, 7)), 6, 0.1, 600),
        0,
        DOUBT,
    ),
    "a slow line": ((told("a", (SHOWN, 1), (SENT, 6)), 5, 5, 10), 5, IN_TIME),
    "a slow line in a sitting that was fast": ((told("a", (SHOWN, 1), (SENT, 6)), 5, 5, 10), 0.1, DOUBT),
    "a round trip of a minute is none": ((told("a", (SHOWN, 1), (SENT, 4)), 3, 0.1, 40), 60, DOUBT),
    "a script that tells too little": ((told("a", (SHOWN, 1), (SENT, 4)), 3, 0.1, 25), 0.1, DOUBT),
    "that tells at the end when it saw the case": ((told("a", (SHOWN, 1), (SENT, 4)), 3, 25, 25), 0.1, DOUBT),
    "whose heartbeats tell more": ((told("a", (SHOWN, 1), (BEAT, 6), (BEAT, 16), (SENT, 4)), 3, 0.1, 25), 0.1, LATE),
    "that tells no time": (([], None, 0.1, 25), 0.1, LATE),
    "that tells no time, and of no frame before the answer": (([], None, 25, 25), 0.1, LATE),
    "and of none at all": (([], None, None, 25), 0.1, LATE),
    "that tells of a reload": (
        ([*told("a", (SHOWN, 1), (BEAT, 1.5)), *told("b", (SHOWN, 0), (SENT, 2))], 3, 0.1, 25),
        0.1,
        DOUBT,
    ),
    "a clock that ran ahead": ((told("a", (SHOWN, 1), (SENT, 3_601)), 3_600, 0.1, 5), 0.1, DOUBT),
    "a time of day that was set": (
        (told("a", (SHOWN, 1), (BEAT, 2), (SENT, 6), day_s=3_600), 3_605, 0.1, 5.2),
        0.1,
        IN_TIME,
    ),
    "a reload": (([*told("a", (SHOWN, 1), (BEAT, 3)), *told("b", (SHOWN, 1), (SENT, 3))], 6, 0.1, 6.2), 0.1, IN_TIME),
    "a reload after the time of day was set": (
        ([*told("a", (SHOWN, 1)), *told("b", (SHOWN, 1), (SENT, 3), day_s=3_600)], 3_606, 0.1, 6.2),
        0.1,
        IN_TIME,
    ),
    "another device that takes over": (
        ([*told("a", (SHOWN, 1), (BEAT, 3)), *told("b", (SHOWN, 50), (SENT, 52))], 7, 0.1, 7.2),
        0.1,
        IN_TIME,
    ),
    "another device that had it on screen for too long": (
        ([*told("a", (SHOWN, 1)), *told("b", (SHOWN, 50), (SENT, 62))], 5, 0.1, 13),
        0.1,
        LATE,
    ),
    "that took over while the first one answers from its outbox": (
        ([*told("a", (SHOWN, 1), (SENT, 6)), *told("b", (SHOWN, 50), (BEAT, 90))], 5, 0.1, 300),
        0.1,
        DOUBT,
    ),
    "a laptop that slept": ((told("a", (SHOWN, 1), (SENT, 6)), 5, 0.1, 3_600), 0.1, DOUBT),
}


@pytest.mark.parametrize("name", STORIES)
def test_what_is_made_of_a_story(name: str) -> None:
    (events, elapsed_s, painted_s, answered_s), round_trip_s, expected = STORIES[name]
    taken = time_taken(
        events,
        None if elapsed_s is None else elapsed_s * 1000,
        opened_at=later(0),
        painted_at=None if painted_s is None else later(painted_s),
        at=later(answered_s),
    )
    found = LATE if not is_in_time(taken.ms, 8) else DOUBT if is_in_doubt(taken, [round_trip_s * 1000]) else IN_TIME
    assert found == expected, f"{taken}: late only where no story fits, a doubt where page and server part"


def test_a_page_is_believed_to_the_limit_of_its_round_trips_and_no_further() -> None:
    assert not is_in_doubt(Taken(3_000, 2_500), [500, 300])
    assert is_in_doubt(Taken(3_000, 2_501), [500, 300])
    assert not is_in_doubt(Taken(3_000, 2_000), [])


def test_an_opening_that_came_with_the_answer_bounds_nothing() -> None:
    """The page says that it took too long: nobody can know better."""
    events = told("a", (SHOWN, 1), (SENT, 60))
    taken = time_taken(events, 59_000, opened_at=later(600), painted_at=later(600), at=later(600))
    assert taken.ms == 59_000


def test_without_a_limit_nothing_is_late() -> None:
    assert judged(9_000, 9_000, None) == Judged("answered")  # type: ignore[arg-type]


def test_cannot_tell_can_be_late_as_well() -> None:
    assert judged(10, 10, declined=True).state == "declined"
    assert judged(40, 40, declined=True).state == "late"


def test_what_was_never_opened_for_the_server_is_in_time() -> None:
    assert time_taken((), None, opened_at=None, painted_at=None, at=later(99)) == Taken(0)


def test_the_grace_and_the_way() -> None:
    deadline = later(30)
    assert not is_over(deadline, later(32))
    assert is_over(deadline, later(32.001))
    assert not is_to_be_closed(deadline, later(62))
    assert is_to_be_closed(deadline, later(62.001))
    assert not is_over(None, later(9_999))
    assert not is_to_be_closed(None, later(9_999))


def test_seconds_left_never_run_below_zero() -> None:
    assert seconds_left(None, later(1)) is None
    assert [seconds_left(later(30), later(at)) for at in (12, 99)] == [18, 0]


def test_a_saved_choice_is_kept_unconfirmed() -> None:
    assert (state_without_answer("B"), state_without_answer("")) == ("unconfirmed", "timed_out")
