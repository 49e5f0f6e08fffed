"""Until when readers may read, in words that name the time zone; who has not finished."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from annotation.site.zones import time_text
from readerstudy.models import Enrolment, ReaderStudy


def deadline_of(enrolment: Enrolment) -> datetime | None:
    """That of this reader where it was extended, otherwise that of the study."""
    return enrolment.deadline_at or enrolment.study.deadline_at


def is_past(enrolment: Enrolment, at: datetime) -> bool:
    deadline = deadline_of(enrolment)
    return deadline is not None and at > deadline


def study_deadline_text(study: ReaderStudy) -> str:
    """Empty without a deadline."""
    return time_text(study.deadline_at, study.time_zone) if study.deadline_at else ""


def deadline_text(enrolment: Enrolment) -> str:
    """Empty without a deadline."""
    deadline = deadline_of(enrolment)
    return time_text(deadline, enrolment.study.time_zone) if deadline else ""


def unfinished(study: ReaderStudy) -> QuerySet[Enrolment]:
    """Readers with an account who are in the study and have not come to its end."""
    return Enrolment.objects.filter(
        study=study, reader__isnull=False, finished_at=None, withdrawn_at=None, replaced_at=None
    )
