"""What is archived leaves the lists and is not offered any more; nothing that was made from it changes.

Archiving and bringing back may be asked for twice: the second time changes nothing.
"""

from __future__ import annotations

from datetime import datetime

from django.db import models, transaction

from annotation.audit.recording import record
from annotation.models import QuestionBank, ReviewRound, SamplingPlan, User

_words: dict[type[models.Model], str] = {QuestionBank: "bank", SamplingPlan: "sample", ReviewRound: "round"}


def register(model: type[models.Model], word: str) -> None:
    """Say what the audit log calls rows of another app that have ``archived_at``; twice changes nothing."""
    if _words.setdefault(model, word) != word:
        raise ValueError(f"{model.__name__} has another word already")


@transaction.atomic
def archive(row: models.Model, *, actor: User, at: datetime) -> None:
    _change(row, at, "archived", actor=actor, at=at)


@transaction.atomic
def bring_back(row: models.Model, *, actor: User, at: datetime) -> None:
    _change(row, None, "brought_back", actor=actor, at=at)


def _change(row: models.Model, archived_at: datetime | None, word: str, *, actor: User, at: datetime) -> None:
    act = f"{_words[type(row)]}.{word}"
    if (row.archived_at is None) == (archived_at is None):  # type: ignore[attr-defined]  # every registered model has it
        return
    row.archived_at = archived_at  # type: ignore[attr-defined]
    row.save(update_fields=["archived_at"])
    record(act, actor=actor, at=at, subject=row)
