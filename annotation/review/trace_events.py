"""The timing events of a case page: stored, a step refused where images were not seen, and times computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.case.kernels.durations import RULE, durations, flags_of_page
from annotation.case.kernels.parsing import CaseRefused, SentEvent, Trace
from annotation.case.kernels.time_flags import TimeFlag
from annotation.case.kernels.traces import (
    ROW,
    SERVER,
    Row,
    TraceSoFar,
    check_all_seen,
    event_columns,
    is_room_for,
    new_events,
    row_of,
    time_columns,
    trace_so_far,
)
from annotation.enums import EventKind, ImageState
from annotation.models import Assignment, Image, ReviewEvent, User
from annotation.review.assignments import lock_assignment
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.kernels.visibility import Step
from annotation.site.kept_queries import KeptQuery

_IS_SHOWN = Q(state=ImageState.AVAILABLE, display__isnull=False)
_IMAGES: KeptQuery[tuple[str, bool, int]] = KeptQuery(
    lambda exam, prior: (
        Image.objects.filter(exam_id__in=(exam, prior))
        .annotate(is_shown=_IS_SHOWN)
        .values_list("public_id", "is_shown", "exam_id")
    ),
    *(int, int),
)
_STORED: KeptQuery[Row] = KeptQuery(lambda pk: ReviewEvent.objects.filter(assignment=pk).values_list(*ROW), int)


@transaction.atomic
def record_events(assignment: Assignment, trace: Trace, *, actor: User, at: datetime) -> int:
    """Store the events of a request of their own, and return how many came. Raises ReviewRefused."""
    locked = lock_assignment(assignment, actor=actor)
    if not store_events(locked, trace, at=at):
        sentence = _("Too many timing events were sent for this case; further ones are not stored.")
        raise ReviewRefused("too_many_events", sentence, status=422)
    return len(trace.events)


def store_events(locked: Assignment, trace: Trace, *, at: datetime) -> bool:
    """Store events that came beside something else; False, and nothing stored, when the log is full."""
    if not trace.events:
        return True
    if not is_room_for(ReviewEvent.objects.filter(assignment=locked).count(), trace.events):
        return False
    _insert(locked, trace.page, trace.events, at=at)
    return True


def note_opening(assignment: Assignment, *, at: datetime) -> None:
    """The server's own event: the case was opened for the first time."""
    _insert(assignment, SERVER, [SentEvent(0, EventKind.OPENED, 0.0)], at=at)


def add_trace(locked: Assignment, trace: Trace, *, at: datetime) -> TraceSoFar:
    """Store the events that came with a step, and return all that there are."""
    stored = [row for row in _STORED(locked.pk) if row[0] != SERVER]
    new = new_events(trace, {(page, sequence) for page, sequence, *_rest in stored})
    _insert(locked, trace.page, new, at=at)
    rows = [*stored, *(row_of(trace.page, event, at=at) for event in new)]
    return trace_so_far(rows, is_damaged=trace.is_damaged or _was_damaged(locked))


def check_seen(locked: Assignment, seen: TraceSoFar, unreadable: Iterable[str], *, step: str) -> None:
    """Every available image of the case, those of a prior among them, was on screen, or is marked as unreadable. Raises
    ReviewRefused, and CaseRefused for an image of another case.

    What cannot be shown need not be seen, but a blind answer is one to images: without any of the exam it is refused.
    Where a part of the clock could not be read, nobody knows what was seen: the step is stored and its time says
    "malformed".
    """
    exam = locked.revision.question.exam
    rows = _IMAGES(exam.shown_ids[0], exam.shown_ids[-1])
    rows = [row for row in rows if row[0] not in locked.revision.left_out]
    images = {name: is_shown for name, is_shown, _exam in rows}
    if step == Step.BLIND and not any(is_shown and of_exam == exam.pk for _name, is_shown, of_exam in rows):
        raise ReviewRefused("no_images", _("No image can be shown, so nothing can be answered. Skip it (K)."))
    try:
        check_all_seen(images, images if seen.is_damaged else seen.painted, unreadable)
    except CaseRefused as refusal:
        if refusal.code != "not_seen":
            raise
        raise ReviewRefused("not_seen", _unseen(len(refusal.facts["images"])), **refusal.facts) from None


def time_of(locked: Assignment, seen: TraceSoFar, *, step: str, at: datetime) -> dict[str, Any]:
    """The columns of Timed: the time from first painted to the commit of this step; none from a malformed clock."""
    if seen.is_damaged:
        flags = (TimeFlag.MALFORMED, *flags_of_page(seen.events))
        return {"time_rule": RULE, "time_flags": [flag.value for flag in flags]}
    commits = {key for key, committed in seen.steps.items() if committed in (step, "")}
    server = (at - locked.opened_at).total_seconds() * 1000 if locked.opened_at is not None else None
    return time_columns(durations(seen.events, commits=commits, server_elapsed_ms=server))


def _unseen(n: int) -> str:
    return ngettext(
        "An image of this case has not been on screen yet. Wait for it, try it again, or mark it as unreadable.",
        "Images of this case have not been on screen yet. Wait for them, try again, or mark them as unreadable.",
        n,
    )


def simulated_time() -> dict[str, Any]:
    """Nobody sat there, so there is no time."""
    return {"time_rule": RULE, "time_flags": [TimeFlag.SIMULATED.value]}


def _was_damaged(locked: Assignment) -> bool:
    answer = getattr(locked, "blind_answer", None)
    return answer is not None and TimeFlag.MALFORMED in answer.time_flags


def _insert(locked: Assignment, page: str, events: Sequence[SentEvent], *, at: datetime) -> None:
    """One statement; an event that is there already stays as it is."""
    if events:
        rows = [ReviewEvent(assignment=locked, **event_columns(page, event, at=at)) for event in events]
        ReviewEvent.objects.bulk_create(rows, ignore_conflicts=True)
