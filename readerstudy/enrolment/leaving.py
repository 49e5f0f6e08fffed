"""Leaving a study is a state: what was answered stays stored and is counted as the analysis plan says."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.enrolment.enrolment_lock import hold
from readerstudy.enums import SessionEnd
from readerstudy.models import Enrolment, Reading, ReadingSession


@transaction.atomic
def withdraw(enrolment: Enrolment, *, actor: User, at: datetime, reason: str = "") -> None:
    """The reader reads no further. Done by the reader, or on their behalf. Twice changes nothing."""
    hold(enrolment, also_left=True)
    if enrolment.withdrawn_at is not None:
        return
    enrolment.withdrawn_at = at
    enrolment.save(update_fields=["withdrawn_at"])
    end_sitting(enrolment, at=at)
    facts = {"by_reader": actor.pk == enrolment.reader_id, "reason": reason, "n_answered": n_answered(enrolment)}
    record("reader.withdrawn", actor=actor, at=at, subject=enrolment, facts=facts)


def n_answered(enrolment: Enrolment) -> int:
    return Reading.objects.filter(enrolment=enrolment, closed_at__isnull=False).count()


def end_sitting(enrolment: Enrolment, *, at: datetime) -> None:
    """No page of the reader holds the pen any more."""
    ReadingSession.objects.filter(enrolment=enrolment, ended_at__isnull=True).update(ended_at=at, end=SessionEnd.LEFT)
