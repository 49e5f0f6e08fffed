"""How fast an endpoint is asked; time is a number that the test says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.call_enums import CallOutcome
from annotation.model_calls.kernels.pacing import (
    LONGEST_ASKED,
    LONGEST_REST,
    Pace,
    Rest,
    seconds_before_retry,
    seconds_to_wait,
)
from annotation.model_calls.next_calls import BatchWork
from annotation.models import CallBatch
from tests.annotation.model_calls.simulated_calls import make_batch

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def answered(pace: Pace, n: int, now: float = 0.0) -> None:
    for _ in range(n):
        pace.answered(None, now)


def test_connections_double_at_first_up_to_the_most() -> None:
    pace = Pace(16)
    found = [pace.free(0, 0.0)]
    for _ in range(4):
        answered(pace, found[-1])
        found.append(pace.free(0, 0.0))
    assert found == [2, 4, 8, 16, 16]
    assert pace.free(5, 0.0) == 11


def test_they_halve_when_there_are_too_many_and_then_grow_by_one_in_a_round() -> None:
    pace = Pace(16)
    answered(pace, 14)
    assert pace.free(0, 0.0) == 16
    pace.too_many()
    assert pace.free(0, 2.2) == 8
    answered(pace, 9, now=2.2)
    assert pace.free(0, 2.2) == 9
    for _ in range(5):
        pace.too_many()
    assert pace.free(0, 60.0) == 1


def test_a_busy_endpoint_rests_as_long_as_it_asks_and_never_shorter_than_by_itself() -> None:
    rest = Rest()
    assert rest.failed(1, 0.0, wait=30.0, is_busy=True)
    assert not rest.failed(2, 0.1, wait=0.0, is_busy=True), "of the same round"
    assert rest.closed_until == 30.0
    until = []
    for now in (30.0, 40.0, 50.0):
        rest.failed(1, now, wait=0.0, is_busy=True)
        until.append(rest.closed_until - now)
    assert until == [2.0, 4.0, 8.0]
    for now in range(1_000, 100_000, 1_000):
        rest.failed(1, float(now), is_busy=True)
    assert rest.closed_until - 99_000 == LONGEST_REST
    assert rest.since == 0.0
    rest.answered()
    assert rest == Rest()


def test_one_call_that_fails_is_no_fault_of_the_endpoint_and_three_are() -> None:
    rest = Rest()
    assert [rest.failed(7, float(now)) for now in range(9)] == [False] * 9
    assert [rest.failed(8, 9.0), rest.failed(9, 9.1), rest.failed(10, 9.2)] == [False, True, False]
    assert rest.closed_until == pytest.approx(10.1)


def test_no_more_calls_in_a_minute_than_allowed() -> None:
    pace = Pace(8, calls_per_minute=5)
    answered(pace, 8)
    pace.sent(3, 0.0)
    pace.sent(2, 10.0)
    assert pace.free(0, 59.0) == 0
    assert pace.free(0, 60.0) == 3
    assert pace.free(0, 70.0) == 5


def test_no_more_tokens_in_a_minute_than_allowed() -> None:
    pace = Pace(8, tokens_per_minute=1000)
    assert (pace.free(0, 0.0), pace.free(1, 0.0)) == (1, 0)
    pace.answered(300, 0.0)
    assert pace.free(0, 1.0) == 2
    pace.answered(700, 2.0)
    assert pace.free(0, 3.0) == 0
    assert pace.free(0, 60.0) == 0
    assert pace.free(0, 62.0) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("99999999", LONGEST_ASKED),
        ("0.5", 0.5),
        ("Sat, 21 Nov 2026 12:00:30 GMT", 30.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-1", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    assert seconds_to_wait(header, NOW) == seconds


def test_a_call_waits_longer_after_each_failure() -> None:
    assert [seconds_before_retry(n) for n in (1, 2, 3, 8, 100)] == [1, 2, 4, 60, 60]


# --- which call comes next is known for some calls ahead ---


def take(work: BatchWork, batch: CallBatch, most: int) -> list[int]:
    calls = work.next_calls(batch, most, 0.0)
    if calls:
        work.took(calls)
    return [call.number for call in calls]


@pytest.mark.django_db
def test_the_calls_of_the_next_steps_are_read_with_those_of_this_one() -> None:
    batch = make_batch(5)
    work = BatchWork.of(batch)
    with CaptureQueriesContext(connection) as queries:
        assert [take(work, batch, 2), take(work, batch, 2), take(work, batch, 1)] == [[1, 2], [3, 4], [5]]
    assert len(queries) == 1


@pytest.mark.django_db
def test_a_batch_that_stood_still_reads_its_calls_anew() -> None:
    """A file of responses may have come meanwhile."""
    batch = make_batch(3)
    work = BatchWork.of(batch)
    assert take(work, batch, 1) == [1]
    batch.calls.filter(number=2).update(outcome=CallOutcome.ANSWERED)
    work.drop_read_ahead()
    assert take(work, batch, 2) == [3]
