"""The time limit of a case, without a database: in time, late, delivered late, over."""

from __future__ import annotations

import pytest

from annotation.case.kernels.durations import ClockEvent
from annotation.enums import EventKind
from readerstudy.reading.kernels.limits import (
    Judged,
    deadline_after,
    is_over,
    is_to_be_closed,
    judge,
    seconds_left,
    state_without_answer,
    taken_ms,
)
from tests.readerstudy.studies import later


def judged(client_s: float | None, received_s: float, limit: int | None = 30, *, declined: bool = False) -> Judged:
    """Painted on the server at 0."""
    at = later(received_s)
    return judge(
        declined=declined,
        time_limit_s=limit,
        client_ms=taken_ms((), None, painted_at=later(0), at=at) if client_s is None else client_s * 1000,
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


def shown(page: str, *, day_ms: float = 0.0) -> list[ClockEvent]:
    """On screen for eight seconds of this page's own clock."""
    ends = ((EventKind.PAINTED, 1_000.0), (EventKind.SUBMITTED, 9_000.0))
    return [ClockEvent(page, n, kind, ms, day_ms + ms, later(0)) for n, (kind, ms) in enumerate(ends)]


def test_one_page_is_judged_by_its_monotonic_clock_whatever_its_time_of_day_says() -> None:
    assert taken_ms(shown("a"), 3_608_000, painted_at=later(0), at=later(5)) == 8_000


@pytest.mark.parametrize(("elapsed_ms", "received_s", "expected"), [(9_000, 500, 9_000), (130_000, 12, 12_000)])
def test_two_pages_took_no_longer_than_the_server_knows(elapsed_ms: int, received_s: int, expected: int) -> None:
    events = [*shown("a"), *shown("b", day_ms=120_000)]
    assert taken_ms(events, elapsed_ms, painted_at=later(0), at=later(received_s)) == expected


def test_without_a_limit_nothing_is_late() -> None:
    assert judged(9_000, 9_000, None) == Judged("answered")  # type: ignore[arg-type]


def test_cannot_tell_can_be_late_as_well() -> None:
    assert judged(10, 10, declined=True).state == "declined"
    assert judged(40, 40, declined=True).state == "late"


def test_what_was_never_painted_for_the_server_is_in_time() -> None:
    assert taken_ms((), None, painted_at=None, at=later(99)) == 0


def test_the_grace_and_the_way() -> None:
    deadline = later(30)
    assert not is_over(deadline, later(32))
    assert is_over(deadline, later(32.001))
    assert not is_to_be_closed(deadline, later(62))
    assert is_to_be_closed(deadline, later(62.001))
    assert not is_over(None, later(9_999))
    assert not is_to_be_closed(None, later(9_999))


def test_seconds_left_never_run_below_zero() -> None:
    assert (seconds_left(None, later(1)), seconds_left(later(30), later(12)), seconds_left(later(30), later(99))) == (
        None,
        18,
        0,
    )


def test_a_saved_choice_is_kept_unconfirmed() -> None:
    assert (state_without_answer("B"), state_without_answer("")) == ("unconfirmed", "timed_out")
