"""A small round to invite to and to be assigned in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from django.test import Client

from annotation.enums import AssignmentState, ImportState, RoundState, Task
from annotation.models import (
    Assignment,
    BankImport,
    Exam,
    Question,
    QuestionBank,
    ReviewRound,
    Revision,
    SamplingPlan,
    User,
)


@pytest.fixture
def as_ada(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


@pytest.fixture
def bank(db: None, noon: datetime) -> QuestionBank:
    return QuestionBank.objects.create(name="Chest", slug="chest", created_at=noon)


@pytest.fixture
def open_round(bank: QuestionBank, noon: datetime) -> ReviewRound:
    return make_round(bank, "Spring", RoundState.OPEN, noon)


def make_round(bank: QuestionBank, name: str, state: RoundState, at: datetime) -> ReviewRound:
    plan = SamplingPlan.objects.create(
        name=name,
        slug=name.lower(),
        bank=bank,
        rule="1",
        stratify_by="none",
        per_thousand=100,
        seed=1,
        strata=[],
        n_frame=0,
        frame_sha256="",
        created_at=at,
    )
    return ReviewRound.objects.create(name=name, slug=name.lower(), plan=plan, state=state, created_at=at)


@pytest.fixture
def assign(noon: datetime) -> Callable[..., None]:
    """Give a reviewer questions of a round, some of them submitted already."""

    def give(review_round: ReviewRound, reviewer: User, *states: AssignmentState) -> None:
        bank = review_round.plan.bank
        brought, _ = BankImport.objects.get_or_create(
            bank=bank, state=ImportState.PUBLISHED, defaults={"started_at": noon, "heartbeat_at": noon}
        )
        exam, _ = Exam.objects.get_or_create(bank=bank, pseudonym="exam")
        for number, state in enumerate(states, 1):
            question, _ = Question.objects.get_or_create(bank=bank, number=number, defaults={"exam": exam})
            revision, _ = Revision.objects.get_or_create(
                question=question,
                bank=bank,
                bank_import=brought,
                defaults={"stem": "?", "options": list("abcd"), "task": Task.PRESENCE, "content_sha256": str(number)},
            )
            Assignment.objects.create(
                round=review_round, reviewer=reviewer, revision=revision, position=number, state=state
            )

    return give
