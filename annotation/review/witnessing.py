"""What the page of a case tells about the person before it: events stored, a step refused unseen, a time computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from annotation.enums import EventKind, ImageState
from annotation.kept_queries import KeptQuery
from annotation.models import Assignment, Image, ReviewEvent, User
from annotation.review.holding import hold_assignment
from annotation.timing.durations import RULE, ClockEvent, Key, TimeFlag, durations
from annotation.timing.parsing import SentEvent, Trace

MOST_STORED = 20_000  # events of one assignment: a day of heartbeats and more
SERVER = "server"  # the page of the event that the server writes
_NEEDED = (EventKind.PAINTED, EventKind.SUBMITTED)  # stored with a step even when the log is full
_IS_SHOWN = Q(state=ImageState.AVAILABLE, display__isnull=False)
_IMAGES: KeptQuery[tuple[str, bool]] = KeptQuery(
    lambda exam: Image.objects.filter(exam=exam).annotate(is_shown=_IS_SHOWN).values_list("public_id", "is_shown"), int
)
_STORED: KeptQuery[tuple[Any, ...]] = KeptQuery(
    lambda held: ReviewEvent.objects.filter(assignment=held).values_list(
        "page", "sequence", "kind", "client_ms", "wall_ms", "details"
    ),
    int,
)


class TooManyEvents(Exception):
    """The log of this assignment is full; nothing of the request was stored."""


class NotSeen(Exception):
    """An image of the exam was not on screen at full depth, and nobody said that it cannot be read."""

    def __init__(self, images: Sequence[str]) -> None:
        super().__init__(f"not seen: {', '.join(images)}")
        self.images = tuple(images)


class NoSuchImage(Exception):
    """An image that is said to be unreadable is none of the exam."""


@dataclass(frozen=True)
class Witnessed:
    """Everything that the clock has told of an assignment, this request included."""

    events: tuple[ClockEvent, ...]
    painted: frozenset[str]  # public ids of the images that were on screen
    steps: Mapping[Key, str]  # of each ``submitted``: which step it committed, empty if not said


@transaction.atomic
def record_events(assignment: Assignment, trace: Trace, *, actor: User, at: datetime) -> int:
    """Store the events of a request of their own, and return how many came. Raises TooManyEvents, NotTheReviewer,
    RoundNotOpen.
    """
    held = hold_assignment(assignment, actor=actor)
    if not keep_events(held, trace, at=at):
        raise TooManyEvents(f"assignment {held.public_id} has {MOST_STORED} events")
    return len(trace.events)


def keep_events(held: Assignment, trace: Trace, *, at: datetime) -> bool:
    """Store events that came beside something else; False, and nothing stored, when the log is full."""
    if not trace.events:
        return True
    if ReviewEvent.objects.filter(assignment=held).count() + len(trace.events) > MOST_STORED:
        return False
    _insert(held, trace.page, trace.events, at=at)
    return True


def note_opening(assignment: Assignment, *, at: datetime) -> None:
    """The server's own event: the case was opened for the first time."""
    _insert(assignment, SERVER, [SentEvent(0, EventKind.OPENED, 0.0)], at=at)


def witness(held: Assignment, trace: Trace, *, at: datetime) -> Witnessed:
    """Store the events that came with a step, and return all that there are."""
    stored = [row for row in _STORED(held.pk) if row[0] != SERVER]
    known = {(page, sequence) for page, sequence, *_rest in stored}
    new = [event for event in trace.events if (trace.page, event.sequence) not in known]
    if len(stored) + len(new) > MOST_STORED:
        new = [event for event in new if event.kind in _NEEDED]
    _insert(held, trace.page, new, at=at)
    rows = [*stored, *((trace.page, e.sequence, e.kind, e.client_ms, e.wall_ms, e.details) for e in new)]
    return Witnessed(
        events=tuple(ClockEvent(*row[:5]) for row in rows),
        painted=frozenset(_names(row[5] for row in rows if row[2] == EventKind.PAINTED)),
        steps={(row[0], row[1]): str(row[5].get("step", "")) for row in rows if row[2] == EventKind.SUBMITTED},
    )


def check_seen(held: Assignment, seen: Witnessed, unreadable: Iterable[str]) -> None:
    """Every available image of the exam was on screen, or is said to be unreadable. Raises NotSeen, NoSuchImage.

    An exam without an available image can be judged: what cannot be shown need not be seen.
    """
    said = set(unreadable)
    images = dict(_IMAGES(held.revision.question.exam_id))
    if not said <= images.keys():
        raise NoSuchImage(f"no image of assignment {held.public_id}")
    unseen = sorted(name for name, is_shown in images.items() if is_shown and name not in seen.painted | said)
    if unseen:
        raise NotSeen(unseen)


def time_of(held: Assignment, seen: Witnessed, *, step: str, at: datetime) -> dict[str, Any]:
    """The columns of Timed: the time from first painted to the commit of this step."""
    commits = {key for key, committed in seen.steps.items() if committed in (step, "")}
    server = (at - held.opened_at).total_seconds() * 1000 if held.opened_at is not None else None
    measured = durations(seen.events, commits=commits, server_elapsed_ms=server)
    return {
        "active_ms": measured.active_ms,
        "elapsed_ms": measured.elapsed_ms,
        "n_sittings": measured.n_sittings,
        "time_rule": measured.rule,
        "time_flags": [flag.value for flag in measured.flags],
    }


def simulated_time() -> dict[str, Any]:
    """Nobody sat there, so there is no time."""
    return {"time_rule": RULE, "time_flags": [TimeFlag.SIMULATED.value]}


def _insert(held: Assignment, page: str, events: Sequence[SentEvent], *, at: datetime) -> None:
    """One statement; an event that is there already stays as it is."""
    if events:
        ReviewEvent.objects.bulk_create(
            [
                ReviewEvent(
                    assignment=held,
                    page=page,
                    sequence=event.sequence,
                    kind=event.kind,
                    client_ms=event.client_ms,
                    wall_ms=event.wall_ms,
                    received_at=at,
                    details=dict(event.details),
                )
                for event in events
            ],
            ignore_conflicts=True,
        )


def _names(details: Iterable[Mapping[str, Any]]) -> set[str]:
    """The images that ``painted`` events name."""
    found: set[str] = set()
    for one in details:
        views = one.get("views", [])
        found |= {view for view in views if isinstance(view, str)} if isinstance(views, list) else set()
    return found
