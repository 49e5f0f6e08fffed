"""The time limit of a case: when it ends, whether an answer was made in time, when the program closes it. Pure.

An answer is judged on the client's clock from painted to commit, because the way to the server takes as long as it
takes. The deadline on the server only says when a case without an answer is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from readerstudy.design.rules import GRACE_MS
from readerstudy.enums import ResponseState

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


def judge(
    *,
    declined: bool,
    time_limit_s: int | None,
    client_ms: float | None,
    painted_at: datetime | None,
    deadline_at: datetime | None,
    at: datetime,
) -> Judged:
    """``client_ms``: painted to commit on the device; where it is not known, the server's own times stand in."""
    state = ResponseState.DECLINED if declined else ResponseState.ANSWERED
    if time_limit_s is None:
        return Judged(state)
    limit_ms = time_limit_s * 1000
    if client_ms is None:
        client_ms = (at - painted_at).total_seconds() * 1000 if painted_at is not None else 0.0
    if client_ms > limit_ms + GRACE_MS:
        return Judged(ResponseState.LATE, limit_ms=limit_ms)
    return Judged(state, delivered_late=deadline_at is not None and at > deadline_at)


def state_without_answer(choice: str) -> ResponseState:
    """How a case ends whose time ran out: with the last saved choice, not confirmed, or with none."""
    return ResponseState.UNCONFIRMED if choice else ResponseState.TIMED_OUT
