"""More time: a deadline moves only later, only while the study is open, and every move is logged."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy
from readerstudy.study.deadlines import deadline_of
from readerstudy.study.locking import StudyRefused, hold, lock_study


@transaction.atomic
def extend_study(study: ReaderStudy, deadline: datetime, *, actor: User, at: datetime) -> None:
    """For everybody; who had more time keeps it. Raises StudyRefused as refusal_for_all says."""
    lock_study(study)
    before = study.deadline_at
    if why := refusal_for_all(study, deadline, at):
        raise StudyRefused(why)
    study.deadline_at = deadline
    study.save(update_fields=["deadline_at"])
    Enrolment.objects.filter(study=study, deadline_at__lte=deadline).update(deadline_at=None)  # theirs is later now
    record("study.deadline_extended", actor=actor, at=at, subject=study, facts=_facts(before, deadline))


@transaction.atomic
def extend_reader(enrolment: Enrolment, deadline: datetime, *, actor: User, at: datetime) -> None:
    """For one reader. Raises StudyRefused as refusal_for_reader says."""
    lock_study(enrolment.study)
    hold(enrolment, also_left=True)
    before = deadline_of(enrolment)
    if why := refusal_for_reader(enrolment, deadline, at):
        raise StudyRefused(why)
    enrolment.deadline_at = deadline
    enrolment.save(update_fields=["deadline_at"])
    record("reader.deadline_extended", actor=actor, at=at, subject=enrolment, facts=_facts(before, deadline))


def refusal_for_all(study: ReaderStudy, deadline: datetime, at: datetime) -> str:
    """Why the deadline of the study does not move there; empty where it can."""
    return _refusal(study, study.deadline_at, deadline, at)


def refusal_for_reader(enrolment: Enrolment, deadline: datetime, at: datetime) -> str:
    """Why this reader gets no more time until then; empty where they can."""
    if enrolment.withdrawn_at is not None or enrolment.replaced_at is not None:
        return _("%(reader)s has left the study.") % {"reader": enrolment.pseudonym}
    if enrolment.finished_at is not None:
        return _("%(reader)s has finished already.") % {"reader": enrolment.pseudonym}
    return _refusal(enrolment.study, deadline_of(enrolment), deadline, at)


def _refusal(study: ReaderStudy, before: datetime | None, deadline: datetime, at: datetime) -> str:
    """Empty where the study is open, has a deadline, and the new one is later and still to come."""
    if study.state != StudyState.OPEN:
        return _("Only an open study has deadlines that can move.")
    if before is None:
        return _("There is no deadline: nothing ends, and nothing can be extended.")
    if deadline <= before:
        return _("A deadline only moves later: choose a time after the present one.")
    if deadline <= at:
        return _("This time is over already.")
    return ""


def _facts(before: datetime | None, deadline: datetime) -> dict[str, str]:
    return {"before": before.isoformat() if before else "", "after": deadline.isoformat()}
