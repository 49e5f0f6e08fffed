"""A break: it begins after the case that is open, and no further case opens before it ends."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.models import Enrolment
from readerstudy.reading.write_checks import check_may_read, hold_enrolment, hold_pen, rules_of


class NoPauseHere(Exception):
    """The study is read without breaks of the reader's own."""


@transaction.atomic
def pause(enrolment: Enrolment, *, session: str, actor: User, at: datetime) -> None:
    """Twice changes nothing. Raises NoPauseHere, ReadingRefused, NotArmed, NotTheReader."""
    held = hold_enrolment(enrolment, actor=actor)
    check_may_read(held, at)
    hold_pen(held, session, at=at)
    rules = rules_of(held)
    if not rules.may_pause and rules.break_every is None:
        raise NoPauseHere("this study has no breaks")
    if held.paused_at is None:
        held.paused_at = at
        held.save(update_fields=["paused_at"])
        record("reading.paused", actor=actor, at=at, subject=held)


@transaction.atomic
def resume(enrolment: Enrolment, *, session: str, actor: User, at: datetime) -> None:
    """Twice changes nothing. Raises ReadingRefused, NotArmed, NotTheReader."""
    held = hold_enrolment(enrolment, actor=actor)
    check_may_read(held, at)
    hold_pen(held, session, at=at)
    if held.paused_at is not None:
        seconds = round((at - held.paused_at).total_seconds())
        held.paused_at = None
        held.save(update_fields=["paused_at"])
        record("reading.resumed", actor=actor, at=at, subject=held, facts={"seconds": seconds})
