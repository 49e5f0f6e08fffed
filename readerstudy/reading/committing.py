"""A choice is saved at once, an answer stored for good, acknowledged after the commit of its transaction;
and what a reader says about a case beside the answer: a best guess after "cannot tell", how sure they were, a slip of a
key, a fault of the case.

An answer that cannot be the answer of its reading is refused with the reason, and kept. A clock that cannot be read
costs the time, never the answer.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.case.kernels.durations import TimeFlag, durations
from annotation.case.kernels.traces import NO_TRACE, Trace, check_all_seen, time_columns
from annotation.enums import EventKind
from annotation.models import User
from annotation.site.sorted_tables import KeptQuery
from readerstudy.design.kernels.documents import CHANCES, Rules
from readerstudy.design.shown import is_seen
from readerstudy.enums import Refusal, RemarkKind
from readerstudy.models import (
    Enrolment,
    PresentedCase,
    Reading,
    ReadingSession,
    RefusedAnswer,
    Remark,
    Response,
    ShownImage,
)
from readerstudy.reading.case_opening import close_run_out, end_with_choice, make_response, open_answered, settle_block
from readerstudy.reading.kernels.visibility import is_in_time, is_over, judge
from readerstudy.reading.prefetched import (
    ReadingRefused,
    check_key,
    check_may_read,
    check_still_open,
    check_write_lease,
    find_presented,
    last_answered,
    last_presented,
    lock_enrolment,
    malformed,
    presented_case,
    reading_of,
    rules_of,
)
from readerstudy.reading.timing_events import (
    CaseTrace,
    add_trace,
    opened_reading,
    set_painted,
    time_of,
    time_within_limit,
)


# --- the choice before it is confirmed: a crash or the end of the time does not lose it -----------
@transaction.atomic
def save_choice(
    enrolment: Enrolment,
    public_id: str,
    option: str,
    sequence: int,
    *,
    trace: Trace = NO_TRACE,
    session: str,
    actor: User,
    at: datetime,
) -> bool:
    """Keep the option that is chosen now, empty for none; False when this changes nothing.

    An older choice than the stored one changes nothing, nor does one after the answer. One that arrives after the end
    of the case is judged by the clock of its page, as an answer is: made in time, the case ends with it, also where the
    program has closed it meanwhile; what it tells is kept in any case.
    """
    locked = lock_enrolment(enrolment, actor=actor)
    presented = presented_case(locked, public_id)
    reading = opened_reading(presented)
    check_may_read(locked, at)
    lease = check_write_lease(locked, session, at=at)
    if option:
        check_option(presented, option)
    if sequence <= reading.choice_sequence or _is_answered(reading):
        return False
    ran_out = is_over(reading.deadline_at, at)
    flags = _flags_if_in_time(locked, reading, trace, lease, at=at) if ran_out else ()
    if flags is None:
        return False
    if ran_out or reading.closed_at is not None:
        check_still_open(locked)
    before, reading.choice, reading.choice_sequence = reading.choice, option, sequence
    reading.save(update_fields=["choice", "choice_sequence"])
    if (ran_out and reading.closed_at is None) or (reading.closed_at is not None and option != before):
        end_with_choice(locked, reading, flags, actor=actor, at=at)
    return True


def _is_answered(reading: Reading) -> bool:
    return reading.closed_at is not None and Response.objects.filter(reading=reading, is_confirmed=True).exists()


def _flags_if_in_time(
    locked: Enrolment, reading: Reading, trace: Trace, lease: ReadingSession, *, at: datetime
) -> tuple[TimeFlag, ...] | None:
    """Judged as if it had been submitted when it was made; a page that tells no time is judged by the server.

    None where it was too late; the only flag is that the time is in doubt.
    """
    trace_so_far = add_trace(reading, trace, session=lease, at=at)
    chosen = {(trace.page, event.sequence) for event in trace.events if event.kind == EventKind.SELECTED}
    others = [event for event in trace_so_far.seen.events if event.kind != EventKind.SUBMITTED]
    events = tuple(replace(event, kind=EventKind.SUBMITTED) if event.key in chosen else event for event in others)
    chosen_so_far = CaseTrace(replace(trace_so_far.seen, events=events), trace_so_far.sessions)
    measured = replace(durations(events), flags=())
    taken, flags = time_within_limit(locked, reading, chosen_so_far, measured, at=at)
    return flags if is_in_time(taken.ms, rules_of(locked).time_limit_s) else None


def check_option(presented: PresentedCase, option: str) -> None:
    """Refused where the case has no option of that name."""
    if len(option) != 1 or option not in presented.options[: len(presented.case.revision.options)]:
        raise malformed()


# --- the answer -----------------------------------------------------------------------------------
_IMAGES: KeptQuery[tuple[str, dict[str, Any]]] = KeptQuery(
    lambda case: ShownImage.objects.filter(case=case).values_list("image__state", "frozen"), int
)
_CONFIRMED = KeptQuery(lambda reading: Response.objects.filter(reading=reading, is_confirmed=True), int)


class CommittedAnswer(Struct, frozen=True, kw_only=True):
    """What a page commits; ``option`` is empty where the reader says that they cannot tell."""

    key: str
    option: str = ""
    declined: bool = False
    trace: Trace = NO_TRACE


def commit_answer(
    enrolment: Enrolment, public_id: str, answer: CommittedAnswer, *, session: str, actor: User, at: datetime
) -> Response:
    """The stored answer: the same key, or the same option under another key, gets what is stored already.

    A case that the program closed when its time ended still takes the reader's own answer, stored beside it. An
    answer that is refused for one of readerstudy.enums.Refusal is kept; ``other_answer`` tells the one that is stored.
    """
    check_key(answer.key)
    with transaction.atomic():
        try:
            return _commit(enrolment, public_id, answer, session=session, actor=actor, at=at)
        except ReadingRefused as refusal:
            if refusal.code not in Refusal.values():
                raise
            reason = Refusal(refusal.code)
            _keep_refused(enrolment, public_id, answer, reason, session=session, actor=actor, at=at)
            refused = refusal
    raise refused


def _commit(
    enrolment: Enrolment, public_id: str, answer: CommittedAnswer, *, session: str, actor: User, at: datetime
) -> Response:
    locked = lock_enrolment(enrolment, actor=actor)
    presented = presented_case(locked, public_id)
    reading = reading_of(presented)
    if reading is not None and reading.closed_at is not None and (stored := _CONFIRMED.first(reading.pk)) is not None:
        if stored.key != answer.key and stored.option != answer.option:
            sentence = _("The answer to this case is already stored and final.")
            raise ReadingRefused(Refusal.OTHER_ANSWER.value, sentence, stored=stored)
        stored.reading = reading
        return stored
    check_may_read(locked, at)
    lease = check_write_lease(locked, session, at=at)
    rules = rules_of(locked)
    _check_answer(presented, answer, rules)
    if reading is None:  # its opening never reached the server
        close_run_out(locked, actor=actor, at=at)
        reading = open_answered(locked, presented, lease, at=at)
    response = _response(locked, presented, reading, answer, rules, lease, at=at)
    check_still_open(locked)
    response.save(force_insert=True)
    reading.closed_at = reading.closed_at or at
    reading.save(update_fields=["painted_at", "deadline_at", "closed_at"])
    facts = {"position": reading.position, "block": presented.block}
    record("reading.answered", actor=actor, at=at, subject=reading, facts=facts)
    settle_block(locked, at=at)
    return response


def _response(
    locked: Enrolment,
    presented: PresentedCase,
    reading: Reading,
    answer: CommittedAnswer,
    rules: Rules,
    lease: ReadingSession,
    *,
    at: datetime,
) -> Response:
    """The row to store. Raises CaseRefused, where an image was not on screen."""
    trace_so_far = add_trace(reading, answer.trace, session=lease, at=at)
    images = {frozen["public_id"]: is_seen(state, frozen) for state, frozen in _IMAGES(presented.case_id)}
    painted = images if trace_so_far.seen.is_damaged else trace_so_far.seen.painted
    check_all_seen(images, painted, answer.trace.unreadable)
    set_painted(locked, reading, answer.trace, at=at)
    measured = time_of(reading, trace_so_far, at=at)
    taken, flags = time_within_limit(locked, reading, trace_so_far, measured, at=at)
    if taken.ms is not None and taken.ms < rules.quiet_ms:
        flags = (*flags, TimeFlag.HASTY)
    judged = judge(
        declined=answer.declined,
        time_limit_s=rules.time_limit_s,
        client_ms=taken.ms,
        deadline_at=reading.deadline_at,
        at=at,
    )
    return make_response(
        reading=reading,
        state=judged.state,
        option=answer.option,
        key=answer.key,
        delivered_late=judged.delivered_late,
        limit_ms=judged.limit_ms,
        committed_at=at,
        stored_at=at,
        unreadable=list(answer.trace.unreadable),
        viewport=answer.trace.viewport,
        **time_columns(replace(measured, flags=flags)),
    )


def _check_answer(presented: PresentedCase, answer: CommittedAnswer, rules: Rules) -> None:
    if not answer.declined:
        check_option(presented, answer.option)
    elif answer.option or not rules.cannot_tell:
        raise malformed()


def _keep_refused(
    enrolment: Enrolment,
    public_id: str,
    answer: CommittedAnswer,
    reason: Refusal,
    *,
    session: str,
    actor: User,
    at: datetime,
) -> None:
    """Keep what the reader sent to a place of their own, once. The audit log does not say which option."""
    presented = find_presented(enrolment, public_id)
    if presented is not None:
        kept = RefusedAnswer(
            presented=presented,
            reason=reason,
            option=answer.option if answer.option in set("ABCD") else "",
            key=answer.key,
            session=session if session.isprintable() and len(session) <= 16 else "",
            at=at,
        )
        RefusedAnswer.objects.bulk_create([kept], ignore_conflicts=True)
    facts = {"place": public_id, "reason": reason.value, "key": answer.key}
    subject = (reading_of(presented) if presented is not None else None) or enrolment
    record("reading.answer_refused", actor=actor, at=at, subject=subject, facts=facts)


# --- What a reader says about a case beside the answer: a best guess after "cannot ----------------
MOST_TEXT = 2_000


class SentRemark(Struct, frozen=True, kw_only=True):
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
