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
from readerstudy.study.locking import StudyRefused, lock_reader, lock_study


@transaction.atomic
def extend_study(study: ReaderStudy, deadline: datetime, *, actor: User, at: datetime) -> None:
    """For everybody; who had more time keeps it."""
    lock_study(study)
    before = study.deadline_at
    check_extends(study, deadline, at)
    study.deadline_at = deadline
    study.save(update_fields=["deadline_at"])
    Enrolment.objects.filter(study=study, deadline_at__lte=deadline).update(deadline_at=None)  # theirs is later now
    record("study.deadline_extended", actor=actor, at=at, subject=study, facts=_facts(before, deadline))


@transaction.atomic
def extend_reader(enrolment: Enrolment, deadline: datetime, *, actor: User, at: datetime) -> None:
    """For one reader."""
    lock_study(enrolment.study)
    lock_reader(enrolment, also_left=True)
    before = deadline_of(enrolment)
    check_extends_reader(enrolment, deadline, at)
    enrolment.deadline_at = deadline
    enrolment.save(update_fields=["deadline_at"])
    record("reader.deadline_extended", actor=actor, at=at, subject=enrolment, facts=_facts(before, deadline))


def check_extends(study: ReaderStudy, deadline: datetime, at: datetime) -> None:
    """Refused where the deadline of the study cannot move there."""
    _check(study, study.deadline_at, deadline, at)


def check_extends_reader(enrolment: Enrolment, deadline: datetime, at: datetime) -> None:
    """Refused where this reader cannot get more time until then."""
    if enrolment.withdrawn_at is not None or enrolment.replaced_at is not None:
        raise StudyRefused("has_left", _("%(reader)s has left the study.") % {"reader": enrolment.pseudonym})
    if enrolment.finished_at is not None:
        raise StudyRefused("finished", _("%(reader)s has finished already.") % {"reader": enrolment.pseudonym})
    _check(enrolment.study, deadline_of(enrolment), deadline, at)


def _check(study: ReaderStudy, before: datetime | None, deadline: datetime, at: datetime) -> None:
    if study.state != StudyState.OPEN:
        raise StudyRefused("not_open", _("Only an open study has deadlines that can move."))
    if before is None:
        raise StudyRefused("no_deadline", _("There is no deadline: nothing ends, and nothing can be extended."))
    if deadline <= before:
        raise StudyRefused("not_later", _("A deadline only moves later: choose a time after the present one."))
    if deadline <= at:
        raise StudyRefused("in_the_past", _("This time is over already."))


def _facts(before: datetime | None, deadline: datetime) -> dict[str, str]:
    return {"before": before.isoformat() if before else "", "after": deadline.isoformat()}
