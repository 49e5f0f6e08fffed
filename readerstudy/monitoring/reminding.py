"""Letters to readers who have not finished: on request, and by themselves 7 days and 1 day before the deadline."""

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
from readerstudy.study.locking import StudyRefused

BEFORE = (timedelta(days=7), timedelta(days=1))


def remind_unfinished(study: ReaderStudy, *, actor: User, at: datetime) -> int:
    """Everybody who has not finished; how many letters went out.

    Raises StudyRefused unless the study is open, and without a mail server.
    """
    return _remind_all(study, unfinished(study), actor=actor, at=at)


def remind_reader(enrolment: Enrolment, *, actor: User, at: datetime) -> int:
    """The same for one reader, who gets no letter after the end."""
    study = enrolment.study
    return _remind_all(study, unfinished(study).filter(pk=enrolment.pk), actor=actor, at=at)


def _remind_all(study: ReaderStudy, readers: QuerySet[Enrolment], *, actor: User, at: datetime) -> int:
    if study.state != StudyState.OPEN:
        raise StudyRefused("not_open", _("Only readers of an open study are reminded."))
    if not can_send():
        raise StudyRefused("no_mail_server", _("No e-mail was sent: no mail server is configured."))
    return sum(_remind(one, actor=actor, at=at) for one in readers.select_related("study", "reader"))


def sweep_reminders(at: datetime) -> int:
    """Send what is due: one letter 7 days and one 1 day before a reader's deadline. Several workers may run it."""
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
    """Whether a moment of reminding has passed after the reader joined and after the last letter."""
    deadline = deadline_of(enrolment)
    if deadline is None or at >= deadline:
        return False
    passed = [deadline - before for before in BEFORE if deadline - before <= at]
    last = max([enrolment.enrolled_at, *filter(None, [enrolment.reminded_at])])
    return bool(passed) and last < max(passed)


def _remind(enrolment: Enrolment, *, actor: User | None, at: datetime) -> bool:
    """Note the letter first, so that no other worker sends it again; then send it."""
    with transaction.atomic():
        same = Enrolment.objects.filter(pk=enrolment.pk, reminded_at=enrolment.reminded_at)
        if not same.update(reminded_at=at):
            return False
        record("reader.reminded", actor=actor, at=at, subject=enrolment)
    return send_reminder(enrolment, n_left=status_of(enrolment, at).n_left)
