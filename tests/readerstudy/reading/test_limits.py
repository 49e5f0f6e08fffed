"""The time limit of a case, without a database: in time, late, delivered late, over."""

from __future__ import annotations

import pytest

from readerstudy.reading.limits import (
    Judged,
    deadline_after,
    is_over,
    is_to_be_closed,
    judge,
    seconds_left,
    state_without_answer,
)
from tests.readerstudy.studies import later


def judged(client_s: float | None, received_s: float, limit: int | None = 30, *, declined: bool = False) -> Judged:
    """Painted on the server at 0."""
    return judge(
        declined=declined,
        time_limit_s=limit,
        client_ms=None if client_s is None else client_s * 1000,
        painted_at=later(0),
        deadline_at=deadline_after(later(0), limit),
        at=later(received_s),
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


def test_without_a_limit_nothing_is_late() -> None:
    assert judged(9_000, 9_000, None) == Judged("answered")  # type: ignore[arg-type]


def test_cannot_tell_can_be_late_as_well() -> None:
    assert judged(10, 10, declined=True).state == "declined"
    assert judged(40, 40, declined=True).state == "late"


def test_what_was_never_painted_for_the_server_is_in_time() -> None:
    found = judge(declined=False, time_limit_s=30, client_ms=None, painted_at=None, deadline_at=None, at=later(99))
    assert found == Judged("answered")  # type: ignore[arg-type]


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
