"""More time: a deadline moves only later, only while the study is open, and every move is logged."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.design.studies import StudyRefused, hold_study
from readerstudy.enrolling.deadlines import deadline_of
from readerstudy.enrolling.holding import HasLeft, hold
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy


@transaction.atomic
def extend_study(study: ReaderStudy, deadline: datetime, *, actor: User, at: datetime) -> None:
    """For everybody; who had more time keeps it. Raises StudyRefused as _check does."""
    hold_study(study)
    before = study.deadline_at
    _check(study, before, deadline, at)
    study.deadline_at = deadline
    study.save(update_fields=["deadline_at"])
    Enrolment.objects.filter(study=study, deadline_at__lte=deadline).update(deadline_at=None)  # theirs is later now
    record("study.deadline_extended", actor=actor, at=at, subject=study, facts=_facts(before, deadline))


@transaction.atomic
def extend_reader(enrolment: Enrolment, deadline: datetime, *, actor: User, at: datetime) -> None:
    """For one reader. Raises StudyRefused as _check does, and for a reader who has left or finished."""
    try:
        hold(enrolment)
    except HasLeft as reason:
        raise StudyRefused(_("%(reader)s has left the study.") % {"reader": enrolment.pseudonym}) from reason
    if enrolment.finished_at is not None:
        raise StudyRefused(_("%(reader)s has finished already.") % {"reader": enrolment.pseudonym})
    before = deadline_of(enrolment)
    _check(enrolment.study, before, deadline, at)
    enrolment.deadline_at = deadline
    enrolment.save(update_fields=["deadline_at"])
    record("reader.deadline_extended", actor=actor, at=at, subject=enrolment, facts=_facts(before, deadline))


def _check(study: ReaderStudy, before: datetime | None, deadline: datetime, at: datetime) -> None:
    """Raises StudyRefused unless the study is open, has a deadline, and the new one is later and still to come."""
    if study.state != StudyState.OPEN:
        raise StudyRefused(_("Only an open study has deadlines that can move."))
    if before is None:
        raise StudyRefused(_("There is no deadline: nothing ends, and nothing can be extended."))
    if deadline <= before:
        raise StudyRefused(_("A deadline only moves later: choose a time after the present one."))
    if deadline <= at:
        raise StudyRefused(_("This time is over already."))


def _facts(before: datetime | None, deadline: datetime) -> dict[str, str]:
    return {"before": before.isoformat() if before else "", "after": deadline.isoformat()}
