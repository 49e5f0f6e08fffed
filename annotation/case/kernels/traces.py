"""The events of a clock as a page sends them, bounded; and what they say of one case. Pure.

A request of events alone is read strictly and refused as a whole with one sentence. Beside an answer, what can be read
is kept: see readable_trace.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from annotation.case.kernels.durations import ClockEvent, Durations, Key
from annotation.enums import EventKind, _
from annotation.refusals import Refused

MOST_EVENTS = 2_000  # in one request: more than two hours of heartbeats
MOST_CHARACTERS = 1_000_000  # of one request
MOST_DETAILS = 1_000  # characters of one event's details
MOST_VIEWPORT = 64_000
MOST_SEQUENCE = 2**31 - 1  # what its column holds
MOST_MS = 1e14  # both clocks; wall clocks reach it in the year 5138
FROM_PAGES = frozenset(EventKind) - {EventKind.OPENED}
_PAGE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_FIELDS = frozenset({"sequence", "kind", "client_ms", "wall_ms", "details"})


class CaseRefused(Refused):
    """What a page sent of a case cannot be taken: not what our pages send, or an image was not on screen."""


def _malformed(sentence: str) -> CaseRefused:
    return CaseRefused("malformed", sentence, status=422)


class SentEvent(Struct, frozen=True):
    """One event. ``client_ms`` is monotonic and starts anew with each page; ``wall_ms`` counts from 1970."""

    sequence: int
    kind: EventKind
    client_ms: float
    wall_ms: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Trace(Struct, frozen=True):
    """What a page says beside an answer: its events, images that cannot be read, and how the views were set."""

    page: str = ""
    events: tuple[SentEvent, ...] = ()
    unreadable: tuple[str, ...] = ()  # public ids of images
    viewport: dict[str, Any] | None = None
    is_damaged: bool = False  # some of its events could not be read and are not among these


NO_TRACE = Trace()


def parse_events(page: str, text: str) -> tuple[SentEvent, ...]:
    """The events of one page; none for an empty text. Raises CaseRefused."""
    if not text:
        return ()
    return tuple(_event(row) for row in _rows(page, text))


def readable_trace(page: str, events: str, *, viewport: str = "", unreadable: Iterable[str] = ()) -> Trace:
    """What can be read of what came beside an answer: a page's clock that is out of order must not cost the answer.

    Events that cannot be read are left out and the trace says so; settings that cannot be read are left out.
    """
    readable, is_damaged = _readable_events(page, events)
    return Trace(
        page=page if readable else "",
        events=readable,
        unreadable=tuple(sorted(set(unreadable))),
        viewport=_readable_viewport(viewport),
        is_damaged=is_damaged,
    )


def parse_viewport(text: str) -> dict[str, Any] | None:
    """How the views were set at submission, each in ``views``; None for an empty text. Raises CaseRefused."""
    if not text:
        return None
    state = _json(text, MOST_VIEWPORT)
    views = state.get("views") if isinstance(state, dict) else None
    if not isinstance(views, list) or not all(view is None or isinstance(view, dict) for view in views):
        raise _malformed(_("The settings of the views are not a list."))
    return dict(state)


def _readable_events(page: str, text: str) -> tuple[tuple[SentEvent, ...], bool]:
    """Those that can be read, and whether any could not."""
    try:
        rows = _rows(page, text) if text else []
    except CaseRefused:
        return (), True
    readable = []
    for row in rows:
        with suppress(CaseRefused):
            readable.append(_event(row))
    return tuple(readable), len(readable) < len(rows)


def _readable_viewport(text: str) -> dict[str, Any] | None:
    try:
        return parse_viewport(text)
    except CaseRefused:
        return None


def _rows(page: str, text: str) -> list[dict[str, Any]]:
    if not _PAGE.fullmatch(page):
        raise _malformed(_("The events do not name their page."))
    rows = _json(text, MOST_CHARACTERS)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _malformed(_("The events are not a list of events."))
    if len(rows) > MOST_EVENTS:
        raise _malformed(_("These are too many events for one request."))
    return rows


def parse_object(text: str, most: int) -> dict[str, Any]:
    """A JSON object of at most so many characters. Raises CaseRefused."""
    value = _json(text, most)
    if not isinstance(value, dict):
        raise _malformed(_("What came with the answer cannot be read."))
    return value


def _event(row: dict[str, Any]) -> SentEvent:
    if not row.keys() <= _FIELDS:
        raise _malformed(_("An event has a field that events do not have."))
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in FROM_PAGES:
        raise _malformed(_("An event is of a kind that pages do not send."))
    sequence = row.get("sequence")
    if type(sequence) is not int or not 0 <= sequence <= MOST_SEQUENCE:
        raise _malformed(_("An event has no number."))
    details = row.get("details", {})
    if not isinstance(details, dict) or len(json.dumps(details)) > MOST_DETAILS:
        raise _malformed(_("The details of an event are too long, or no object."))
    wall = row.get("wall_ms")
    return SentEvent(
        sequence=sequence,
        kind=EventKind(kind),
        client_ms=_ms(row.get("client_ms")),
        wall_ms=None if wall is None else _ms(wall),
        details=details,
    )


def _ms(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_MS:
        raise _malformed(_("An event has no time."))
    return float(value)


def _json(text: str, most: int) -> Any:
    """JSON that every database holds: no NaN or infinity, no NUL, no half of a surrogate pair."""
    unreadable = _malformed(_("What came with the answer cannot be read."))
    if len(text) > most:
        raise unreadable
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise unreadable from None
    if "\x00" in text or "\\u0000" in text:
        raise unreadable
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _finite(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise ValueError(f"{digits[:20]} is too large")
    return value


MOST_STORED = 20_000  # events of one case and person: a day of heartbeats and more
SERVER = "server"  # the page of the event that the server writes
NEEDED = (EventKind.PAINTED, EventKind.SUBMITTED, EventKind.TRANSLATED)  # stored with a step even when the log is full

# Page, sequence, kind, both clocks of the device, when the server got it, details.
Row = tuple[str, int, str, float, float | None, datetime, Mapping[str, Any]]
ROW = ("page", "sequence", "kind", "client_ms", "wall_ms", "received_at", "details")


class TraceSoFar(Struct, frozen=True):
    """All timing events of a case, those of this request included."""

    events: tuple[ClockEvent, ...]
    painted: frozenset[str]  # public ids of the images that were on screen
    steps: Mapping[Key, str]  # of each ``submitted``: which step it committed, empty if not marked
    is_damaged: bool = False  # some of it could not be read


def new_events(trace: Trace, known: Collection[Key]) -> list[SentEvent]:
    """The events of a request that are not there yet; of a full log only those that a commit needs."""
    new = [event for event in trace.events if (trace.page, event.sequence) not in known]
    return new if is_room_for(len(known), new) else [event for event in new if event.kind in NEEDED]


def is_room_for(n_stored: int, events: Sequence[SentEvent]) -> bool:
    return n_stored + len(events) <= MOST_STORED


def row_of(page: str, event: SentEvent, *, at: datetime) -> Row:
    return page, event.sequence, event.kind, event.client_ms, event.wall_ms, at, event.details


def event_columns(page: str, event: SentEvent, *, at: datetime) -> dict[str, Any]:
    """What the tables of events of reviews and of readings have in common."""
    return dict(zip(ROW, row_of(page, event, at=at), strict=True))


def trace_so_far(rows: Sequence[Row], *, is_damaged: bool = False) -> TraceSoFar:
    return TraceSoFar(
        events=tuple(ClockEvent(*row[:6]) for row in rows),
        painted=frozenset(painted_images(row[6] for row in rows if row[2] == EventKind.PAINTED)),
        steps={(row[0], row[1]): str(row[6].get("step", "")) for row in rows if row[2] == EventKind.SUBMITTED},
        is_damaged=is_damaged,
    )


def check_all_seen(images: Mapping[str, bool], painted: Collection[str], unreadable: Iterable[str]) -> None:
    """Every image was on screen, or is marked to be unreadable. Raises CaseRefused.

    ``images`` says of every image of the exam whether it can be shown: what cannot be shown need not be seen.
    """
    marked = set(unreadable)
    if not marked <= images.keys():
        raise CaseRefused("malformed", "This case has no such image.", status=422)
    unseen = sorted(
        name for name, is_shown in images.items() if is_shown and name not in painted and name not in marked
    )
    if unseen:
        raise CaseRefused("not_seen", "Not every image of this case has been on screen yet.", images=unseen)


def time_columns(measured: Durations) -> dict[str, Any]:
    """The columns of annotation.models.fields.Timed."""
    return {
        "active_ms": measured.active_ms,
        "elapsed_ms": measured.elapsed_ms,
        "n_sittings": measured.n_sittings,
        "time_rule": measured.rule,
        "time_flags": [flag.value for flag in measured.flags],
        "time_parts": dict(measured.parts) if measured.active_ms is not None else None,
    }


def painted_images(details: Iterable[Mapping[str, Any]]) -> set[str]:
    """The images that ``painted`` events name."""
    found: set[str] = set()
    for one in details:
        views = one.get("views", [])
        found |= {view for view in views if isinstance(view, str)} if isinstance(views, list) else set()
    return found
