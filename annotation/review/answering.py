"""Step 1 and the moments around it: opening a case, the blind answer, the report."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from annotation.audit.recording import record
from annotation.case.kernels.parsing import NO_TRACE, Trace
from annotation.enums import RoundSteps
from annotation.models import Assignment, BlindAnswer, User
from annotation.review.kernels.form import Blind, FormProblem, check_blind, make_blind
from annotation.review.kernels.transitions import Act, state_after
from annotation.review.kernels.visibility import Step
from annotation.review.locking import drop_draft, knows_key, lock_assignment
from annotation.review.trace_events import (
    add_trace,
    check_seen,
    note_opening,
    simulated_time,
    store_events,
    time_of,
)
from annotation.site.kept_queries import KeptInsert

_insert = KeptInsert(BlindAnswer)


class BlindAnswerRefused(Exception):
    """The answer is not complete or names something that is not there."""

    def __init__(self, problems: list[FormProblem]) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.code}" for problem in problems))
        self.problems = problems


class BlindAnswerIsFinal(Exception):
    """Another answer than the stored one came after the key was shown."""

    def __init__(self, stored: BlindAnswer) -> None:
        super().__init__(f"assignment {stored.assignment_id} already has its blind answer")
        self.stored = stored


class StepNotAsked(Exception):
    """The round asks for the judgement only."""


class KeyKnown(Exception):
    """The reviewer has read the key elsewhere and cannot answer blind any more."""


class KeyNotShownYet(Exception):
    """The report opens after the blind answer."""


def mark_opened(assignment: Assignment, *, at: datetime) -> None:
    """Store the first time that the reviewer saw the case; later times change nothing."""
    if assignment.opened_at is None:
        with transaction.atomic(savepoint=False):
            if Assignment.objects.filter(pk=assignment.pk, opened_at__isnull=True).update(opened_at=at):
                note_opening(assignment, at=at)
        assignment.opened_at = at


@transaction.atomic
def answer_blind(
    assignment: Assignment,
    *,
    best: str,
    defensible: Iterable[str],
    difficulty: str,
    actor: User,
    at: datetime,
    trace: Trace = NO_TRACE,
    simulated: bool = False,
) -> BlindAnswer:
    """Store step 1; from now on key and explanation may be shown, as on the ``assignment`` of what is returned.

    ``best`` is a letter, or empty when no option is defensible. The same answer again returns the stored one; another
    raises BlindAnswerIsFinal. A ``simulated`` answer has no time, and no images need be seen for it. Raises
    BlindAnswerRefused, StepNotAsked, KeyKnown, NoImages, NotSeen, NoSuchImage, NotTheReviewer, RoundNotOpen,
    TransitionRefused.
    """
    blind = make_blind(best, defensible, difficulty)
    if problems := check_blind(blind):
        raise BlindAnswerRefused(problems)
    held = lock_assignment(assignment, actor=actor)
    if held.round.steps == RoundSteps.OPEN:
        raise StepNotAsked(f"round {held.round.slug} asks for the judgement only")
    stored = stored_answer(held)
    if stored is not None:
        if stored_blind(stored) != blind:
            raise BlindAnswerIsFinal(stored)
        store_events(held, trace, at=at)
        return stored
    if knows_key(held):
        raise KeyKnown(f"the reviewer of assignment {held.public_id} has read its key")
    seen = add_trace(held, trace, at=at)
    if not simulated:
        check_seen(held, seen, trace.unreadable, step=Step.BLIND)
    time = simulated_time() if simulated else time_of(held, seen, step=Step.BLIND, at=at)
    held.state = state_after(held.state, Act.ANSWER, steps=held.round.steps)
    held.opened_at = held.opened_at or at
    held.save(update_fields=["state", "opened_at"])
    stored = BlindAnswer(
        assignment=held,
        best=blind.best,
        defensible=list(blind.defensible),
        difficulty=blind.difficulty,
        answered_at=at,
        unreadable=sorted(trace.unreadable),
        viewport=trace.viewport,
        **time,
    )
    _insert(stored)
    drop_draft(held)  # it held step 1
    record("review.answered", actor=actor, at=at, subject=held)
    assignment.state = held.state
    return stored


@transaction.atomic
def open_report(assignment: Assignment, *, actor: User, at: datetime) -> datetime:
    """Store the moment of step 3 and return it; opening again returns the first moment.

    Raises KeyNotShownYet before the blind answer of a round that asks for it, NotTheReviewer, RoundNotOpen.
    """
    held = lock_assignment(assignment, actor=actor)
    if held.round.steps == RoundSteps.FULL and stored_answer(held) is None:
        raise KeyNotShownYet(f"assignment {held.public_id} has no blind answer")
    if held.report_opened_at is None:
        held.report_opened_at = at
        held.save(update_fields=["report_opened_at"])
        record("review.report_opened", actor=actor, at=at, subject=held)
    assignment.report_opened_at = held.report_opened_at
    return held.report_opened_at


def stored_answer(assignment: Assignment) -> BlindAnswer | None:
    """The blind answer, or None while there is none."""
    answer: BlindAnswer | None = getattr(assignment, "blind_answer", None)
    return answer


def stored_blind(answer: BlindAnswer) -> Blind:
    return make_blind(answer.best, answer.defensible, answer.difficulty)
