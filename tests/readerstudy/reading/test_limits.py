"""The time limit of a case, without a database: in time, late, delivered late, over."""

from __future__ import annotations

import pytest

from annotation.case.kernels.durations import ClockEvent
from annotation.enums import EventKind
from readerstudy.reading.kernels.visibility import (
    Judged,
    Taken,
    deadline_after,
    is_in_doubt,
    is_in_time,
    is_over,
    is_to_be_closed,
    judge,
    seconds_left,
    state_without_answer,
    time_taken,
)
from tests.readerstudy.studies import later


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
