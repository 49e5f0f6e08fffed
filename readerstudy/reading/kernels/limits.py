"""The time limit of a case: when it ends, whether an answer was made in time, when the program closes it. Pure.

An answer is judged on the client's monotonic clock from painted to commit, because transmission takes as long as it
takes. The deadline on the server only says when a case without an answer is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from annotation.case.kernels.durations import ClockEvent
from annotation.enums import EventKind
from readerstudy.design.kernels.rules import GRACE_MS
from readerstudy.enums import ResponseState

TRAVEL_MS = 2_000.0  # by so much a request may be slower than another; no smaller difference says anything
GRACE = timedelta(milliseconds=GRACE_MS)
ON_THE_WAY = timedelta(seconds=30)  # how long an answer that was made in time may travel before the case is closed


@dataclass(frozen=True)
class Judged:
    """How a commit counts; ``limit_ms`` is set where the time is censored at the limit."""

    state: ResponseState
    delivered_late: bool = False
    limit_ms: int | None = None


def deadline_after(painted_at: datetime, time_limit_s: int | None) -> datetime | None:
    return painted_at + timedelta(seconds=time_limit_s) if time_limit_s is not None else None


def seconds_left(deadline_at: datetime | None, at: datetime) -> float | None:
    """None for a case without a deadline; never below 0."""
    return max(0.0, (deadline_at - at).total_seconds()) if deadline_at is not None else None


def is_over(deadline_at: datetime | None, at: datetime) -> bool:
    """Whether the reader's page may go on to the next case: the grace is over."""
    return deadline_at is not None and at > deadline_at + GRACE


def is_to_be_closed(deadline_at: datetime | None, at: datetime) -> bool:
    """Whether the program closes the case by itself, without a page that asks for the next one."""
    return deadline_at is not None and at > deadline_at + GRACE + ON_THE_WAY


def taken_ms(
    events: Sequence[ClockEvent], elapsed_ms: float | None, *, painted_at: datetime | None, at: datetime
) -> float:
    """How long the case had been on screen when it was answered, to be judged by.

    The monotonic clock of the page says it. Several loads of a page, or two devices, have only their times of day in
    common (``elapsed_ms``), which may be wrong: it was no longer than the server knows. Without either the server's own
    times stand in.
    """
    monotonic_ms = _monotonic_ms(events) if elapsed_ms is not None else None
    if monotonic_ms is not None:
        return monotonic_ms
    server_ms = (at - painted_at).total_seconds() * 1000 if painted_at is not None else 0.0
    return server_ms if elapsed_ms is None else min(elapsed_ms, server_ms)


def _monotonic_ms(events: Sequence[ClockEvent]) -> float | None:
    """First painted to last commit, where one page has reported everything."""
    painted = [event.client_ms for event in events if event.kind == EventKind.PAINTED]
    submitted = [event.client_ms for event in events if event.kind == EventKind.SUBMITTED]
    if len({event.page for event in events}) != 1 or not painted or not submitted:
        return None
    return max(0.0, max(submitted) - min(painted))


def judge(
    *, declined: bool, time_limit_s: int | None, client_ms: float, deadline_at: datetime | None, at: datetime
) -> Judged:
    """``client_ms``: see taken_ms."""
    state = ResponseState.DECLINED if declined else ResponseState.ANSWERED
    if time_limit_s is None:
        return Judged(state)
    if not is_in_time(client_ms, time_limit_s):
        return Judged(ResponseState.LATE, limit_ms=time_limit_s * 1000)
    return Judged(state, delivered_late=deadline_at is not None and at > deadline_at)


def is_in_time(client_ms: float, time_limit_s: int | None) -> bool:
    """Of an answer, and of a choice that nobody confirmed; ``client_ms``: see taken_ms."""
    return time_limit_s is None or client_ms <= time_limit_s * 1000 + GRACE_MS


def state_without_answer(choice: str) -> ResponseState:
    """How a case ends whose time ran out: with the last saved choice, not confirmed, or with none."""
    return ResponseState.UNCONFIRMED if choice else ResponseState.TIMED_OUT


@dataclass(frozen=True)
class Heard:
    """One event of a page: its own clock, and when the server got it."""

    page: str
    client_ms: float
    received_at: datetime


def since_opening_ms(opened_at: datetime | None, at: datetime) -> float | None:
    return _ms(opened_at, at) + TRAVEL_MS if opened_at is not None else None


def most_elapsed_ms(
    painted: ClockEvent | None, earlier: Iterable[Heard], *, begun_at: datetime | None, at: datetime
) -> float | None:
    """The most that can have passed between ``painted`` and ``at``; None when nothing bounds it.

    ``earlier`` holds what came in before the case was opened; of those from the same page the one that travelled least
    counts. ``begun_at`` is when the sitting began: nothing of it can have been seen before.
    """
    bounds = [_ms(begun_at, at)] if begun_at is not None else []
    if painted is not None:
        ties = [_ms(one.received_at, at) + one.client_ms for one in earlier if one.page == painted.page]
        bounds += [max(ties) - painted.client_ms] if ties else []
    return min(bounds) + TRAVEL_MS if bounds else None


def _ms(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds() * 1000
