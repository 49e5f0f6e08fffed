"""Drafts for the tests of the pages, and who may open them."""

from __future__ import annotations

from datetime import datetime

from django.test import Client

from annotation.models import User
from readerstudy.design.creating import create_study
from readerstudy.models import ReaderStudy, StudyRole
from tests.conftest import NOON, make_person
from tests.readerstudy.design.made import make_questions, plan_for

TEXTS = {"consent": "You agree to take part.", "instructions": "Choose one option.", "contact": "Cora, 123"}


def make_draft(actor: User | None = None, *, n: int = 4, at: datetime = NOON, **fields: object) -> ReaderStudy:
    """A draft named Trial of the first ``n`` of 12 questions, ready to be frozen."""
    bank = make_questions(12)
    return create_study(plan_for(bank, n, **{**TEXTS, **fields}), actor=actor, at=at)  # type: ignore[arg-type]


def study_coordinator(study: ReaderStudy, name: str = "Ruth") -> User:
    """Somebody without a role on the site, who coordinates this study."""
    person = make_person(name)
    StudyRole.objects.create(study=study, user=person, granted_at=NOON)
    return person


def statuses(client: Client, address: str, people: list[User], method: str = "get") -> list[int]:
    """What each of these people gets there."""
    found = []
    for person in people:
        client.force_login(person)
        found.append(getattr(client, method)(address).status_code)
    return found
