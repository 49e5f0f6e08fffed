"""What pages send to the clock of the server, read strictly."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from annotation.case.kernels.traces import (
    MOST_DETAILS,
    MOST_EVENTS,
    MOST_VIEWPORT,
    NO_TRACE,
    CaseRefused,
    Trace,
    parse_events,
    parse_viewport,
    readable_trace,
)
from tests.refusals import refuses

PAGE = "0f8fad5b-d9cb-469f-a165-70867728950e"
GOOD: dict[str, Any] = {"sequence": 3, "kind": "painted", "client_ms": 12.5, "wall_ms": 1_790_000_000_000}


def test_good_events_come_through() -> None:
    [event] = parse_events(PAGE, json.dumps([{**GOOD, "details": {"views": ["x"]}}]))
    assert (event.sequence, event.kind, event.client_ms) == (3, "painted", 12.5)
    assert (event.wall_ms, event.details) == (1_790_000_000_000.0, {"views": ["x"]})
    assert parse_events("", "") == ()
    assert parse_events(PAGE, "[]") == ()


def test_one_bad_event_refuses_all() -> None:
    changes: list[dict[str, Any]] = [
        {"kind": "opened"},  # the server writes it
        *({"kind": one} for one in ("scrolled", None, ["painted"])),
        *({"sequence": one} for one in (-1, 1.0, True, 2**31)),
        *({"client_ms": one} for one in (None, "1", -0.1, 1e15, True)),
        {"wall_ms": "noon"},
        {"details": []},
        *({"details": {"x": one}} for one in ("y" * MOST_DETAILS, "\x00")),
        {"extra": 1},
    ]
    for change in changes:
        with refuses(CaseRefused, "malformed"):
            parse_events(PAGE, json.dumps([GOOD, {**GOOD, **change}]))


def test_what_is_not_a_list_of_events_or_of_no_page_is_refused() -> None:
    wrong = [
        *("{}", "null", "[1]", "[", "[" * 100_000),
        '[{"sequence":1,"kind":"quiet","client_ms":NaN}]',
        '[{"sequence":1,"kind":"quiet","client_ms":1e999}]',
        '[{"sequence":1,"kind":"quiet","client_ms":1,"details":{"a":"\\ud800"}}]',
        json.dumps([GOOD] * (MOST_EVENTS + 1)),
        " " * 1_000_001,
    ]
    for text in wrong:
        with refuses(CaseRefused, "malformed"):
            parse_events(PAGE, text)
    for page in ("", "server", PAGE.upper(), PAGE + "0", PAGE + "\n"):
        with refuses(CaseRefused, "malformed"):
            parse_events(page, json.dumps([GOOD]))


def test_a_viewport_holds_a_list_of_views() -> None:
    assert parse_viewport("") is None
    state = {"views": [{"zoom": None, "center": [0.5, 0.5]}, None], "linked": False}
    assert parse_viewport(json.dumps(state)) == state
    too_long = json.dumps({"views": [{"x": "y" * MOST_VIEWPORT}]})
    for bad in ("{}", "[]", '{"views": {}}', '{"views": [1]}', '{"views": [NaN]}', too_long):
        with refuses(CaseRefused, "malformed"):
            parse_viewport(bad)


def test_beside_an_answer_the_events_that_can_be_read_are_kept() -> None:
    rows = [GOOD, {**GOOD, "sequence": 4, "client_ms": None}, {**GOOD, "sequence": 5}]
    trace = readable_trace(PAGE, json.dumps(rows), viewport="{", unreadable=["b", "a", "b"])
    assert [event.sequence for event in trace.events] == [3, 5]
    assert (trace.page, trace.is_damaged, trace.viewport, trace.unreadable) == (PAGE, True, None, ("a", "b"))
    assert not readable_trace(PAGE, json.dumps([GOOD])).is_damaged
    assert readable_trace("", "") == NO_TRACE
    assert readable_trace("server", json.dumps([GOOD])) == Trace(is_damaged=True)


@given(st.text(max_size=60) | st.recursive(st.none() | st.floats() | st.text(max_size=4), st.lists).map(json.dumps))
def test_nothing_else_is_ever_raised(text: str) -> None:
    for parse in (lambda: parse_events(PAGE, text), lambda: parse_viewport(text)):
        try:
            parse()
        except CaseRefused:
            continue
    readable_trace(PAGE, text, viewport=text)
