"""Banks for which model submitters may send predictions."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.audit.recording import record
from annotation.models import QuestionBank, User
from readerstudy.models import SubmissionCall


@transaction.atomic
def open_submissions(bank: QuestionBank, *, actor: User, at: datetime) -> None:
    """Doing it again changes nothing."""
    _call, is_new = SubmissionCall.objects.get_or_create(bank=bank, defaults={"opened_by": actor, "opened_at": at})
    if is_new:
        record("bank.submissions_opened", actor=actor, at=at, subject=bank)


@transaction.atomic
def close_submissions(bank: QuestionBank, *, actor: User, at: datetime) -> None:
    """What was sent stays. Doing it again changes nothing."""
    n_closed, _rows = SubmissionCall.objects.filter(bank=bank).delete()
    if n_closed:
        record("bank.submissions_closed", actor=actor, at=at, subject=bank)
