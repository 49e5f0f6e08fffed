"""The life of a review round: made from a sample, opened, closed, put away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.archiving import archive
from annotation.audit.recording import record
from annotation.enums import RoundState, RoundSteps
from annotation.models import Assignment, BlindAnswer, Review, ReviewRound, SamplingPlan, User
from annotation.review.assigning import (
    RoundRefused,
    assigned_now,
    clear_assignments,
    hold_round,
    plan_assignments,
    store_assignments,
)
from annotation.review.transitions import UNFINISHED
from annotation.review.viewing import ORDINARY, Viewing, check_viewing
from annotation.sampling.drawing import SEED_MAX
from annotation.slugs import free_slug

# Where a round may go; a closed one stays closed, because its reviewers may have seen each other's answers.
ROUND_TRANSITIONS: dict[str, tuple[str, ...]] = {
    RoundState.DRAFT: (RoundState.OPEN,),
    RoundState.OPEN: (RoundState.CLOSED,),
    RoundState.CLOSED: (),
}
MOST_PER_QUESTION = 9


class RoundNotComplete(RoundRefused):
    """Assignments are still open, and not as many as the person who closes the round was told."""

    def __init__(self, n_open: int) -> None:
        super().__init__(
            ngettext(
                "%(n)s assigned question is not reviewed yet. Close the round without it?",
                "%(n)s assigned questions are not reviewed yet. Close the round without them?",
                n_open,
            )
            % {"n": n_open}
        )
        self.n_open = n_open


def create_round(
    plan: SamplingPlan,
    *,
    name: str,
    reviewers: Sequence[User],
    actor: User,
    at: datetime,
    reviewers_per_question: int = 1,
    steps: RoundSteps = RoundSteps.FULL,
    instructions: str = "",
    seed: int = 1,
    viewing: Viewing = ORDINARY,
) -> ReviewRound:
    """A draft with its questions assigned; without any reviewer, one that waits for assign_round.

    Raises RoundRefused for an archived sample, a name that is taken, numbers out of range, and whatever
    plan_assignments refuses; then nothing is stored.
    """
    name = name.strip()
    check_round(plan, name, reviewers_per_question, seed)
    check_viewing(viewing)
    planned = plan_assignments(plan.pk, reviewers, reviewers_per_question, seed) if reviewers else None
    with transaction.atomic():
        review_round = ReviewRound.objects.create(
            name=name,
            slug=free_slug(name, among=ReviewRound.objects.all(), otherwise="round"),
            plan=plan,
            steps=steps,
            reviewers_per_question=reviewers_per_question,
            seed=seed,
            instructions=instructions.strip(),
            **viewing.as_columns(),
            simulated=plan.bank.simulated,
            created_by=actor,
            created_at=at,
        )
        facts = {"sample": plan.slug, "steps": steps, **viewing.as_columns()}
        record("round.created", actor=actor, at=at, subject=review_round, facts=facts)
        if planned is not None:
            store_assignments(review_round, planned, actor=actor, at=at)
    return review_round


def check_round(plan: SamplingPlan, name: str, reviewers_per_question: int, seed: int) -> None:
    if not name:
        raise RoundRefused(_("Give the round a name."))
    if len(name) > 200:
        raise RoundRefused(_("The name is longer than 200 characters."))
    if ReviewRound.objects.filter(name=name).exists():
        raise RoundRefused(_("A round named “%(name)s” exists already: give this one another name.") % {"name": name})
    if plan.archived_at is not None:
        raise RoundRefused(_("The sample “%(name)s” is archived: bring it back first.") % {"name": plan.name})
    if not 1 <= reviewers_per_question <= MOST_PER_QUESTION:
        raise RoundRefused(_("Each question can have 1 to %(max)s reviewers.") % {"max": MOST_PER_QUESTION})
    if not 0 <= seed <= SEED_MAX:
        raise RoundRefused(_("The seed must be a whole number from 0 to %(max)s.") % {"max": SEED_MAX})


@transaction.atomic
def open_round(review_round: ReviewRound, *, actor: User, at: datetime) -> None:
    """Reviewers see their questions from now on. Opening an open round changes nothing.

    Raises RoundRefused for a closed round, without assignments, and when a reviewer can no longer log in.
    """
    hold_round(review_round)
    if review_round.state == RoundState.OPEN:
        return
    _check_transition(review_round, RoundState.OPEN)
    active = assigned_now(review_round)
    if not active.exists():
        raise RoundRefused(_("No question is assigned yet: choose the reviewers first."))
    gone = User.objects.filter(pk__in=active.values("reviewer"), is_active=False).values_list("name", flat=True)
    if gone:
        raise RoundRefused(_("%(names)s cannot log in any more: choose other reviewers.") % {"names": ", ".join(gone)})
    review_round.state = RoundState.OPEN
    review_round.opened_at = at
    review_round.save(update_fields=["state", "opened_at"])
    record("round.opened", actor=actor, at=at, subject=review_round)


@transaction.atomic
def close_round(review_round: ReviewRound, *, actor: User, at: datetime, confirmed_open: int = 0) -> None:
    """Nothing can be answered or changed from now on. Closing a closed round changes nothing.

    ``confirmed_open`` is the number of unfinished assignments that the person was shown and agreed to leave. Raises
    RoundNotComplete when another number is unfinished, RoundRefused for a draft.
    """
    hold_round(review_round)
    if review_round.state == RoundState.CLOSED:
        return
    _check_transition(review_round, RoundState.CLOSED)
    n_open = count_open(review_round)
    if n_open != confirmed_open:
        raise RoundNotComplete(n_open)
    review_round.state = RoundState.CLOSED
    review_round.closed_at = at
    review_round.save(update_fields=["state", "closed_at"])
    record("round.closed", actor=actor, at=at, subject=review_round, facts={"n_open": n_open})


def count_open(review_round: ReviewRound) -> int:
    """Assignments that are neither submitted nor withdrawn."""
    return Assignment.objects.filter(round=review_round, state__in=UNFINISHED).count()


def _check_transition(review_round: ReviewRound, to: RoundState) -> None:
    if to not in ROUND_TRANSITIONS[review_round.state]:
        raise RoundRefused(
            _("The round is %(state)s; it cannot become %(to)s.")
            % {"state": review_round.get_state_display(), "to": to.label}
        )


@transaction.atomic
def archive_round(review_round: ReviewRound, *, actor: User, at: datetime) -> None:
    """Out of the lists; everything stays readable. Raises RoundRefused while open."""
    hold_round(review_round)
    if review_round.state == RoundState.OPEN:
        raise RoundRefused(_("The round is open: close it before you archive it."))
    archive(review_round, actor=actor, at=at)


@transaction.atomic
def delete_round(review_round: ReviewRound, *, actor: User, at: datetime) -> None:
    """With its assignments and roles. Raises RoundRefused as soon as anybody has answered a question in it."""
    hold_round(review_round)
    if has_work(review_round):
        raise RoundRefused(_("Questions have been answered in this round: archive it instead."))
    record("round.deleted", actor=actor, at=at, subject=review_round, facts={"name": review_round.name})
    clear_assignments(review_round)
    review_round.delete()


def has_work(review_round: ReviewRound) -> bool:
    """Whether anybody has stored an answer or a review in it."""
    return (
        BlindAnswer.objects.filter(assignment__round=review_round).exists()
        or Review.objects.filter(assignment__round=review_round).exists()
    )
