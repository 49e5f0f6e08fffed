"""Readers who have not finished: more time for one or for all, and reminders."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from annotation.people.mailing import can_send
from readerstudy.enrolment.mailing import send_reminder
from readerstudy.enrolment.reader_status import status_of
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy
from readerstudy.study.deadlines import deadline_of, unfinished
from readerstudy.study.locking import StudyRefused, lock_reader, lock_study


# --- more time: a deadline moves only later, only while the study is open, and every move is logged
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


# --- reminders: on request, and without one 7 days and 1 day before the deadline ------------------
BEFORE = (timedelta(days=7), timedelta(days=1))


def remind_unfinished(study: ReaderStudy, *, actor: User, at: datetime) -> int:
    """Everybody who has not finished; how many e-mails went out.

    Raises StudyRefused unless the study is open, and without a mail server.
    """
    return _remind_all(study, unfinished(study), actor=actor, at=at)


def remind_reader(enrolment: Enrolment, *, actor: User, at: datetime) -> int:
    """The same for one reader, who gets no e-mail after the end."""
    study = enrolment.study
    return _remind_all(study, unfinished(study).filter(pk=enrolment.pk), actor=actor, at=at)


def _remind_all(study: ReaderStudy, readers: QuerySet[Enrolment], *, actor: User, at: datetime) -> int:
    if study.state != StudyState.OPEN:
        raise StudyRefused("not_open", _("Only readers of an open study are reminded."))
    if not can_send():
        raise StudyRefused("no_mail_server", _("No e-mail was sent: no mail server is configured."))
    return sum(_remind(one, actor=actor, at=at) for one in readers.select_related("study", "reader"))


def sweep_reminders(at: datetime) -> int:
    """Send what is due: one e-mail 7 days and one 1 day before a reader's deadline. Several workers may run it."""
    if not can_send():
        return 0
    rows = (
        Enrolment.objects.filter(
            study__state=StudyState.OPEN, finished_at=None, withdrawn_at=None, replaced_at=None, reader__isnull=False
        )
        .annotate(until=Coalesce("deadline_at", "study__deadline_at"))
        .filter(until__gt=at, until__lte=at + max(BEFORE))
        .select_related("study", "reader")
    )
    return sum(_remind(one, actor=None, at=at) for one in rows if is_due(one, at))


def is_due(enrolment: Enrolment, at: datetime) -> bool:
    """Whether a moment of reminding has passed after the reader joined and after the last e-mail."""
    deadline = deadline_of(enrolment)
    if deadline is None or at >= deadline:
        return False
    passed = [deadline - before for before in BEFORE if deadline - before <= at]
    last = max([enrolment.enrolled_at, *filter(None, [enrolment.reminded_at])])
    return bool(passed) and last < max(passed)


def _remind(enrolment: Enrolment, *, actor: User | None, at: datetime) -> bool:
    """Note the e-mail first, so that no other worker sends it again; then send it."""
    with transaction.atomic():
        same = Enrolment.objects.filter(pk=enrolment.pk, reminded_at=enrolment.reminded_at)
        if not same.update(reminded_at=at):
            return False
        record("reader.reminded", actor=actor, at=at, subject=enrolment)
    return send_reminder(enrolment, n_left=status_of(enrolment, at).n_left)
