"""Prompts in two versions, and questions that a model wrote by each; no model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.call_enums import PromptPurpose, ReportSource, SentImages
from annotation.enums import Flag, ImportKind, ImportState
from annotation.generation.kernels.answer_forms import QUESTIONS
from annotation.model_calls.versions import next_version, version_of
from annotation.models import (
    Assignment,
    BankImport,
    CallBatch,
    Exam,
    GenerationRun,
    PromptVersion,
    Question,
    QuestionBank,
    ReviewRound,
    Revision,
    SendingPermission,
    User,
)
from tests.annotation.model_calls.simulated_calls import ENDPOINT, NOON, make_permission, make_prompt
from tests.annotation.review.cases import make_revisions
from tests.annotation.rounds.made import say

NAME = "questions of a test"


def questions_prompt(number: int = 1, **fields: Any) -> PromptVersion:
    given = {
        "name": NAME,
        "number": number,
        "purpose": PromptPurpose.QUESTIONS,
        "text": "Write {{n_questions}} questions.\n{{bullets}}",
        "variables": ["n_questions", "bullets"],
        "sha256": f"{number:064d}",
    }
    return make_prompt(**given | fields)


def two_versions() -> tuple[PromptVersion, PromptVersion]:
    """Ours that writes questions, and one that says a little more."""
    first = version_of(QUESTIONS, at=NOON)
    text, reason = (
        f"{first.text}\n\nNever offer what is merely not mentioned.",
        "13 of 120 had more than one valid option",
    )
    second = next_version(first, text=text, reason=reason, actor=None, at=NOON)
    return first, second


def bullets_prompt() -> PromptVersion:
    found = PromptVersion.objects.filter(name="findings of a test").first()
    fields = {"name": "findings of a test", "purpose": PromptPurpose.BULLETS}
    return found or make_prompt(text="{{report}}", variables=["report"], **fields)


def generated(
    bank: QuestionBank, prompt: PromptVersion, numbers: Sequence[int], exams: Sequence[Exam] = ()
) -> tuple[GenerationRun, list[Revision]]:
    """A finished run of this prompt with a question of each number, each on its own exam or on the one given."""
    permission = SendingPermission.objects.filter(bank=bank).first() or make_permission(bank, reports=True)
    batch = CallBatch.objects.create(
        purpose=PromptPurpose.BULLETS,
        bank=bank,
        prompt=bullets_prompt(),
        permission=permission,
        endpoint=ENDPOINT,
        model="simulated",
        images=SentImages.NONE,
        n_calls=len(numbers),
        created_at=NOON,
    )
    brought = BankImport.objects.create(
        bank=bank, state=ImportState.PUBLISHED, kind=ImportKind.GENERATED, started_at=NOON, heartbeat_at=NOON
    )
    run = GenerationRun.objects.create(
        bank=bank,
        seed=1,
        per_exam=1,
        source=ReportSource.BANK,
        bullets_batch=batch,
        questions_prompt=prompt,
        bank_import=brought,
        n_made=len(numbers),
        created_at=NOON,
        finished_at=NOON,
    )
    revisions = make_revisions(bank, {number: {} for number in numbers})
    Revision.objects.filter(pk__in=[one.pk for one in revisions]).update(bank_import=brought)
    for revision, exam in zip(revisions, exams, strict=False):
        Question.objects.filter(pk=revision.question_id).update(exam=exam)
    return run, list(Revision.objects.filter(bank_import=brought).select_related("question__exam").order_by("pk"))


def reviewed(
    review_round: ReviewRound, reviewer: User, flags: Mapping[Revision, Sequence[Flag]], **fields: Any
) -> list[Assignment]:
    """One review by this person of each of these questions, with these flags."""
    asked = [
        Assignment.objects.create(round=review_round, reviewer=reviewer, revision=one, position=100 + place)
        for place, one in enumerate(flags)
    ]
    for assignment in asked:
        say(assignment, flags=flags[assignment.revision], **fields)
    return asked
