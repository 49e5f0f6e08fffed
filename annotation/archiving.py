"""What is archived leaves the lists and is not offered any more; nothing that was made from it changes.

Archiving and bringing back may be asked for twice: the second time changes nothing.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.audit.recording import record
from annotation.models import QuestionBank, ReviewRound, SamplingPlan, User

Archivable = QuestionBank | SamplingPlan | ReviewRound
WORDS: dict[type[Archivable], str] = {QuestionBank: "bank", SamplingPlan: "sample", ReviewRound: "round"}


@transaction.atomic
def archive(row: Archivable, *, actor: User, at: datetime) -> None:
    if row.archived_at is None:
        row.archived_at = at
        row.save(update_fields=["archived_at"])
        record(f"{WORDS[type(row)]}.archived", actor=actor, at=at, subject=row)


@transaction.atomic
def bring_back(row: Archivable, *, actor: User, at: datetime) -> None:
    if row.archived_at is not None:
        row.archived_at = None
        row.save(update_fields=["archived_at"])
        record(f"{WORDS[type(row)]}.brought_back", actor=actor, at=at, subject=row)
