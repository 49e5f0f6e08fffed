"""Storing a judgement: checked, versioned, acknowledged after the commit."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.audit.recording import record
from annotation.case.kernels.parsing import NO_TRACE, Trace
from annotation.enums import AssignmentState, Flag, ImageState, RoundSteps
from annotation.ingest.quarantine import quarantine_image
from annotation.models import AnswerKey, Assignment, Image, Review, User
from annotation.review.answering import stored_answer, stored_blind
from annotation.review.kernels.form import FormProblem, Ground, Judgement, check_judgement, standing_flags
from annotation.review.kernels.transitions import Act, state_after
from annotation.review.kernels.visibility import Step
from annotation.review.locking import drop_draft, lock_assignment
from annotation.review.trace_events import add_trace, check_seen, simulated_time, time_of
from annotation.site.kept_queries import KeptInsert, KeptQuery

_insert = KeptInsert(Review)
_KEY = KeptQuery(lambda pk: AnswerKey.objects.filter(pk=pk).values_list("key"), int)
_NEWEST = KeptQuery(lambda pk: Review.objects.filter(assignment=pk).order_by("-version")[:1], int)


class JudgementRefused(Exception):
    """Something is missing or does not fit; ``problems`` say what, field by field. Nothing was stored."""

    def __init__(self, problems: list[FormProblem]) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.code}" for problem in problems))
        self.problems = problems


class BlindAnswerMissing(Exception):
    """The round asks for a blind answer before the judgement."""


@transaction.atomic
def submit_review(
    assignment: Assignment,
    judgement: Judgement,
    *,
    actor: User,
    at: datetime,
    trace: Trace = NO_TRACE,
    simulated: bool = False,
) -> Review:
    """Store steps 2 and 3 as a new version; the draft goes, older versions stay.

    The same judgement again returns the stored version. "Identifying text visible" also sends the images of the exam
    to quarantine, unless one of them is there already. A ``simulated`` review has no time, and no
    images need be seen for it. Raises JudgementRefused, BlindAnswerMissing, NotSeen, NoSuchImage, NotTheReviewer,
    RoundNotOpen, TransitionRefused.
    """
    held = lock_assignment(assignment, actor=actor)
    following = state_after(held.state, Act.SUBMIT, steps=held.round.steps)
    ground = ground_of(held)
    if problems := check_judgement(judgement, ground):
        raise JudgementRefused(problems)
    seen = add_trace(held, trace, at=at)
    unreadable = _unreadable(held, trace)
    if not simulated:
        check_seen(held, seen, unreadable, step=Step.JUDGE)
    newest = newest_review(held)
    review = _review(held, judgement, ground, version=newest.version + 1 if newest else 1, simulated=simulated, at=at)
    drop_draft(held)
    if newest is not None and _says(newest) == _says(review):
        return newest
    time = simulated_time() if simulated else time_of(held, seen, step=Step.JUDGE, at=at)
    for column, value in {**time, "unreadable": unreadable, "viewport": trace.viewport}.items():
        setattr(review, column, value)
    _insert(review)
    held.state = following
    held.opened_at = held.opened_at or at
    held.save(update_fields=["state", "opened_at"])
    if Flag.IDENTIFIES in review.flags:
        hide_identifying_images(held, actor=actor, at=at)
    record("review.submitted", actor=actor, at=at, subject=held, facts={"version": review.version})
    assignment.state = held.state
    return review


def ground_of(assignment: Assignment) -> Ground:
    """What a judgement of this assignment is checked against. Raises BlindAnswerMissing: no key before the answer."""
    answer = stored_answer(assignment)
    if answer is None and assignment.round.steps == RoundSteps.FULL:
        raise BlindAnswerMissing(f"assignment {assignment.public_id} has no blind answer")
    ((key,),) = _KEY(assignment.revision_id)
    return Ground(
        blind=stored_blind(answer) if answer is not None else None,
        key=key,
        report_opened=assignment.report_opened_at is not None,
    )


def newest_review(assignment: Assignment) -> Review | None:
    """None until the assignment is submitted: the first version and that state are stored together."""
    if assignment.state != AssignmentState.SUBMITTED:
        return None
    return _NEWEST.first(assignment.pk)


@transaction.atomic
def hide_identifying_images(
    assignment: Assignment, public_ids: list[str] | None = None, *, actor: User, at: datetime
) -> int:
    """Send the named images of the exam, or of its prior, to quarantine and return how many went.

    Without names all of them go, unless one is in quarantine already: then somebody has said which. Raises
    NotTheReviewer and RoundNotOpen.
    """
    held = lock_assignment(assignment, actor=actor)
    images = list(Image.objects.filter(exam__in=held.revision.question.exam.shown_ids).order_by("position", "pk"))
    if public_ids is None and any(image.state == ImageState.QUARANTINED for image in images):
        return 0
    chosen = [
        image
        for image in images
        if image.state == ImageState.AVAILABLE and (public_ids is None or image.public_id in public_ids)
    ]
    for image in chosen:
        quarantine_image(image, reason="a reviewer saw identifying text", actor=actor, at=at)
    return len(chosen)


def _review(
    held: Assignment, judgement: Judgement, ground: Ground, *, version: int, simulated: bool, at: datetime
) -> Review:
    return Review(
        assignment=held,
        version=version,
        grades=dict(judgement.grades),
        needs_image=judgement.needs_image,
        relevant=judgement.relevant,
        flags=standing_flags(judgement, ground),
        withdrawn_flags=sorted(judgement.withdrawn_flags),
        disagreement=judgement.disagreement,
        verdict=judgement.verdict,
        verdict_reason=judgement.verdict_reason,
        reasoning=judgement.reasoning,
        comment=judgement.comment,
        category="" if judgement.category == held.revision.category else judgement.category,
        simulated=simulated,
        submitted_at=at,
    )


def _unreadable(held: Assignment, trace: Trace) -> list[str]:
    """The images that the reviewer could not read, at this step or at the one before."""
    answer = stored_answer(held)
    return sorted({*trace.unreadable, *(answer.unreadable if answer is not None else ())})


def _says(review: Review) -> tuple[object, ...]:
    """What a version says, without when and by which number."""
    return (
        dict(review.grades),
        *(review.needs_image, review.relevant, review.disagreement, review.verdict, review.verdict_reason),
        *(review.reasoning, review.comment, review.category, review.simulated),
        *(list(review.flags), list(review.withdrawn_flags)),
    )
