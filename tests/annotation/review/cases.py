"""Small rounds to review, made in code: questions with a report, one exam each, and their assignments."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.text import slugify

from annotation.enums import ImageState, ImportKind, ImportState, Role, RoundState, RoundSteps, Task, ViewPosition
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
from annotation.review.kernels.form import Judgement
from annotation.review.kernels.form_design import PAPER
from tests.conftest import make_person

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
    return make_revisions(bank, {number: fields}, key=key)[0]


def make_revisions(bank: QuestionBank, asked: Mapping[int, Mapping[str, Any]], *, key: str = "B") -> list[Revision]:
    """A question of two images for each number, with the fields asked for; in few statements, whatever their number."""
    brought_by, _created = BankImport.objects.get_or_create(
        bank=bank,
        state=ImportState.PUBLISHED,
        kind=ImportKind.FILE,
        defaults={"file_name": "made.json", "started_at": NOON, "heartbeat_at": NOON},
    )
    exams = Exam.objects.bulk_create(
        Exam(bank=bank, pseudonym=f"exam{number}", age_years=58, sex="F") for number in asked
    )
    Image.objects.bulk_create(
        Image(exam=exam, position=position, state=ImageState.PENDING, view_position=view)
        for exam in exams
        for position, view in enumerate((ViewPosition.PA, ViewPosition.LATERAL))
    )
    questions = Question.objects.bulk_create(
        Question(bank=bank, number=number, exam=exam) for number, exam in zip(asked, exams, strict=True)
    )
    revisions = Revision.objects.bulk_create(
        Revision(
            question=question,
            bank=bank,
            bank_import=brought_by,
            content_sha256="0" * 64,
            **{
                "stem": f"Which finding is absent on these radiographs ({question.number})?",
                "options": OPTIONS,
                "task": Task.NEGATION,
                "category": SECRETS["category"],
                "difficulty": SECRETS["difficulty"],
                **asked[question.number],
            },
        )
        for question in questions
    )
    reports = Report.objects.bulk_create(
        Report(exam=exam, findings=SECRETS["findings"], impression=SECRETS["impression"], content_sha256="0" * 64)
        for exam in exams
    )
    AnswerKey.objects.bulk_create(
        AnswerKey(revision=revision, key=key, explanation=SECRETS["explanation"], report=report)
        for revision, report in zip(revisions, reports, strict=True)
    )
    return revisions


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
    key = revision_fields.pop("key", "B")
    revisions = make_revisions(bank, dict.fromkeys(range(1, n_questions + 1), revision_fields), key=key)
    SampledQuestion.objects.bulk_create(
        SampledQuestion(plan=plan, position=number, revision=revision, stratum="all")
        for number, revision in enumerate(revisions, start=1)
    )
    Assignment.objects.bulk_create(
        Assignment(round=review_round, reviewer=reviewer, revision=revision, position=number)
        for number, revision in enumerate(revisions, start=1)
        for reviewer in reviewers
    )
    return review_round


def assignments_of(reviewer: User, review_round: ReviewRound) -> list[Assignment]:
    return list(Assignment.objects.filter(reviewer=reviewer, round=review_round).order_by("position"))


def good_judgement(**changes: Any) -> Judgement:
    """A judgement that needs nothing more when the blind answer is the key."""
    fields: dict[str, Any] = {
        "grades": {**dict.fromkeys(PAPER.grades, 5), "explanation_clarity": 4},
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


def reviewing(bank: QuestionBank, number: int) -> tuple[User, ReviewRound]:
    """A coordinator who also reviews one question of the bank, in an open round."""
    olga, asked = make_person("Olga", Role.COORDINATOR, Role.REVIEWER), make_round()
    revision = Revision.objects.get(question__bank=bank, question__number=number)
    Assignment.objects.create(round=asked, reviewer=olga, revision=revision, position=9)
    return olga, asked
