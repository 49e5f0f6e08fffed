"""A case is opened, once, and closed by the program at the end of its time; and the practice block.

The only module of this room that reads a key or an explanation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import and_
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.case.kernels.durations import TimeFlag
from annotation.case.kernels.traces import SERVER, SentEvent
from annotation.enums import EventKind
from annotation.models import AnswerKey, User
from annotation.site.sorted_tables import KeptQuery
from readerstudy.design.kernels.documents import Rules
from readerstudy.enums import Block, RemarkKind, ResponseState, SessionEnd
from readerstudy.models import Enrolment, PresentedCase, Reading, ReadingSession, Remark, Response, TimingEvent
from readerstudy.reading.kernels.visibility import (
    GRACE,
    ON_THE_WAY,
    CaseProgress,
    Part,
    is_over,
    is_to_be_closed,
    state_without_answer,
    visible_parts,
)
from readerstudy.reading.prefetched import (
    ReadingRefused,
    check_may_read,
    check_write_lease,
    counts_of,
    last_presented,
    lock_enrolment,
    not_prefetched,
    position_of,
    presented_case,
    reading_of,
    rules_of,
)
from readerstudy.reading.timing_events import insert_events
from readerstudy.study.permissions import StudyRefused


class Feedback(Struct, frozen=True):
    correct: bool
    key: str
    explanation: str


def feedback_of(response: Response) -> Feedback | None:
    """Key and explanation of the practice case that a stored answer is to; None for everything else.

    The table of keys is not asked before it is known that the answer is final and the case one of the practice block.
    """
    presented = response.reading.presented
    if presented is None or presented.block != Block.PRACTICE:
        return None
    is_final = Response.objects.filter(pk=response.pk, is_confirmed=True).exists()
    progress = CaseProgress(may_read=True, block=presented.block, is_prefetched=False, is_last=True, answered=is_final)
    if Part.FEEDBACK not in visible_parts(progress):
        return None
    truth = _truth(presented)
    is_right = response.state == ResponseState.ANSWERED and response.option == truth.key
    return Feedback(is_right, truth.key, truth.explanation)


def settle_block(locked: Enrolment, *, at: datetime) -> None:
    """Note the end of a block with its last case: of practice if it was passed or need not be, of the main block."""
    counts = counts_of(locked)
    if locked.practised_at is None and Block.PRACTICE in counts:
        n, done = counts[Block.PRACTICE]
        if done >= n and is_passed(locked):
            locked.practised_at = at
            locked.save(update_fields=["practised_at"])
        return
    n, done = counts.get(Block.MAIN, (0, 0))
    if locked.finished_at is None and n > 0 and done >= n:
        locked.finished_at = at
        locked.save(update_fields=["finished_at"])


def is_passed(locked: Enrolment) -> bool:
    """Whether enough answers of the practice block are right, where the study asks for some."""
    needed = rules_of(locked).practice_pass
    return needed is None or n_right(locked) >= needed


def n_right(enrolment: Enrolment) -> int:
    """Right answers in the practice block."""
    practised = Response.objects.filter(
        reading__enrolment=enrolment,
        reading__case__block=Block.PRACTICE,
        is_confirmed=True,
        state=ResponseState.ANSWERED,
    )
    chosen = dict(practised.values_list("reading__case__revision_id", "option"))
    keys = AnswerKey.objects.filter(revision__in=chosen).values_list("revision_id", "key")
    return sum(chosen[revision] == key for revision, key in keys)


@transaction.atomic
def let_pass(enrolment: Enrolment, reason: str, *, actor: User, at: datetime) -> None:
    """A coordinator lets a reader go on who did not pass the practice block. Twice changes nothing.

    Raises StudyRefused while practice cases are left.
    """
    locked = Enrolment.objects.select_for_update(of=("self",)).select_related("study").get(pk=enrolment.pk)
    n, done = counts_of(locked).get(Block.PRACTICE, (0, 0))
    if done < n:
        raise StudyRefused("practice_left", _("%(reader)s has practice cases left.") % {"reader": locked.pseudonym})
    if locked.practised_at is not None:
        return
    locked.practised_at = at
    locked.save(update_fields=["practised_at"])
    record("enrolment.practice_let_pass", actor=actor, at=at, subject=locked, facts={"reason": reason})


def _truth(presented: PresentedCase) -> AnswerKey:
    return AnswerKey.objects.only("key", "explanation").get(revision=presented.case.revision_id)


LEFT_AFTER = timedelta(minutes=30)  # a reader who has finished
FORGOTTEN_AFTER = timedelta(hours=12)  # a reader who has not
BY_PROGRAM = frozenset({ResponseState.UNCONFIRMED, ResponseState.TIMED_OUT, ResponseState.MISSING})
_ENDS = ("enrolment__study__closed_at", "enrolment__withdrawn_at", "enrolment__replaced_at", "until")
_AFTER_IT = reduce(and_, (Q(**{f"{end}__isnull": True}) | Q(**{f"{end}__gte": F("over")}) for end in _ENDS))
_OPEN = KeptQuery(lambda pk: Reading.objects.filter(enrolment=pk, closed_at__isnull=True), int)


def make_response(*, state: ResponseState, **columns: Any) -> Response:
    """The row of how a reading ended, here and elsewhere; not stored yet. Its state says who ended it."""
    return Response(state=state, is_confirmed=state not in BY_PROGRAM, **columns)


def sweep_readings(at: datetime) -> int:
    """Close the cases whose time ended some while ago, and end the sessions that nobody sits at.

    A case that the end of the study or of its reader's part interrupted stays open: no answer could be taken in the
    time that was left. Safe to run at any time and by several workers at once. Returns how many cases were closed.
    """
    end_left_sessions(at=at)
    due = Reading.objects.filter(closed_at__isnull=True, deadline_at__lt=at - GRACE - ON_THE_WAY)
    until = Coalesce("enrolment__deadline_at", "enrolment__study__deadline_at")
    ran_out = due.annotate(until=until, over=F("deadline_at") + GRACE).filter(_AFTER_IT)
    return sum(close_reading(pk, at=at) for pk in ran_out.values_list("pk", flat=True))


@transaction.atomic
def close_reading(pk: int, *, at: datetime) -> bool:
    """Close one reading whose time ended some while ago; False when it is closed already."""
    enrolment_id = Reading.objects.values_list("enrolment_id", flat=True).get(pk=pk)
    locked = Enrolment.objects.select_for_update(of=("self",)).select_related("study").get(pk=enrolment_id)
    reading = Reading.objects.get(pk=pk)
    if reading.closed_at is not None or not is_to_be_closed(reading.deadline_at, at):
        return False
    _close(locked, reading, actor=None, at=at)
    return True


def close_run_out(locked: Enrolment, *, actor: User, at: datetime) -> None:
    """Close the open case of this reader if its time has run out: the page asks for what comes next."""
    reading = _OPEN.first(locked.pk)
    if reading is not None and is_over(reading.deadline_at, at):
        _close(locked, reading, actor=actor, at=at)


def end_left_sessions(*, at: datetime) -> int:
    """Sessions of readers who have finished and left, and of pages that were forgotten long ago."""
    live = ReadingSession.objects.filter(ended_at__isnull=True)
    left = live.filter(enrolment__finished_at__isnull=False, seen_at__lt=at - LEFT_AFTER)
    forgotten = live.filter(seen_at__lt=at - FORGOTTEN_AFTER)
    ended = left.update(ended_at=at, end=SessionEnd.FINISHED)
    return ended + forgotten.update(ended_at=at, end=SessionEnd.LAPSED)


def end_with_choice(
    locked: Enrolment, reading: Reading, flags: Sequence[TimeFlag], *, actor: User, at: datetime
) -> None:
    """A newer choice was made in time and came after it: the case ends with it.

    Where it was closed already, that end is stored beside the first: without an answer the newest row counts.
    """
    if reading.closed_at is None:
        _close(locked, reading, flags, actor=actor, at=at)
        return
    _store_end(locked, reading, flags, delivered_late=True, at=at)
    facts = {"position": reading.position, "sequence": reading.choice_sequence}
    record("reading.choice_delivered_late", actor=actor, at=at, subject=reading, facts=facts)


def _close(
    locked: Enrolment, reading: Reading, flags: Sequence[TimeFlag] = (), *, actor: User | None, at: datetime
) -> None:
    _store_end(locked, reading, flags, at=at)
    reading.closed_at = at
    reading.save(update_fields=["closed_at"])
    record("reading.ran_out", actor=actor, at=at, subject=reading, facts={"position": reading.position})
    settle_block(locked, at=at)


def _store_end(
    locked: Enrolment, reading: Reading, flags: Sequence[TimeFlag], *, delivered_late: bool = False, at: datetime
) -> None:
    time_limit_s = rules_of(locked).time_limit_s
    was_translated = TimingEvent.objects.filter(reading=reading, kind=EventKind.TRANSLATED).exists()
    ended = make_response(
        reading=reading,
        state=state_without_answer(reading.choice),
        option=reading.choice,
        choice_sequence=reading.choice_sequence,
        delivered_late=delivered_late,
        limit_ms=time_limit_s * 1000 if time_limit_s is not None else None,
        stored_at=at,
        time_flags=[flag.value for flag in (*flags, *((TimeFlag.TRANSLATED,) if was_translated else ()))],
    )
    ended.save()


# --- Opening a case: only the next one of the order, once -----------------------------------------
@transaction.atomic
def open_case(enrolment: Enrolment, public_id: str, *, session: str, actor: User, at: datetime) -> Reading:
    """The reading of a presented case, made now if it is the next one. Opening again changes nothing.

    Refused: ``not_yet`` (prefetched, and an earlier one is not answered), ``paused``, ``guess_missing``,
    ``confidence_missing``.
    """
    locked = lock_enrolment(enrolment, actor=actor)
    check_may_read(locked, at)
    lease = check_write_lease(locked, session, at=at)
    close_run_out(locked, actor=actor, at=at)
    presented = presented_case(locked, public_id)
    reading = reading_of(presented)
    if reading is not None:
        return reading
    _check_is_next(locked, presented, at=at)
    if locked.paused_at is not None:
        raise ReadingRefused("paused", _("You are on a break. End it to continue."))
    return _open(locked, presented, lease, at=at)


def open_answered(locked: Enrolment, presented: PresentedCase, lease: ReadingSession, *, at: datetime) -> Reading:
    """Open the place of an answer whose opening was lost; during a break too, since the answer may be older."""
    _check_is_next(locked, presented, at=at)
    return _open(locked, presented, lease, at=at)


def _check_is_next(locked: Enrolment, presented: PresentedCase, *, at: datetime) -> None:
    """Refused unless it is the next case."""
    position = position_of(locked, rules_of(locked), at=at)
    if presented not in position.prefetched:
        raise not_prefetched()
    if presented != position.current:
        raise ReadingRefused("not_yet", _("A case before this one is not answered yet."))


def _open(locked: Enrolment, presented: PresentedCase, lease: ReadingSession, *, at: datetime) -> Reading:
    _check_remarks(locked, rules_of(locked))
    place = presented.case_id, presented.order.arm_id, presented.position
    reading = make_reading(locked, *place, presented=presented, opened_at=at)
    reading.save(force_insert=True)
    insert_events(reading, SERVER, [SentEvent(0, EventKind.OPENED, 0.0)], session=lease, at=at)
    return reading


def make_reading(enrolment: Enrolment, case: int, arm: int, position: int | None, **columns: Any) -> Reading:
    """The row of one reader on one case, read here or elsewhere; not stored yet."""
    return Reading(enrolment=enrolment, case_id=case, arm_id=arm, position=position, **columns)


def _check_remarks(locked: Enrolment, rules: Rules) -> None:
    """Refused while the last answer waits for a best guess, or for how sure the reader is of it."""
    last = last_presented(locked) if rules.asks_after_the_answer else None
    asked = still_asked(reading_of(last), rules) if last is not None else None
    if asked == RemarkKind.GUESS:
        raise ReadingRefused("guess_missing", _("First choose your best guess for the last case."))
    if asked == RemarkKind.CONFIDENCE:
        sentence = _("First rate how likely your last answer is to be correct.")
        raise ReadingRefused("confidence_missing", sentence)


def still_asked(reading: Reading | None, rules: Rules) -> RemarkKind | None:
    """What the reader has yet to say about an answer before the next case opens.

    After "cannot tell" a best guess; then, of an option or of the guess, how likely it is right. Nothing about an
    answer that came too late.
    """
    if reading is None or not rules.asks_after_the_answer:
        return None
    in_time = Response.objects.filter(reading=reading, is_confirmed=True).exclude(state=ResponseState.LATE)
    state = in_time.values_list("state", flat=True).first()
    if state is None:
        return None
    stored = set(Remark.objects.filter(reading=reading).values_list("kind", flat=True))
    if state == ResponseState.DECLINED and RemarkKind.GUESS not in stored:
        return RemarkKind.GUESS
    return RemarkKind.CONFIDENCE if rules.confidence and RemarkKind.CONFIDENCE not in stored else None
