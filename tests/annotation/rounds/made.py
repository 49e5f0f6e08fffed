"""A bank with exams of three questions, a sample of it, and reviews said in a line."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from annotation.enums import AssignmentState, Flag
from annotation.models import Assignment, BlindAnswer, Exam, Question, QuestionBank, Review, SamplingPlan, User
from annotation.sampling.kernels.drawing import StratifyBy
from annotation.sampling.samples import draw_sample
from tests.annotation.review.cases import NOON, images_are_there, make_bank, make_revision


def make_sample(n_questions: int = 12, *, bank: QuestionBank | None = None, name: str = "Sample") -> SamplingPlan:
    """All questions of a bank; three in a row share an exam, and every key is B."""
    bank = bank or make_bank(f"Bank of {name}")
    exam: Exam | None = None
    for number in range(1, n_questions + 1):
        revision = make_revision(bank, number, difficulty="hard" if number % 2 else "easy")
        if number % 3 != 1 and exam is not None:
            Question.objects.filter(pk=revision.question_id).update(exam=exam)
        else:
            exam = revision.question.exam
    images_are_there(bank)
    return draw_sample(bank, name=name, by=StratifyBy.DIFFICULTY, per_thousand=1000, actor=None, at=NOON)


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
    grades = {
        "clinical_quality": 5,
        "factual_correctness": 4,
        "explanation_clarity": 4,
        "image_alignment": "cannot_judge",
    }
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
