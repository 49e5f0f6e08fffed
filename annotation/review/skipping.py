"""Not judging a question: skipped, it comes back later; handed back, it goes to somebody else."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from annotation.audit.recording import record
from annotation.case.kernels.parsing import NO_TRACE, Trace
from annotation.enums import ReturnReason
from annotation.models import Assignment, User
from annotation.review.kernels.transitions import UNFINISHED, Act, state_after
from annotation.review.locking import drop_draft, knows_key, lock_assignment
from annotation.review.trace_events import store_events

REASON_LIMIT = 300


class ReasonNeeded(Exception):
    """A question is skipped with a reason, of at most 300 characters."""


@transaction.atomic
def skip(assignment: Assignment, reason: str, *, actor: User, at: datetime, trace: Trace = NO_TRACE) -> Assignment:
    """Put the question aside. A blind answer and a draft that were stored stay.

    Raises ReasonNeeded, NotTheReviewer, RoundNotOpen, and TransitionRefused for a question that is submitted.
    """
    words = " ".join(reason.replace("\x00", "").split())
    if not words or len(words) > REASON_LIMIT:
        raise ReasonNeeded("a reason of 1 to 300 characters")
    held = lock_assignment(assignment, actor=actor)
    held.state = state_after(held.state, Act.SKIP, steps=held.round.steps)
    held.skip_reason = words
    held.skipped_at = at
    held.save(update_fields=["state", "skip_reason", "skipped_at"])
    store_events(held, trace, at=at)
    record("review.skipped", actor=actor, at=at, subject=held)
    assignment.state, assignment.skip_reason, assignment.skipped_at = held.state, words, at
    return held


class NothingToHandBack(Exception):
    """Only whoever knows the patient, or has read the key, hands a question back."""


@transaction.atomic
def hand_back(
    assignment: Assignment, reason: ReturnReason, *, actor: User, at: datetime, trace: Trace = NO_TRACE
) -> Assignment:
    """Give a question up for good; a coordinator gives it to somebody else. What was answered stays with its times.

    Whoever knows the patient gives up all that is unfinished in the round on the same exam, its prior, or one that
    shows either as prior. Raises NothingToHandBack,
    NotTheReviewer, RoundNotOpen, and TransitionRefused for a question that is submitted.
    """
    held = lock_assignment(assignment, actor=actor)
    if reason != ReturnReason.KNOWS_PATIENT and not (reason == ReturnReason.KNOWS_KEY and knows_key(held)):
        raise NothingToHandBack(f"{reason!r} is no reason to hand assignment {held.public_id} back")
    store_events(held, trace, at=at)
    _give_up(held, reason, at=at)
    if reason == ReturnReason.KNOWS_PATIENT:
        mine = Assignment.objects.filter(round=held.round_id, reviewer=actor, state__in=UNFINISHED)
        shown = held.revision.question.exam.shown_ids
        others = mine.filter(
            Q(revision__question__exam__in=shown) | Q(revision__question__exam__prior__in=shown)
        ).select_related("round")
        for other in others.select_for_update(of=("self",)):
            _give_up(other, reason, at=at)
    record("review.returned", actor=actor, at=at, subject=held, facts={"reason": reason.value})
    assignment.state = held.state
    return held


def _give_up(held: Assignment, reason: ReturnReason, *, at: datetime) -> None:
    held.state = state_after(held.state, Act.RETURN, steps=held.round.steps)
    held.returned_because = reason
    held.opened_at = held.opened_at or at
    held.save(update_fields=["state", "returned_because", "opened_at"])
    drop_draft(held)
