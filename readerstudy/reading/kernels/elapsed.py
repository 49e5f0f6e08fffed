"""How long a case can have been on screen at most, as the server knows it. Pure.

The time from the opening to the answer bounds what the page says. Offline, though, the opening reaches the server
together with the answer. But the page was heard of before: an event that it numbered with its own clock came in at a
known time, and what the clock of the page has told since then cannot be more than what the server's has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from annotation.timing.kernels.durations import ClockEvent

TRAVEL_MS = 2_000.0  # by so much a request may be slower than another; no smaller difference says anything


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
