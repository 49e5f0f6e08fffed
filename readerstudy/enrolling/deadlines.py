"""Until when a reader may read, in words that name the time zone."""

from __future__ import annotations

import zoneinfo
from datetime import datetime

from django.utils.dateformat import format as format_date
from django.utils.formats import get_format
from django.utils.translation import gettext as _

from readerstudy.models import Enrolment, ReaderStudy


def deadline_of(enrolment: Enrolment) -> datetime | None:
    """That of this reader where it was extended, otherwise that of the study."""
    return enrolment.deadline_at or enrolment.study.deadline_at


def is_past(enrolment: Enrolment, at: datetime) -> bool:
    deadline = deadline_of(enrolment)
    return deadline is not None and at > deadline


def time_text(at: datetime, zone: str) -> str:
    """A moment as it is called in a zone: 4 December 2026, 18:00 (Europe/Berlin).

    In an hour that the clocks show twice, when they go back, with the offset: (Europe/Berlin, UTC+02:00).
    """
    local = at.astimezone(zoneinfo.ZoneInfo(zone))
    comes_twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    where = f"{zone}, UTC{local.isoformat()[-6:]}" if comes_twice else zone
    return _("%(time)s (%(zone)s)") % {"time": format_date(local, get_format("DATETIME_FORMAT")), "zone": where}


def study_deadline_text(study: ReaderStudy) -> str:
    """Empty without a deadline."""
    return time_text(study.deadline_at, study.time_zone) if study.deadline_at else ""


def deadline_text(enrolment: Enrolment) -> str:
    """Empty without a deadline."""
    deadline = deadline_of(enrolment)
    return time_text(deadline, enrolment.study.time_zone) if deadline else ""
