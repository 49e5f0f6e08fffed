"""What the timing events say of one case: which events to keep, what was on screen, which images nobody saw. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotation.case.kernels.durations import ClockEvent, Durations, Key
from annotation.case.kernels.parsing import CaseRefused, SentEvent, Trace
from annotation.enums import EventKind

MOST_STORED = 20_000  # events of one case and person: a day of heartbeats and more
SERVER = "server"  # the page of the event that the server writes
NEEDED = (EventKind.PAINTED, EventKind.SUBMITTED, EventKind.TRANSLATED)  # stored with a step even when the log is full

# Page, sequence, kind, both clocks of the device, when the server got it, details.
Row = tuple[str, int, str, float, float | None, datetime, Mapping[str, Any]]
ROW = ("page", "sequence", "kind", "client_ms", "wall_ms", "received_at", "details")


@dataclass(frozen=True)
class TraceSoFar:
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
