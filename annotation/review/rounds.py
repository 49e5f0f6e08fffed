"""The life of a review round: made from a sample, opened, put away. Its end: ending.py."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.deleting import BinRefused, archive, note_purged
from annotation.audit.recording import record
from annotation.enums import QuestionState, RoundState, RoundSteps
from annotation.ingest.completeness import images_of_questions, waiting_exams
from annotation.models import BlindAnswer, Review, ReviewRound, Revision, SampledQuestion, SamplingPlan, User
from annotation.questionbank.importing import move_questions
from annotation.review.assigning import assigned_now, clear_assignments, lock_round, plan_assignments, store_assignments
from annotation.review.ending import rest_questions, sampled_revisions
from annotation.review.kernels.transitions import ReviewRefused, RoundAct, RoundFacts, why_not
from annotation.review.round_design import PLAIN, RoundDesign, check_round_design, design_of_round
from annotation.review.viewing import ORDINARY, Viewing, check_viewing
from annotation.site.sentences import free_slug, listed
from annotation.site.sorted_tables import OneAtATime, lock
from annotation.statistics.kernels.sampling import SEED_MAX

MOST_PER_QUESTION = 9


@transaction.atomic
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
    design: RoundDesign = PLAIN,
) -> ReviewRound:
    """A draft with its questions assigned; without any reviewer, one that waits for assign_round.

    Raises ReviewRefused for an archived sample, a name that is taken, numbers out of range, and whatever
    check_round_design and plan_assignments refuse; then nothing is stored.
    """
    name = name.strip()
    check_name(name)
    check_sample(plan)
    check_numbers(reviewers_per_question, seed)
    check_viewing(viewing)
    if design.due_at is not None and design.due_at <= at:
        raise ReviewRefused("due_past", _("This moment is past. Choose a later one."), status=422, field="due_at")
    design = check_round_design(design, plan)
    planned = plan_assignments(plan.pk, reviewers, reviewers_per_question, seed, steps=steps) if reviewers else None
    review_round = ReviewRound.objects.create(
        name=name,
        slug=free_slug(name, among=ReviewRound.everywhere.filter(deleted_at=None), otherwise="round"),
        plan=plan,
        steps=steps,
        reviewers_per_question=reviewers_per_question,
        seed=seed,
        instructions=instructions.strip(),
        **viewing.as_columns(),
        **design.as_columns(),
        simulated=plan.bank.simulated,
        created_by=actor,
        created_at=at,
    )
    facts = {"sample": plan.slug, "steps": steps, **viewing.as_columns()}
    record("round.created", actor=actor, at=at, subject=review_round, facts=facts)
    if planned is not None:
        store_assignments(review_round, planned, actor=actor, at=at)
    return review_round


ASSIGNED_BY = {"plan", "steps", "reviewers_per_question", "seed", "percent_repeated"}  # what assignments follow from


@transaction.atomic
def change_draft(
    review_round: ReviewRound,
    *,
    name: str,
    plan: SamplingPlan,
    steps: RoundSteps,
    instructions: str,
    actor: User,
    at: datetime,
    reviewers_per_question: int | None = None,
    seed: int | None = None,
    design: RoundDesign | None = None,
) -> bool:
    """Change how a draft is designed; False where nothing is new. What is None stays as it is.

    What assignments follow from takes them away. Raises ReviewRefused for a round that is not a draft, and as
    create_round does.
    """
    lock_round(review_round)
    if review_round.state != RoundState.DRAFT:
        raise not_a_draft()
    values: dict[str, Any] = {"name": name.strip(), "plan": plan, "steps": steps, "instructions": instructions.strip()}
    numbers = {"reviewers_per_question": reviewers_per_question, "seed": seed}
    values |= {field: value for field, value in numbers.items() if value is not None}
    design = check_round_design(design or design_of_round(review_round), plan)
    values |= design.as_columns()
    changed = [field for field, value in values.items() if getattr(review_round, field) != value]
    if not changed:
        return False
    if "name" in changed:
        check_name(values["name"])
    check_sample(plan)
    check_numbers(values.get("reviewers_per_question", 1), values.get("seed", 0))
    if ASSIGNED_BY & set(changed):
        clear_assignments(review_round)
    for field in changed:
        setattr(review_round, field, values[field])
    review_round.simulated = plan.bank.simulated
    review_round.save(update_fields=[*changed, "simulated"])
    record("round.changed", actor=actor, at=at, subject=review_round, facts={"fields": sorted(changed)})
    return True


def not_a_draft() -> ReviewRefused:
    sentence = _("The round is open or closed: it stays as it is. Make another round.")
    return ReviewRefused("not_draft", sentence)


def check_name(name: str) -> None:
    lock(OneAtATime.NAME)
    if not name:
        raise ReviewRefused("name_missing", _("Give the round a name."), field="name")
    if len(name) > 200:
        raise ReviewRefused("name_too_long", _("The name is longer than 200 characters."), field="name")
    if ReviewRound.everywhere.filter(name=name, deleted_at=None).exists():
        sentence = _("A round named “%(name)s” exists already: give this one another name.") % {"name": name}
        raise ReviewRefused("name_taken", sentence, field="name")


def check_sample(plan: SamplingPlan) -> None:
    if plan.archived_at is not None:
        sentence = _("The sample “%(name)s” is archived: bring it back first.") % {"name": plan.name}
        raise ReviewRefused("sample_archived", sentence)


def check_numbers(reviewers_per_question: int, seed: int) -> None:
    if not 1 <= reviewers_per_question <= MOST_PER_QUESTION:
        sentence = _("Each question can have 1 to %(max)s reviewers.") % {"max": MOST_PER_QUESTION}
        raise ReviewRefused("out_of_range", sentence)
    if not 0 <= seed <= SEED_MAX:
        sentence = _("The seed must be a whole number from 0 to %(max)s.") % {"max": SEED_MAX}
        raise ReviewRefused("out_of_range", sentence)


@transaction.atomic
def open_round(review_round: ReviewRound, *, actor: User, at: datetime, without_images: str = "") -> None:
    """Reviewers see their questions from now on. Opening an open round changes nothing.

    ``without_images`` is why it opens although some questions wait for images. Raises ReviewRefused for a closed round,
    without assignments, when a reviewer can no longer log in, after its due date, and while images are missing: of all
    questions whatever the reason.
    """
    lock_round(review_round)
    if review_round.state == RoundState.OPEN:
        return
    if refusal := why_not(RoundAct.OPEN, RoundFacts(state=review_round.state)):
        raise refusal
    active = assigned_now(review_round)
    if not active.exists():
        raise ReviewRefused("not_assigned", _("No question is assigned yet: choose the reviewers first."))
    gone = User.objects.filter(pk__in=active.values("reviewer"), is_active=False).values_list("name", flat=True)
    if gone:
        sentence = _("%(names)s cannot log in any more: choose other reviewers.") % {"names": ", ".join(gone)}
        raise ReviewRefused("cannot_log_in", sentence)
    if review_round.due_at is not None and review_round.due_at <= at:
        raise ReviewRefused("due_past", _("The due date is past: change it first."))
    missing = missing_images(review_round)
    if missing.sentence and (missing.is_all or not without_images.strip()):
        raise ReviewRefused("images_missing", missing.sentence)
    review_round.state = RoundState.OPEN
    review_round.opened_at = at
    review_round.save(update_fields=["state", "opened_at"])
    move_questions(sampled_revisions(review_round), QuestionState.IN_REVIEW)
    facts = {"n_without_images": len(missing.numbers), "reason": without_images.strip()} if missing.numbers else None
    record("round.opened", actor=actor, at=at, subject=review_round, facts=facts)


class MissingImages(Struct, frozen=True):
    """The questions of a round that wait for images, by number."""

    numbers: list[int]
    n_questions: int

    @property
    def is_all(self) -> bool:
        return len(self.numbers) == self.n_questions

    @property
    def sentence(self) -> str:
        """Empty where all images are there."""
        if not self.numbers:
            return ""
        return ngettext(
            "%(n)s of %(all)s questions lacks an image that may be shown (missing or not released): %(names)s.",
            "%(n)s of %(all)s questions lack an image that may be shown (missing or not released): %(names)s.",
            len(self.numbers),
        ) % {"n": len(self.numbers), "all": self.n_questions, "names": listed([str(number) for number in self.numbers])}


def missing_images(review_round: ReviewRound) -> MissingImages:
    """Of the questions in its sample. An image that was removed is not missed: reviewers see a placeholder."""
    drawn = SampledQuestion.objects.filter(plan=review_round.plan_id)
    rows = Revision.objects.filter(pk__in=drawn.values("revision")).order_by()
    waiting = rows.filter(images_left_out__isnull=True, question__exam__in=waiting_exams())
    leaving = rows.filter(bank=review_round.plan.bank_id, images_left_out__isnull=False)
    images = images_of_questions(leaving.values_list("question__number", "question__exam", "images_left_out"))
    numbers = [number for number, one in images.items() if one.is_waiting]
    numbers += waiting.values_list("question__number", flat=True)
    return MissingImages(sorted(numbers), drawn.count())


@transaction.atomic
def archive_round(review_round: ReviewRound, *, actor: User, at: datetime) -> None:
    """Out of the lists; everything stays readable. Raises ReviewRefused from its opening to its closing."""
    lock_round(review_round)
    if review_round.state not in (RoundState.DRAFT, RoundState.CLOSED):
        raise ReviewRefused("round_open", _("The round is open: close it before you archive it."))
    archive(review_round, actor=actor, at=at)


def hide_round(review_round: ReviewRound) -> None:
    """Nobody sees the questions of a draft. Raises BinRefused as soon as anybody has answered a question in it."""
    if has_work(review_round):
        raise BinRefused("in_use", _("Questions have been answered in this round: archive it instead."))
    review_round.state = RoundState.DRAFT
    review_round.opened_at = review_round.completed_at = review_round.closed_at = None
    review_round.save(update_fields=["state", "opened_at", "completed_at", "closed_at"])
    rest_questions(sampled_revisions(review_round), leaving=review_round)


def show_round(review_round: ReviewRound) -> None:
    """As a draft with its reviewers. Raises BinRefused while its sample is in the bin."""
    if review_round.plan.deleted_at is not None:
        sentence = _("Restore its sample “%(name)s” first.") % {"name": review_round.plan.name}
        raise BinRefused("parent_deleted", sentence)


@transaction.atomic
def purge_round(review_round: ReviewRound, at: datetime) -> bool:
    """With its assignments and roles."""
    note_purged(review_round, at=at)
    for cases in ReviewRound.everywhere.filter(calibrates=review_round):
        clear_assignments(cases)
        cases.delete()
    clear_assignments(review_round)
    review_round.delete()
    return True


def has_work(review_round: ReviewRound) -> bool:
    """Whether anybody has stored an answer or a review in it, or in its calibration."""
    within = Q(assignment__round=review_round) | Q(assignment__round__calibrates=review_round)
    return BlindAnswer.objects.filter(within).exists() or Review.objects.filter(within).exists()
