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
from readerstudy.reading.prefetched import last_answered_place, last_place, named_place
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
    enrolment: Enrolment, public_id: str, said: SentRemark, *, session: str, actor: User, at: datetime
) -> Remark:
    """Store a remark; the same key again returns what is stored.

    A guess and confidence are taken for the case that was answered last until the next one opens, a slip until the
    next answer, also when the time of a case has ended since; a fault for every case that was opened. Refused:
    ``malformed`` where the study does not ask for this, ``too_late`` where the reader has gone on.
    """
    check_key(said.key)
    held = lock_enrolment(enrolment, actor=actor)
    place = named_place(held, public_id)
    reading = opened_reading(place)
    if (stored := Remark.objects.filter(reading=reading, key=said.key).first()) is not None:
        return stored
    check_may_read(held, at)
    check_write_lease(held, session, at=at)
    _check(held, place, reading, said, rules_of(held))
    remark = Remark.objects.create(
        reading=reading, kind=said.kind, value=said.value, text=said.text.strip(), key=said.key, at=at
    )
    record("reading.remark", actor=actor, at=at, subject=reading, facts={"kind": said.kind})
    return remark


def _check(held: Enrolment, place: PresentedCase, reading: Reading, said: SentRemark, rules: Rules) -> None:
    if len(said.text) > MOST_TEXT or "\x00" in said.text:
        raise malformed()
    if said.kind == RemarkKind.FAULT:
        if not said.text.strip() or said.value:
            raise malformed()  # a fault is described in words
        return
    if said.text:
        raise malformed()
    if said.kind == RemarkKind.CONFIDENCE and rules.confidence:
        if said.value not in {str(chance) for chance in CHANCES}:
            raise malformed()
    elif (said.kind == RemarkKind.GUESS and rules.cannot_tell) or (said.kind == RemarkKind.SLIP and rules.slips):
        check_option(place, said.value)
    else:
        raise malformed()  # the study does not ask for this
    _check_last(held, place, reading, said)


def _check_last(held: Enrolment, place: PresentedCase, reading: Reading, said: SentRemark) -> None:
    last = last_answered_place(held) if said.kind == RemarkKind.SLIP else last_place(held)
    if last != place:
        raise _too_late()
    response = Response.objects.filter(reading=reading, is_confirmed=True).first()
    if response is None:
        raise malformed()
    if said.kind == RemarkKind.GUESS and response.option:
        raise malformed()  # there is nothing to guess
    if said.kind != RemarkKind.GUESS and not (response.option or _has_guess(reading, said)):
        raise malformed()
    if said.kind == RemarkKind.SLIP:
        if said.value == response.option:
            raise malformed()  # a slip means another option
    elif Reading.objects.filter(enrolment=held, closed_at__isnull=True).exists():
        raise _too_late()


def _too_late() -> ReadingRefused:
    """Only the case that was answered last can be spoken of."""
    return ReadingRefused("too_late", _("You have already moved on to the next case."))


def _has_guess(reading: Reading, said: SentRemark) -> bool:
    """Whether there is a guess that this says how sure the reader is of."""
    is_about_it = said.kind == RemarkKind.CONFIDENCE
    return is_about_it and Remark.objects.filter(reading=reading, kind=RemarkKind.GUESS).exists()
