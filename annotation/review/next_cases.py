"""A step that leaves a question, and the opening of the one that comes next, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from annotation.case.kernels.parsing import NO_TRACE, Trace
from annotation.enums import ReturnReason
from annotation.models import Assignment, User
from annotation.review.answering import mark_opened
from annotation.review.kernels.form import Judgement
from annotation.review.skipping import hand_back, skip
from annotation.review.submitting import submit_review
from annotation.review.worklist import N_AHEAD, next_assignments


@dataclass(frozen=True)
class NextCases:
    """The case that comes on screen now, or None, and those that the page prepares meanwhile."""

    opened: Assignment | None
    ahead: Sequence[Assignment] = ()


@transaction.atomic
def submit_and_next(
    assignment: Assignment, judgement: Judgement, *, actor: User, at: datetime, trace: Trace = NO_TRACE
) -> NextCases:
    """See submit_review, which says what is raised; then nothing is opened."""
    submit_review(assignment, judgement, actor=actor, at=at, trace=trace)
    return _open_next(assignment, actor=actor, at=at)


@transaction.atomic
def skip_and_next(
    assignment: Assignment, reason: str, *, actor: User, at: datetime, trace: Trace = NO_TRACE
) -> NextCases:
    """See skip, which says what is raised; then nothing is opened."""
    skip(assignment, reason, actor=actor, at=at, trace=trace)
    return _open_next(assignment, actor=actor, at=at)


@transaction.atomic
def return_and_next(
    assignment: Assignment, reason: ReturnReason, *, actor: User, at: datetime, trace: Trace = NO_TRACE
) -> NextCases:
    """See hand_back, which says what is raised; then nothing is opened."""
    hand_back(assignment, reason, actor=actor, at=at, trace=trace)
    return _open_next(assignment, actor=actor, at=at)


def _open_next(leaving: Assignment, *, actor: User, at: datetime) -> NextCases:
    following = next_assignments(actor, leaving.round, leaving=leaving, most=1 + N_AHEAD)
    if not following:
        return NextCases(None)
    opened, *ahead = following
    mark_opened(opened, at=at)
    return NextCases(opened, ahead)
