"""Small rounds to review, made in code: questions with a report, one exam each, and their assignments."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.text import slugify

from annotation.enums import ImageState, ImportState, RoundState, RoundSteps, Task, ViewPosition
from annotation.models import (
    AnswerKey,
    Assignment,
    BankImport,
    Exam,
    Image,
    Question,
    QuestionBank,
    Report,
    ReviewRound,
    Revision,
    SampledQuestion,
    SamplingPlan,
    User,
)
from annotation.review.form import Judgement

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SECRETS = {
    "key": "B",
    "explanation": "EXPLANATION-WORDS no pleural line is seen",
    "findings": "FINDINGS-WORDS the lungs are clear",
    "impression": "IMPRESSION-WORDS no acute disease",
    "category": "CATEGORY-WORDS negation",
    "difficulty": "hard",
}
OPTIONS = ["An aortic knob", "Pneumothorax", "Visible ribs on both sides", "A gastric air bubble"]


def make_bank(name: str = "Bank") -> QuestionBank:
    return QuestionBank.objects.create(name=name, slug=slugify(name), created_at=NOON)


def make_revision(bank: QuestionBank, number: int, *, key: str = "B", **fields: Any) -> Revision:
    brought_by, _created = BankImport.objects.get_or_create(
        bank=bank,
        state=ImportState.PUBLISHED,
        defaults={"file_name": "made.json", "started_at": NOON, "heartbeat_at": NOON},
    )
    exam = Exam.objects.create(bank=bank, pseudonym=f"exam{number}", age_years=58, sex="F")
    for position, view in enumerate((ViewPosition.PA, ViewPosition.LATERAL)):
        Image.objects.create(exam=exam, position=position, state=ImageState.PENDING, view_position=view)
    question = Question.objects.create(bank=bank, number=number, exam=exam)
    revision = Revision.objects.create(
        question=question,
        bank=bank,
        bank_import=brought_by,
        content_sha256="0" * 64,
        **{
            "stem": f"Which finding is absent on these radiographs ({number})?",
            "options": OPTIONS,
            "task": Task.NEGATION,
            "category": SECRETS["category"],
            "difficulty": SECRETS["difficulty"],
            **fields,
        },
    )
    report = Report.objects.create(
        exam=exam, findings=SECRETS["findings"], impression=SECRETS["impression"], content_sha256="0" * 64
    )
    AnswerKey.objects.create(revision=revision, key=key, explanation=SECRETS["explanation"], report=report)
    return revision


def images_are_there(bank: QuestionBank) -> None:
    """As far as acts ask: none has pixels that could be seen."""
    Image.objects.filter(exam__bank=bank).update(state=ImageState.AVAILABLE)


def make_round(
    *reviewers: User,
    n_questions: int = 3,
    steps: RoundSteps = RoundSteps.FULL,
    state: RoundState = RoundState.OPEN,
    name: str = "Round",
    bank: QuestionBank | None = None,
    **revision_fields: Any,
) -> ReviewRound:
    """A round in which every reviewer has every question, in the same order."""
    bank = bank or make_bank(f"Bank of {name}")
    plan = SamplingPlan.objects.create(
        name=f"Sample of {name}",
        slug=f"sample-{name.lower()}",
        bank=bank,
        rule="test",
        stratify_by="none",
        per_thousand=1000,
        seed=1,
        strata=[],
        n_frame=n_questions,
        frame_sha256="0" * 64,
        created_at=NOON,
    )
    review_round = ReviewRound.objects.create(
        name=name, slug=name.lower(), plan=plan, state=state, steps=steps, created_at=NOON, opened_at=NOON
    )
    for number in range(1, n_questions + 1):
        revision = make_revision(bank, number, **revision_fields)
        SampledQuestion.objects.create(plan=plan, position=number, revision=revision, stratum="all")
        for reviewer in reviewers:
            Assignment.objects.create(round=review_round, reviewer=reviewer, revision=revision, position=number)
    return review_round


def assignments_of(reviewer: User, review_round: ReviewRound) -> list[Assignment]:
    return list(Assignment.objects.filter(reviewer=reviewer, round=review_round).order_by("position"))


def good_judgement(**changes: Any) -> Judgement:
    """A judgement that needs nothing more when the blind answer is the key."""
    fields: dict[str, Any] = {
        "grades": {
            "clinical_quality": 5,
            "factual_correctness": 5,
            "explanation_clarity": 4,
            "image_alignment": 5,
        },
        "needs_image": "yes",
        "relevant": "yes",
        "verdict": "accept",
    }
    return Judgement(**{**fields, **changes})


def as_post(judgement: Judgement) -> dict[str, Any]:
    """What the browser sends for a judgement."""
    return {
        **{name: str(grade) for name, grade in judgement.grades.items()},
        "needs_image": judgement.needs_image,
        "relevant": judgement.relevant,
        "flags": list(judgement.flags),
        "withdrawn_flags": list(judgement.withdrawn_flags),
        "disagreement": judgement.disagreement,
        "verdict": judgement.verdict,
        "verdict_reason": judgement.verdict_reason,
        "reasoning": judgement.reasoning,
        "comment": judgement.comment,
        "category": judgement.category,
    }
