"""From events to active time: the rule, its edges, and what holds for any events in any order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from annotation.case.kernels.durations import (
    DOUBT,
    EXCLUDING,
    RULE,
    ClockEvent,
    Durations,
    TimeFlag,
    durations,
    is_counted,
)
from annotation.enums import EventKind as K

WALL = 1_790_000_000_000.0
CaseTrace = tuple[K, float]


def page_of(
    *told: CaseTrace, page: str = "a", wall: float | None = WALL, first: int = 0, zero: float = 0
) -> list[ClockEvent]:
    """Events of one load, each at its second and received at once.

    ``wall`` is the time of day at second 0 of its clock, None for no wall clock; ``zero`` the same on the server.
    """
    return [
        ClockEvent(page, first + n, kind, at * 1000, None if wall is None else wall + at * 1000, received(zero + at))
        for n, (kind, at) in enumerate(told)
    ]


def received(second: float) -> datetime:
    """A moment of the server's clock."""
    return datetime.fromtimestamp(1_795_000_000 + second, UTC)


def beats(start: float, end: float) -> list[CaseTrace]:
    return [(K.HEARTBEAT, at) for at in range(int(start), int(end), 5)]


def reading(*extra: CaseTrace, start: float = 1, end: float = 31) -> list[CaseTrace]:
    """Painted, heartbeats, submitted, and what is said between them, in order of time."""
    return sorted([(K.PAINTED, start), *beats(start + 4, end), *extra, (K.SUBMITTED, end)], key=lambda one: one[1])


def measured(*told: CaseTrace, **options: Any) -> Durations:
    return durations(page_of(*told), **options)


@pytest.mark.parametrize(
    ("extra", "active", "flags"),
    [
        ([], 30_000, set()),
        ([(K.PAINTED, 10), (K.SUBMITTED, 12)], 30_000, set()),  # the first starts the clock, the last ends it
        ([(K.HIDDEN, 6), (K.VISIBLE, 16)], 20_000, {TimeFlag.HIDDEN}),
        ([(K.PAUSED, 6), (K.RESUMED, 16)], 20_000, {TimeFlag.PAUSED}),
        ([(K.HIDDEN, 6), (K.PAUSED, 8), (K.VISIBLE, 12), (K.RESUMED, 16)], 20_000, {TimeFlag.HIDDEN, TimeFlag.PAUSED}),
        ([(K.HIDDEN, 20)], 19_000, {TimeFlag.HIDDEN}),
        ([(K.BLURRED, 6), (K.FOCUSED, 16)], 30_000, {TimeFlag.BLURRED}),
        ([(K.QUIET, 20)], 30_000, {TimeFlag.QUIET}),
        ([(K.TOOL, 3), (K.SELECTED, 4), (K.CHANGED, 5)], 30_000, set()),
        ([(K.TRANSLATED, 5)], 30_000, {TimeFlag.TRANSLATED}),
        # what came before everything was painted counts for nothing, but a page may be hidden from the start
        ([(K.HIDDEN, 0), (K.VISIBLE, 0.5), (K.QUIET, 0.6), (K.HEARTBEAT, 0.7)], 30_000, set()),
        ([(K.HIDDEN, 0), (K.VISIBLE, 11)], 20_000, {TimeFlag.HIDDEN}),
    ],
)
def test_what_is_subtracted_and_what_is_only_noted(extra: list[CaseTrace], active: int, flags: set[TimeFlag]) -> None:
    found = measured(*reading(*extra))
    assert (found.active_ms, found.elapsed_ms, found.n_sittings, found.rule) == (active, 30_000, 1, RULE)
    assert set(found.flags) == flags


@pytest.mark.parametrize(("gap", "active"), [(15.0, 19_000), (15.001, 4_000)])
def test_more_than_fifteen_seconds_without_an_event_are_absence(gap: float, active: int) -> None:
    found = measured((K.PAINTED, 1), (K.HEARTBEAT, 5), (K.SUBMITTED, 5 + gap))
    assert found.active_ms == active
    assert found.elapsed_ms == 4_000 + gap * 1000
    assert (TimeFlag.ABSENT in found.flags) == (gap > 15)


def later(events: list[ClockEvent], *, wall: float = 0, server: float = 0, monotonic: float = 0) -> list[ClockEvent]:
    """From second 15 on: the time of day, the receipt and the page's clock moved by so many seconds."""
    return [
        event
        if event.client_ms < 15_000
        else replace(
            event,
            client_ms=event.client_ms + monotonic * 1000,
            wall_ms=None if event.wall_ms is None else event.wall_ms + wall * 1000,
            received_at=event.received_at + timedelta(seconds=server),
        )
        for event in events
    ]


@pytest.mark.parametrize("jump", [3_600, -3_600, 5, -5])
def test_a_time_of_day_that_is_set_changes_no_time_and_is_said(jump: float) -> None:
    found = durations(later(page_of(*reading()), wall=jump))
    assert (found.active_ms, found.elapsed_ms, found.parts) == (30_000, 30_000, {})
    assert found.flags == (TimeFlag.CLOCK_SET,)
    assert is_counted(found.active_ms, found.flags)


def test_sleep_that_stops_the_monotonic_clock_is_elapsed_and_not_active() -> None:
    found = durations(later(page_of(*reading()), wall=3_600, server=3_600))
    assert (found.active_ms, found.elapsed_ms) == (30_000, 3_630_000)
    assert found.parts == {"asleep": 3_600_000}
    assert {TimeFlag.ASLEEP} <= set(found.flags)


def test_a_machine_that_slept_for_ten_seconds_did_not_read() -> None:
    """Its page says from when to when it stood still."""
    found = measured(*reading((K.ASLEEP, 12.2), (K.AWAKE, 22.2)))
    assert (found.active_ms, found.elapsed_ms, found.parts) == (20_000, 30_000, {"asleep": 10_000})
    assert found.flags == (TimeFlag.ASLEEP,)


def test_a_heartbeat_that_was_left_out_without_a_word_is_a_doubt_of_that_size() -> None:
    found = measured((K.PAINTED, 1), (K.HEARTBEAT, 5), (K.HEARTBEAT, 17.5), (K.SUBMITTED, 20))
    assert (found.active_ms, found.parts) == (19_000, {"doubt": 12_500})
    assert found.flags == (TimeFlag.DOUBTFUL,)


BEFORE: list[CaseTrace] = [(K.PAINTED, 1), (K.HEARTBEAT, 6), (K.HIDDEN, 8)]
AFTER: list[CaseTrace] = [(K.HEARTBEAT, 1.5), (K.PAINTED, 4), (K.HEARTBEAT, 6.5), (K.SUBMITTED, 10)]


@pytest.mark.parametrize("set_by", [0, -3_600, -5, -10, 3_600])
def test_a_reload_counts_what_was_on_screen_whatever_the_time_of_day_does(set_by: float) -> None:
    """On screen for 7 s, a second between the loads, 4 s until everything shows again, 6 s to the answer."""
    found = durations(page_of(*BEFORE) + page_of(*AFTER, page="b", zero=9, wall=WALL + (9 + set_by) * 1000))
    assert (found.active_ms, found.elapsed_ms, found.n_sittings) == (13_000, 18_000, 1)
    assert found.parts == {"gap": 1_000, "loading": 4_000}
    assert found.flags == (TimeFlag.RELOADED, TimeFlag.LOADING)


def test_the_old_load_shows_its_case_until_the_new_one_comes() -> None:
    """A browser starts the clock of the new load when it asks for it, and hides the old one when an answer comes."""
    found = durations(page_of(*BEFORE) + page_of(*AFTER, page="b", zero=7, wall=WALL + 7_000))
    assert (found.active_ms, found.parts) == (13_000, {"loading": 3_000})


def test_of_a_page_that_turned_to_the_case_only_the_images_load() -> None:
    turned = page_of(*AFTER, page="b", zero=9, wall=WALL + 9_000, first=40)
    assert durations(page_of(*BEFORE) + turned).parts == {"gap": 2_500, "loading": 2_500}


def test_a_slow_line_makes_no_other_sitting() -> None:
    slow = [(kind, at + 20) for kind, at in AFTER]
    found = durations(page_of(*BEFORE) + page_of(*slow, page="b", zero=9, wall=WALL + 9_000))
    assert (found.active_ms, found.n_sittings) == (13_000, 1)
    assert found.parts == {"gap": 1_000, "loading": 24_000}
    assert is_counted(found.active_ms, found.flags)


def test_another_sitting_is_counted_and_flagged() -> None:
    found = durations(page_of(*BEFORE) + page_of(*AFTER, page="b", zero=86_400, wall=WALL + 86_400_000))
    assert (found.active_ms, found.n_sittings, found.elapsed_ms) == (13_000, 2, 86_400_000 + 9_000)
    assert set(found.flags) == {TimeFlag.RELOADED, TimeFlag.RESUMED, TimeFlag.LOADING}
    assert not is_counted(found.active_ms, found.flags)


def test_a_load_that_ended_without_a_word_leaves_a_doubt() -> None:
    """As in a crash: it may have been on screen until its next heartbeat was due, or until the gap ended."""
    crashed = page_of(*BEFORE[:2])
    found = durations(crashed + page_of(*AFTER, page="b", zero=9, wall=WALL + 9_000))
    assert (found.active_ms, found.parts) == (11_000, {"gap": 3_000, "loading": 4_000, "doubt": 5_000})
    assert TimeFlag.DOUBTFUL in found.flags


def test_events_that_came_late_leave_a_doubt_where_loads_seem_to_overlap() -> None:
    """What the first load told reached the server with the second, five seconds into it."""
    late = [replace(event, received_at=received(18)) for event in page_of(*BEFORE)]
    found = durations(late + page_of(*AFTER, page="b", zero=9, wall=WALL + 9_000))
    assert found.active_ms == 13_000 - 5_000
    assert found.parts["doubt"] == 5_000


def test_a_load_that_the_server_heard_of_late_is_no_other_sitting() -> None:
    """Answered without a connection and delivered ten minutes later: the time of day says when."""
    late = [replace(event, received_at=received(600)) for event in page_of(*AFTER, page="b", wall=WALL + 9_000)]
    found = durations(page_of(*BEFORE) + late)
    assert (found.active_ms, found.elapsed_ms, found.n_sittings) == (13_000, 18_000, 1)
    assert found.parts == {"gap": 1_000, "loading": 4_000}


def test_a_load_that_never_showed_everything_leaves_a_doubt() -> None:
    blind = [one for one in AFTER if one[0] != K.PAINTED]
    found = durations(page_of(*BEFORE) + page_of(*blind, page="b", zero=9, wall=WALL + 9_000))
    assert (found.active_ms, found.parts) == (7_000, {"gap": 1_000, "loading": 10_000, "doubt": 10_000})


def test_two_tabs_are_not_counted_twice() -> None:
    one = page_of(*reading(end=31))
    two = page_of(*reading((K.HIDDEN, 11), (K.VISIBLE, 16), start=2, end=31), page="b")
    found = durations(one + two)
    assert (found.active_ms, found.elapsed_ms) == (30_000, 30_000)


def test_leaving_for_another_case_of_the_page_is_away_although_the_pause_was_not_told() -> None:
    found = measured((K.PAINTED, 0), (K.SUBMITTED, 4), (K.RESUMED, 14), (K.SUBMITTED, 20))
    assert (found.active_ms, found.elapsed_ms) == (10_000, 20_000)
    assert found.flags == (TimeFlag.PAUSED,)


def test_a_step_takes_its_own_commit() -> None:
    events = page_of((K.PAINTED, 0), *beats(4, 10), (K.SUBMITTED, 10), *beats(14, 30), (K.SUBMITTED, 30))
    first, last = [e.key for e in events if e.kind == K.SUBMITTED]
    assert durations(events, commits={first}).active_ms == 10_000
    assert durations(events, commits={last}).active_ms == 30_000
    assert durations(events, commits=()).flags == (TimeFlag.NOT_COMMITTED,)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ([], TimeFlag.NOT_PAINTED),
        ([(K.SUBMITTED, 3)], TimeFlag.NOT_PAINTED),
        ([(K.SUBMITTED, 3), (K.PAINTED, 4)], TimeFlag.NOT_PAINTED),
        ([(K.PAINTED, 4)], TimeFlag.NOT_COMMITTED),
    ],
)
def test_no_time_has_its_reason(told: Sequence[CaseTrace], why: TimeFlag) -> None:
    found = measured(*told)
    assert (found.active_ms, found.elapsed_ms, found.n_sittings, found.flags) == (None, None, None, (why,))


def test_a_time_of_day_is_not_needed() -> None:
    found = durations(page_of(*BEFORE, wall=None) + page_of(*AFTER, page="b", zero=9, wall=None))
    assert (found.active_ms, found.parts) == (13_000, {"gap": 1_000, "loading": 4_000})


def test_a_clock_of_the_page_that_runs_backwards_is_flagged_and_not_repaired() -> None:
    found = durations(later(page_of(*reading()), monotonic=-9))
    assert TimeFlag.CLOCK_BACKWARDS in found.flags
    assert found.active_ms is not None
    assert not is_counted(found.active_ms, found.flags)


def test_the_server_bounds_the_active_time() -> None:
    assert measured(*reading(), server_elapsed_ms=30_000).flags == ()
    found = measured(*reading(), server_elapsed_ms=29_999)
    assert (found.active_ms, found.flags) == (30_000, (TimeFlag.ABOVE_SERVER,))


# --- any events -----------------------------------------------------------------------------------
events_of_pages = st.lists(
    st.builds(
        ClockEvent,
        page=st.sampled_from(["a", "b", "c"]),
        sequence=st.integers(0, 12),
        kind=st.sampled_from([*K, K.PAINTED, K.SUBMITTED, K.HEARTBEAT, K.HEARTBEAT]),
        client_ms=st.floats(0, 100_000),
        wall_ms=st.none() | st.floats(WALL, WALL + 200_000),
        received_at=st.floats(0, 200).map(received),
    ),
    max_size=40,
    unique_by=lambda event: event.key,
)


@given(events_of_pages)
def test_active_lies_between_nothing_and_elapsed(events: list[ClockEvent]) -> None:
    found = durations(events, server_elapsed_ms=50_000)
    if found.active_ms is None:
        assert (found.elapsed_ms, len({*found.flags} - {TimeFlag.TRANSLATED})) == (None, 1)
    else:
        assert found.elapsed_ms is not None
        assert 0 <= found.active_ms <= found.elapsed_ms
        taken = sum(ms for name, ms in found.parts.items() if name != DOUBT)
        assert found.active_ms + taken == found.elapsed_ms
        assert (TimeFlag.DOUBTFUL in found.flags) == (found.parts.get(DOUBT, 0) > 250)
        assert (TimeFlag.ABOVE_SERVER in found.flags) == (found.active_ms > 50_000)


@given(events_of_pages, st.data())
def test_order_of_arrival_and_second_copies_change_nothing(events: list[ClockEvent], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(events), max_size=10)) if events else []
    mixed = data.draw(st.permutations(events + again))
    assert durations(mixed) == durations(events)


spans = st.lists(st.tuples(st.integers(1, 299), st.integers(1, 299)), max_size=6)


@given(hidden=spans, paused=spans)
def test_overlapping_spans_are_subtracted_once(hidden: list[tuple[int, int]], paused: list[tuple[int, int]]) -> None:
    """Against a count of the seconds during which anything was away, one page per second grid of 300 s."""
    away = [False] * 300
    told: list[tuple[float, int, K]] = [(at, 0, K.HEARTBEAT) for at in range(1, 300)]
    for begins, ends, chosen in ((K.HIDDEN, K.VISIBLE, hidden), (K.PAUSED, K.RESUMED, paused)):
        is_off = [any(min(one) <= second < max(one) for one in chosen) for second in range(301)]
        for second in range(1, 300):
            away[second] = away[second] or is_off[second]
            if is_off[second] and not is_off[second - 1]:
                told.append((second, 1, begins))
            if is_off[second - 1] and not is_off[second]:
                told.append((second, 1, ends))
    events = [(K.PAINTED, 0.0), *((kind, float(at)) for at, _, kind in sorted(told)), (K.SUBMITTED, 300.0)]
    assert measured(*events).active_ms == 1000 * (300 - sum(away))


def test_a_translated_page_is_noted_whatever_becomes_of_the_time() -> None:
    assert TimeFlag.TRANSLATED not in EXCLUDING  # the time is the time that it took
    untimed = measured((K.TRANSLATED, 0), (K.SUBMITTED, 4))
    assert untimed.flags == (TimeFlag.NOT_PAINTED, TimeFlag.TRANSLATED)
