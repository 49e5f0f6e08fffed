"""A bank with exams of three questions, a sample of it, and reviews said in a line."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from annotation.enums import AssignmentState, Flag
from annotation.models import Assignment, BlindAnswer, Question, QuestionBank, Review, ReviewRound, SamplingPlan, User
from annotation.review.kernels.form_design import PAPER
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.sampling import StratifyBy
from tests.annotation.review.cases import NOON, images_are_there, make_bank, make_revisions
from tests.made_once import made_once


@made_once
def make_sample(n_questions: int = 12, *, bank: QuestionBank | None = None, name: str = "Sample") -> SamplingPlan:
    """All questions of a bank; three in a row share an exam, and every key is B."""
    bank = bank or make_bank(f"Bank of {name}")
    numbers = range(1, n_questions + 1)
    revisions = make_revisions(bank, {n: {"difficulty": "hard" if n % 2 else "easy"} for n in numbers})
    for first in range(0, n_questions, 3):
        others = [one.question_id for one in revisions[first + 1 : first + 3]]
        Question.objects.filter(pk__in=others).update(exam=revisions[first].question.exam)
    images_are_there(bank)
    return draw_sample(bank, name=name, by=StratifyBy.DIFFICULTY, per_thousand=1000, actor=None, at=NOON)


@made_once
def make_open(
    plan: SamplingPlan | int, *reviewers: User, actor: User, name: str = "Round", **fields: Any
) -> ReviewRound:
    """Opened at noon, on a sample, or on one made of so many questions."""
    sample = make_sample(plan) if isinstance(plan, int) else plan
    made = create_round(sample, name=name, reviewers=reviewers, actor=actor, at=NOON, **fields)
    open_round(made, actor=actor, at=NOON)
    return made


def say(
    assignment: Assignment,
    *,
    best: str | None = "B",
    flags: Iterable[Flag] = (),
    verdict: str = "accept",
    version: int = 1,
    at: datetime = NOON,
    **fields: Any,
) -> Review:
    """Store a review as it would stand after submission."""
    if best is not None:
        BlindAnswer.objects.get_or_create(
            assignment=assignment,
            defaults={"best": best, "defensible": [best] if best else [], "difficulty": "easy", "answered_at": at},
        )
    Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.SUBMITTED, opened_at=at)
    grades = {**{one.value: 4 for one in PAPER.grades}, "clinical_quality": 5, "image_alignment": "cannot_judge"}
    return Review.objects.create(
        assignment=assignment,
        version=version,
        flags=sorted(flags),
        verdict=verdict,
        submitted_at=at,
        **{"grades": grades, "needs_image": "yes", "relevant": "partly", **fields},
    )


def theirs(reviewer: User) -> list[Assignment]:
    return list(
        Assignment.objects.filter(reviewer=reviewer)
        .exclude(state=AssignmentState.WITHDRAWN)
        .select_related("revision__question", "round")
        .order_by("position")
    )
