"""Revised questions go to a fresh round: by one click, with the settings of the round that found them wanting."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import FINAL_STATES, QuestionState, Role, RoundSteps
from annotation.models import ReviewRound, Revision, SamplingPlan, User
from annotation.people.roles import add_role
from annotation.review.kernels.sampling import Drawn, StratifyBy
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.round_design import design_of_round
from annotation.review.rounds import create_round
from annotation.review.samples import Draw, Stratum, store_sample
from annotation.review.viewing import viewing_of

RULE = "revised-1"  # all questions of a round that were revised since, in the order of their numbers


def revised_questions(review_round: ReviewRound) -> QuerySet[Revision]:
    """The current wordings of the questions of a round that are revised and wait for a review, by number."""
    questions = review_round.plan.questions.values("revision__question")
    current = Revision.objects.current().filter(question__in=questions, question__state=QuestionState.REVISED)
    return current.select_related("question").order_by("question__number")


@transaction.atomic
def fresh_round(review_round: ReviewRound, *, actor: User, at: datetime) -> ReviewRound:
    """A draft with the revised questions of a round, without reviewers; nobody is given a question with a known key.

    It has the form, the repeats and the coordinators of the round, and no calibration: its reviewers were calibrated.

    Raises ReviewRefused before the reviews are final, where no question is revised, and as create_round does;
    SampleRefused as store_sample does; PeopleRefused as add_role does.
    """
    if review_round.state not in FINAL_STATES:
        raise ReviewRefused("not_final", _("The reviews of this round are not final yet."))
    revisions = list(revised_questions(review_round))
    if not revisions:
        raise ReviewRefused("nothing_revised", _("No question of this round waits for a review of its revision."))
    name = free_name(review_round.name)
    plan = store_sample(_draw(review_round, revisions), name=name, actor=actor, at=at, rule=RULE)
    made = create_round(
        plan,
        name=name,
        reviewers=[],
        reviewers_per_question=review_round.reviewers_per_question,
        steps=RoundSteps(review_round.steps),
        instructions=review_round.instructions,
        seed=review_round.seed + 1,
        viewing=viewing_of(review_round),
        design=replace(design_of_round(review_round), shared_answers=None, pass_mark=None, due_at=None),
        actor=actor,
        at=at,
    )
    for person in _coordinators(review_round):
        add_role(person, Role.COORDINATOR, made, granted_by=actor, actor=actor, at=at)
    facts = {"from": review_round.slug, "questions": len(revisions)}
    record("round.made_of_revised", actor=actor, at=at, subject=made, facts=facts)
    return made


def _coordinators(review_round: ReviewRound) -> QuerySet[User]:
    """Those of this round alone, who would not find another one."""
    return User.objects.filter(memberships__round=review_round, memberships__role=Role.COORDINATOR).order_by("pk")


def free_name(name: str) -> str:
    """The name of the round with "revised" and a number that no round or sample has."""
    number = 1
    while True:
        tried = _("%(name)s, revised %(n)s") % {"name": name[:180], "n": number}
        taken = (model.everywhere.filter(name=tried).exists() for model in (ReviewRound, SamplingPlan))
        if not any(taken):
            return tried
        number += 1


def _draw(review_round: ReviewRound, revisions: list[Revision]) -> Draw:
    """The revised questions as a sample of which every question is in one stratum."""
    numbers = [one.question.number for one in revisions]
    n_frame = review_round.plan.questions.count()
    return Draw(
        bank=review_round.plan.bank,
        by=StratifyBy.NONE,
        per_thousand=max(1, round(1000 * len(numbers) / n_frame)),
        seed=review_round.seed + 1,
        n_frame=n_frame,
        frame_sha256=hashlib.sha256(repr(numbers).encode()).hexdigest(),
        strata=[Stratum("all", n_frame, len(numbers))],
        drawn=[Drawn(number, "all") for number in numbers],
        revision_ids=[one.pk for one in revisions],
    )
