"""Leaving a study is a state: what was answered stays stored and is counted as the analysis plan says.

Who does not go on can be replaced: somebody else is invited and takes the next order.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.enrolment.inviting import IssuedInvitation, invite_reader
from readerstudy.enums import SessionEnd
from readerstudy.models import Enrolment, Reading, ReadingSession
from readerstudy.study.locking import StudyRefused, lock_reader, lock_study


@transaction.atomic
def withdraw(enrolment: Enrolment, *, actor: User, at: datetime, reason: str = "") -> None:
    """The reader reads no further. Done by the reader, or on their behalf. Twice changes nothing."""
    lock_reader(enrolment, also_left=True)
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
    """No page of the reader holds the write lease any more."""
    ReadingSession.objects.filter(enrolment=enrolment, ended_at__isnull=True).update(ended_at=at, end=SessionEnd.LEFT)


@transaction.atomic
def replace_reader(
    enrolment: Enrolment, *, email: str, name: str, reason: str, actor: User, at: datetime
) -> IssuedInvitation:
    """Note that the reader is replaced and issue the link of the successor.

    The order of the reader stays theirs, with what they answered. Raises StudyRefused without a reason, for a reader
    who has finished, was replaced before or read elsewhere, and as invite_reader; then nothing changes.
    """
    lock_study(enrolment.study)
    lock_reader(enrolment, also_left=True)
    if not reason.strip():
        raise StudyRefused("no_reason", _("Say why the reader is replaced: a paper has to report it."))
    if enrolment.reader is None:
        raise StudyRefused(
            "read_elsewhere", _("%(reader)s read elsewhere and is not replaced.") % {"reader": enrolment.pseudonym}
        )
    if enrolment.replaced_at is not None:
        raise StudyRefused("replaced", _("%(reader)s is replaced already.") % {"reader": enrolment.pseudonym})
    if enrolment.finished_at is not None:
        raise StudyRefused(
            "finished", _("%(reader)s has finished and cannot be replaced.") % {"reader": enrolment.pseudonym}
        )
    enrolment.replaced_at = at
    enrolment.save(update_fields=["replaced_at"])
    end_sitting(enrolment, at=at)
    facts = {"reason": reason.strip(), "n_answered": n_answered(enrolment)}
    record("reader.replaced", actor=actor, at=at, subject=enrolment, facts=facts)
    return invite_reader(enrolment.study, enrolment.case_set, email=email, name=name, actor=actor, at=at)
