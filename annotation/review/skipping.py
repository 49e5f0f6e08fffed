"""Putting a question aside, with a reason; it comes back at the end of the reviewer's own list."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.audit.recording import record
from annotation.models import Assignment, User
from annotation.review.holding import hold_assignment
from annotation.review.transitions import Act, state_after
from annotation.review.witnessing import keep_events
from annotation.timing.parsing import NO_TRACE, Trace

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
    held = hold_assignment(assignment, actor=actor)
    held.state = state_after(held.state, Act.SKIP, steps=held.round.steps)
    held.skip_reason = words
    held.skipped_at = at
    held.save(update_fields=["state", "skip_reason", "skipped_at"])
    keep_events(held, trace, at=at)
    record("review.skipped", actor=actor, at=at, subject=held)
    assignment.state, assignment.skip_reason, assignment.skipped_at = held.state, words, at
    return held
