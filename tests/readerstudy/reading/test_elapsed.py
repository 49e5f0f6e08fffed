"""What the server can say about the time of a case whose opening reached it late."""

from __future__ import annotations

from annotation.case.kernels.durations import ClockEvent
from annotation.enums import EventKind
from readerstudy.reading.kernels.visibility import TRAVEL_MS, Heard, most_elapsed_ms, since_opening_ms
from tests.readerstudy.studies import later

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
