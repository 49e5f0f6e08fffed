"""The steps that leave a case: submitted, skipped or handed back; and the next one opened in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import product
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from annotation.audit.recording import record
from annotation.case.kernels.traces import NO_TRACE, Trace
from annotation.contributions import contributed, read_in
from annotation.enums import PAPER_FORM, Flag, ImageState, ReturnReason, RoundSteps
from annotation.ingest.quarantine import REPORTED, held_by_reviewers, quarantine_image
from annotation.ingest.serving import case_images
from annotation.models import AnswerKey, Assignment, Review, Revision, User
from annotation.review.answering import (
    NO_BASIS,
    Basis,
    add_trace,
    answer_first,
    check_drafts,
    check_seen,
    check_steps,
    mark_opened,
    simulated_time,
    store_events,
    time_of,
)
from annotation.review.assignments import (
    N_AHEAD,
    design_of,
    drop_draft,
    knows_key,
    lock_assignment,
    newest_review,
    next_assignments,
    stored_answer,
    stored_blind,
)
from annotation.review.calibrating import finish_calibration
from annotation.review.kernels.form import FormProblem, Ground, Judgement, check_judgement, flags_set, incomplete
from annotation.review.kernels.transitions import UNFINISHED, ReviewAct, ReviewRefused, state_after
from annotation.review.kernels.visibility import Step
from annotation.review.samples import withdraw_repeats
from annotation.site.sorted_tables import KeptQuery

REASON_LIMIT = 300
MOST_HELD = 6  # images of open studies that one reviewer takes out of sight before somebody has decided
TOO_MANY_HIDDEN = gettext_lazy(
    "At most %(most)s images of open studies go out of sight by one reviewer until somebody has decided about them; of "
    "yours there are %(n)s. What you reported now stays in sight, with your flag: the coordinators of its study are "
    "told about it, and look at it."
)
_KEY = KeptQuery(lambda pk: AnswerKey.objects.filter(pk=pk).values_list("key"), int)


class NextCases(Struct, frozen=True):
    """The case that comes on screen now, or None, and those that the page prepares meanwhile."""

    opened: Assignment | None
    ahead: Sequence[Assignment] = ()


@transaction.atomic
def leave_for_next(leaving: Assignment, step: Callable[[], object], *, actor: User, at: datetime) -> NextCases:
    """Take a step that leaves a case and open the next one. What refuses the step opens nothing."""
    step()
    following = next_assignments(actor, leaving.round, leaving=leaving, most=1 + N_AHEAD)
    if not following:
        return NextCases(None)
    opened, *ahead = following
    mark_opened(opened, at=at)
    return NextCases(opened, ahead)


@transaction.atomic
def submit_review(
    assignment: Assignment,
    judgement: Judgement,
    *,
    actor: User,
    at: datetime,
    basis: Basis = NO_BASIS,
    trace: Trace = NO_TRACE,
    simulated: bool = False,
) -> Review:
    """Store steps 2 and 3 as a new version; the draft goes, older versions stay.

    The same judgement again returns the stored version; another one whose page did not know of that version,
    or of what another page entered since, is refused with what is ``stored``. "Identifying text visible" also sends the
    images of the exam to quarantine, unless one of them is there already. A ``simulated`` review has no time, and no
    images need be seen for it. Raises ReviewRefused, with the ``problems`` of a judgement that is not complete.
    """
    locked = lock_assignment(assignment, actor=actor)
    following = state_after(locked.state, ReviewAct.SUBMIT, steps=locked.round.steps)
    ground = ground_of(locked)
    if problems := check_judgement(judgement, ground):
        raise incomplete(problems)
    seen = add_trace(locked, trace, at=at)
    unreadable = _unreadable(locked, trace)
    if not simulated:
        check_seen(locked, seen, unreadable, step=Step.JUDGE)
    newest = newest_review(locked)
    version = newest.version + 1 if newest else 1
    review = make_review(locked, judgement, ground, version=version, simulated=simulated, at=at)
    if newest is not None and _content(newest) == _content(review):
        drop_draft(locked)
        return newest
    check_steps(locked, basis, "review_outdated")
    check_drafts(locked, basis)
    drop_draft(locked)
    time = simulated_time() if simulated else time_of(locked, seen, step=Step.JUDGE, at=at)
    for column, value in {**time, "unreadable": unreadable, "viewport": trace.viewport}.items():
        setattr(review, column, value)
    review.save(force_insert=True)
    locked.state = following
    locked.opened_at = locked.opened_at or at
    locked.save(update_fields=["state", "opened_at"])
    if Flag.IDENTIFIES in review.flags:
        hide_identifying_images(locked, actor=actor, at=at)
    record("review.submitted", actor=actor, at=at, subject=locked, facts={"version": review.version})
    if locked.round.calibrates_id is not None:
        finish_calibration(locked.round, actor, at=at)
    assignment.state = locked.state
    return review


def ground_of(assignment: Assignment) -> Ground:
    """What a judgement of this assignment is checked against. Raises ReviewRefused: no key before the answer."""
    answer = stored_answer(assignment)
    if answer is None and assignment.round.steps == RoundSteps.FULL:
        raise answer_first()
    ((key,),) = _KEY(assignment.revision_id)
    return Ground(
        blind=stored_blind(answer) if answer is not None else None,
        key=key,
        report_opened=assignment.report_opened_at is not None,
        design=design_of(assignment),
    )


def hide_identifying_images(
    assignment: Assignment, public_ids: list[str] | None = None, *, actor: User, at: datetime
) -> int:
    """Send the named images of the case, those of a prior among them, to quarantine and return how many went.

    Without names all of them go, unless one is in quarantine already: then somebody has marked which. Of what people
    read in studies one reviewer takes MOST_HELD, until somebody has decided: beyond that an image stays, and those who
    look after its study are told. Raises ReviewRefused, also where a named one stays.
    """
    with transaction.atomic():
        revision = lock_assignment(assignment, actor=actor).revision
        n_hidden, n_held = hide_case(revision, public_ids, actor=actor, at=at, most=MOST_HELD)
    if n_held is not None and public_ids is not None:
        raise ReviewRefused("too_many_hidden", TOO_MANY_HIDDEN % {"most": MOST_HELD, "n": n_held})
    return n_hidden


def hide_case(
    revision: Revision,
    public_ids: list[str] | None = None,
    *,
    actor: User | None,
    at: datetime,
    most: int | None = None,
) -> tuple[int, int | None]:
    """The same of a question that a reviewer saw here or elsewhere. How many went; where some stay, how many others are
    held already.
    """
    images = list(case_images(revision))
    if public_ids is None and any(image.state == ImageState.QUARANTINED for image in images):
        return 0, None
    chosen = [
        image
        for image in images
        if image.state == ImageState.AVAILABLE and (public_ids is None or image.public_id in public_ids)
    ]
    n_stayed: int | None = None
    being_read = [image for image in chosen if most is not None and read_in(image.pk)]
    if actor is not None and most is not None and being_read:
        User.objects.select_for_update().get(pk=actor.pk)  # one count at a time
        n_held = sum(bool(read_in(image.pk)) for image in held_by_reviewers().get(actor, ()))
        if n_held + len(being_read) > most:
            chosen = [image for image in chosen if image not in being_read]
            n_stayed = n_held
            for image, note in product(being_read, contributed().image_left):
                note(image, REPORTED, actor, at)
    for image in chosen:
        quarantine_image(image, reason=REPORTED, actor=actor, at=at)
    return len(chosen), n_stayed


@transaction.atomic
def skip(assignment: Assignment, reason: str, *, actor: User, at: datetime, trace: Trace = NO_TRACE) -> Assignment:
    """Put the question aside. A blind answer and a draft that were stored stay.

    Raises ReviewRefused without a reason of at most 300 characters, and for a question that is submitted.
    """
    text = " ".join(reason.replace("\x00", "").split())
    if not text or len(text) > REASON_LIMIT:
        sentence = _("Give a reason, of at most 300 characters.")
        raise incomplete([FormProblem("reason", "missing", sentence)])
    locked = lock_assignment(assignment, actor=actor)
    locked.state = state_after(locked.state, ReviewAct.SKIP, steps=locked.round.steps)
    locked.skip_reason = text
    locked.skipped_at = at
    locked.save(update_fields=["state", "skip_reason", "skipped_at"])
    store_events(locked, trace, at=at)
    record("review.skipped", actor=actor, at=at, subject=locked)
    assignment.state, assignment.skip_reason, assignment.skipped_at = locked.state, text, at
    return locked


@transaction.atomic
def hand_back(
    assignment: Assignment, reason: ReturnReason, *, actor: User, at: datetime, trace: Trace = NO_TRACE
) -> Assignment:
    """Give a question up for good; a coordinator gives it to somebody else. What was answered stays with its times.

    Whoever knows the patient gives up all that is unfinished in the round on the same exam, its prior, or one that
    shows either as prior. Raises ReviewRefused without one of the two reasons, and for a question that is submitted.
    """
    locked = lock_assignment(assignment, actor=actor)
    if reason != ReturnReason.KNOWS_PATIENT and not (reason == ReturnReason.KNOWS_KEY and knows_key(locked)):
        raise ReviewRefused("no_reason", _("Give a reason for handing the question back."), status=422)
    store_events(locked, trace, at=at)
    _give_up(locked, reason, at=at)
    if reason == ReturnReason.KNOWS_PATIENT:
        unfinished = Assignment.objects.filter(round=locked.round_id, reviewer=actor, state__in=UNFINISHED)
        shown = locked.revision.question.exam.shown_ids
        others = unfinished.filter(
            Q(revision__question__exam__in=shown) | Q(revision__question__exam__prior__in=shown)
        ).select_related("round")
        for other in others.select_for_update(of=("self",)):
            _give_up(other, reason, at=at)
    withdraw_repeats(locked.round)
    record("review.returned", actor=actor, at=at, subject=locked, facts={"reason": reason.value})
    if locked.round.calibrates_id is not None:
        finish_calibration(locked.round, actor, at=at)
    assignment.state = locked.state
    return locked


def _give_up(locked: Assignment, reason: ReturnReason, *, at: datetime) -> None:
    act = ReviewAct.RETURN if locked.repeats_id is None else ReviewAct.WITHDRAW  # nobody else could take a repeat
    locked.state = state_after(locked.state, act, steps=locked.round.steps)
    locked.returned_because = reason
    locked.opened_at = locked.opened_at or at
    locked.save(update_fields=["state", "returned_because", "opened_at"])
    drop_draft(locked)


def make_review(
    assignment: Assignment,
    judgement: Judgement,
    ground: Ground,
    *,
    version: int = 1,
    simulated: bool,
    at: datetime,
    **measured: Any,
) -> Review:
    """The row of a review that was checked against this ground, here and of a file alike; not stored yet."""
    return Review(
        assignment=assignment,
        version=version,
        grades=dict(judgement.grades),
        needs_image=judgement.needs_image,
        relevant=judgement.relevant,
        flags=flags_set(judgement, ground),
        withdrawn_flags=sorted(judgement.withdrawn_flags),
        disagreement=judgement.disagreement,
        verdict=judgement.verdict,
        verdict_reason=judgement.verdict_reason,
        reasoning=judgement.reasoning,
        comment=judgement.comment,
        category="" if judgement.category == assignment.revision.category else judgement.category,
        form=str(assignment.round.form or PAPER_FORM),
        simulated=simulated,
        submitted_at=at,
        **measured,
    )


def _unreadable(locked: Assignment, trace: Trace) -> list[str]:
    """The images that the reviewer could not read, at this step or at the one before."""
    answer = stored_answer(locked)
    return sorted({*trace.unreadable, *(answer.unreadable if answer is not None else ())})


def _content(review: Review) -> tuple[object, ...]:
    """What a version holds, without when and by which number."""
    return (
        dict(review.grades),
        *(review.needs_image, review.relevant, review.disagreement, review.verdict, review.verdict_reason),
        *(review.reasoning, review.comment, review.category, review.simulated),
        *(list(review.flags), list(review.withdrawn_flags)),
    )
