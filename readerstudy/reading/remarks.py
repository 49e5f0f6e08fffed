"""What a reader says about a case beside the answer: a best guess after "cannot tell", how sure they were, a slip of a
key, a fault of the case."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.design.kernels.rules import CHANCES, Rules
from readerstudy.enums import RemarkKind
from readerstudy.models import Enrolment, PresentedCase, Reading, Remark, Response
from readerstudy.reading.committing import check_option
from readerstudy.reading.prefetched import last_answered, last_presented, presented_case
from readerstudy.reading.timing_events import opened_reading
from readerstudy.reading.write_checks import (
    ReadingRefused,
    check_key,
    check_may_read,
    check_write_lease,
    lock_enrolment,
    malformed,
    rules_of,
)

MOST_TEXT = 2_000


@dataclass(frozen=True, kw_only=True)
class SentRemark:
    """One remark as a page sends it."""

    key: str
    kind: str
    value: str = ""
    text: str = ""


@transaction.atomic
def make_remark(
    enrolment: Enrolment, public_id: str, sent: SentRemark, *, session: str, actor: User, at: datetime
) -> Remark:
    """Store a remark; the same key again returns what is stored.

    A guess and confidence are taken for the case that was answered last until the next one opens, a slip until the
    next answer, also when the time of a case has ended since; a fault for every case that was opened. Refused:
    ``malformed`` where the study does not ask for this, ``too_late`` where the reader has gone on.
    """
    check_key(sent.key)
    locked = lock_enrolment(enrolment, actor=actor)
    presented = presented_case(locked, public_id)
    reading = opened_reading(presented)
    if (stored := Remark.objects.filter(reading=reading, key=sent.key).first()) is not None:
        return stored
    check_may_read(locked, at)
    check_write_lease(locked, session, at=at)
    _check(locked, presented, reading, sent, rules_of(locked))
    remark = Remark.objects.create(
        reading=reading, kind=sent.kind, value=sent.value, text=sent.text.strip(), key=sent.key, at=at
    )
    record("reading.remark", actor=actor, at=at, subject=reading, facts={"kind": sent.kind})
    return remark


def _check(locked: Enrolment, presented: PresentedCase, reading: Reading, sent: SentRemark, rules: Rules) -> None:
    if len(sent.text) > MOST_TEXT or "\x00" in sent.text:
        raise malformed()
    if sent.kind == RemarkKind.FAULT:
        if not sent.text.strip() or sent.value:
            raise malformed()  # a fault is described in words
        return
    if sent.text:
        raise malformed()
    if sent.kind == RemarkKind.CONFIDENCE and rules.confidence:
        if sent.value not in {str(chance) for chance in CHANCES}:
            raise malformed()
    elif (sent.kind == RemarkKind.GUESS and rules.cannot_tell) or (sent.kind == RemarkKind.SLIP and rules.slips):
        check_option(presented, sent.value)
    else:
        raise malformed()  # the study does not ask for this
    _check_last(locked, presented, reading, sent)


def _check_last(locked: Enrolment, presented: PresentedCase, reading: Reading, sent: SentRemark) -> None:
    last = last_answered(locked) if sent.kind == RemarkKind.SLIP else last_presented(locked)
    if last != presented:
        raise _too_late()
    response = Response.objects.filter(reading=reading, is_confirmed=True).first()
    if response is None:
        raise malformed()
    if sent.kind == RemarkKind.GUESS and response.option:
        raise malformed()  # there is nothing to guess
    if sent.kind != RemarkKind.GUESS and not (response.option or _has_guess(reading, sent)):
        raise malformed()
    if sent.kind == RemarkKind.SLIP:
        if sent.value == response.option:
            raise malformed()  # a slip means another option
    elif Reading.objects.filter(enrolment=locked, closed_at__isnull=True).exists():
        raise _too_late()


def _too_late() -> ReadingRefused:
    """Only the case that was answered last can be spoken of."""
    return ReadingRefused("too_late", _("You have already moved on to the next case."))


def _has_guess(reading: Reading, sent: SentRemark) -> bool:
    """Whether there is a guess that this says how sure the reader is of."""
    is_about_it = sent.kind == RemarkKind.CONFIDENCE
    return is_about_it and Remark.objects.filter(reading=reading, kind=RemarkKind.GUESS).exists()
