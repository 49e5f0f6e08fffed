"""What a reader may see of a place of their order, and when, decided here alone; and the time limit of a case. Pure.

Key, explanation, report, task, category, difficulty, model answers and other readers' answers are not among the
parts: nothing that a reader gets is made of them. There are two exceptions: the feedback of a practice case after its
final answer, and of the report the indication, where the arm shows it.

An answer is judged on the client's monotonic clock from painted to commit, because transmission takes as long as it
takes, within what the server knows: when it gave the text of the case out, what it heard before the answer, and when
that came. Late is what fits no story that is in time; where page and server part by more than travelling explains, the
answer carries a doubt. The deadline on the server only says when a case without an answer is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf

from msgspec import Struct

from annotation.case.kernels.durations import ClockEvent
from annotation.enums import EventKind
from readerstudy.design.kernels.documents import GRACE_MS
from readerstudy.enums import Block, Information, ResponseState

TRAVEL_MS = 2_000.0  # by so much a request may be slower than another; no smaller difference says anything
MOST_ROUND_TRIP_MS = 10_000.0  # what took longer than this was not only travelling
GRACE = timedelta(milliseconds=GRACE_MS)
ON_THE_WAY = timedelta(seconds=30)  # how long an answer that was made in time may travel before the case is closed


class Judged(Struct, frozen=True):
    """How a commit counts; ``limit_ms`` is set where the time is censored at the limit."""

    state: ResponseState
    delivered_late: bool = False
    limit_ms: int | None = None


def deadline_after(painted_at: datetime, time_limit_s: int | None) -> datetime | None:
    return painted_at + timedelta(seconds=time_limit_s) if time_limit_s is not None else None


def seconds_left(deadline_at: datetime | None, at: datetime) -> float | None:
    """None for a case without a deadline; never below 0."""
    return max(0.0, (deadline_at - at).total_seconds()) if deadline_at is not None else None


def is_over(deadline_at: datetime | None, at: datetime) -> bool:
    """Whether the reader's page may go on to the next case: the grace is over."""
    return deadline_at is not None and at > deadline_at + GRACE


def is_to_be_closed(deadline_at: datetime | None, at: datetime) -> bool:
    """Whether the program closes the case by itself, without a page that asks for the next one."""
    return deadline_at is not None and at > deadline_at + GRACE + ON_THE_WAY


class Taken(Struct, frozen=True):
    """How long the case had been on screen when it was answered, to be judged by."""

    ms: float
    apart_ms: float = 0.0  # by how much the page's word and the time from opening to answer on the server part


def time_taken(
    events: Sequence[ClockEvent],
    elapsed_ms: float | None,
    *,
    opened_at: datetime | None,
    painted_at: datetime | None,
    at: datetime,
) -> Taken:
    """The shortest time that fits what the page told and what the server knows.

    The monotonic clock of the page says it. Several loads of a page, or two devices, have only their times of day in
    common (``elapsed_ms``), which may be wrong: it was no longer than the server knows, and no shorter than the page
    that submitted had it on screen by its own clock. Nobody reads a case before it is given out; where its opening came
    with the answer, that bounds nothing. Without a word of the page the server's own times stand in; of a first painted
    that came with the answer they are those from the opening.
    """
    heard_at = painted_at if painted_at is not None and painted_at < at else opened_at
    server_ms = _ms(heard_at, at) if heard_at is not None else 0.0
    if elapsed_ms is None:
        return Taken(server_ms)
    own_ms = _own_ms(events)
    is_one_page = len({event.page for event in events}) == 1
    told_ms = own_ms if is_one_page and own_ms is not None else min(elapsed_ms, server_ms)
    since_opening = _ms(opened_at, at) if opened_at is not None else 0.0
    most_ms = since_opening if since_opening > 0 else inf
    return Taken(min(max(told_ms, own_ms or 0.0), most_ms), abs(since_opening - told_ms))


def _own_ms(events: Sequence[ClockEvent]) -> float | None:
    """First painted to last submission by the clock of one page, the one that took longest.

    What a page told before its submission was earlier on its clock: a submission that says otherwise is moved up.
    """
    found = []
    for page in {event.page for event in events if event.kind == EventKind.SUBMITTED}:
        own = [event for event in events if event.page == page]
        last = max(event.sequence for event in own if event.kind == EventKind.SUBMITTED)
        painted = [event.client_ms for event in own if event.kind == EventKind.PAINTED]
        until = max(event.client_ms for event in own if event.sequence <= last)
        found += [max(0.0, until - min(painted))] if painted else []
    return max(found, default=None)


def is_in_doubt(taken: Taken, round_trips_ms: Iterable[float]) -> bool:
    """Whether page and server part by more than the longest of these round trips, of the same sitting, explains."""
    known = (ms for ms in round_trips_ms if ms <= MOST_ROUND_TRIP_MS)
    return taken.apart_ms > TRAVEL_MS and taken.apart_ms > TRAVEL_MS + max(known, default=0.0)


def judge(
    *, declined: bool, time_limit_s: int | None, client_ms: float, deadline_at: datetime | None, at: datetime
) -> Judged:
    """``client_ms``: see time_taken."""
    state = ResponseState.DECLINED if declined else ResponseState.ANSWERED
    if time_limit_s is None:
        return Judged(state)
    if not is_in_time(client_ms, time_limit_s):
        return Judged(ResponseState.LATE, limit_ms=time_limit_s * 1000)
    return Judged(state, delivered_late=deadline_at is not None and at > deadline_at)


def is_in_time(client_ms: float, time_limit_s: int | None) -> bool:
    """Of an answer, and of a choice that nobody confirmed; ``client_ms``: see time_taken."""
    return time_limit_s is None or client_ms <= time_limit_s * 1000 + GRACE_MS


def state_without_answer(choice: str) -> ResponseState:
    """How a case ends whose time ran out: with the last saved choice, not confirmed, or with none."""
    return ResponseState.UNCONFIRMED if choice else ResponseState.TIMED_OUT


class Heard(Struct, frozen=True):
    """One event of a page: its own clock, and when the server got it."""

    page: str
    client_ms: float
    received_at: datetime


def since_opening_ms(opened_at: datetime | None, at: datetime) -> float | None:
    return _ms(opened_at, at) + TRAVEL_MS if opened_at is not None else None


def most_elapsed_ms(
    painted: ClockEvent | None, earlier: Iterable[Heard], *, begun_at: datetime | None, at: datetime
) -> float | None:
    """The most that can have passed between ``painted`` and ``at``; None when nothing bounds it.

    ``earlier`` holds what came in before the case was opened; of those from the same page the one that travelled least
    counts. ``begun_at`` is when the sitting began: nothing of it can have been seen before.
    """
    bounds = [_ms(begun_at, at)] if begun_at is not None else []
    if painted is not None:
        ties = [_ms(one.received_at, at) + one.client_ms for one in earlier if one.page == painted.page]
        bounds += [max(ties) - painted.client_ms] if ties else []
    return min(bounds) + TRAVEL_MS if bounds else None


def _ms(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds() * 1000


class Part(StrEnum):
    """A part of a case that can be sent to its reader."""

    STEM = "stem"
    OPTIONS = "options"
    IMAGES = "images"
    AGE_SEX = "age_sex"
    INDICATION = "indication"
    OWN_CHOICE = "own_choice"  # saved, not confirmed
    OWN_ANSWER = "own_answer"  # stored and final
    FEEDBACK = "feedback"  # key and explanation of a practice case


class CaseProgress(Struct, frozen=True, kw_only=True):
    """How far this reader has come with this place; all of it read from stored rows."""

    may_read: bool  # the study is open, the reader takes part, the deadline has not passed, the steps before are done
    block: str
    information: str = Information.NONE  # of the arm
    is_prefetched: bool  # the current place, or one of the next that the rules let a page hold
    awaits_opening: bool = False  # it has a time limit, and nobody has opened it
    is_last: bool = False  # the one that was closed last
    answered: bool = False  # the final answer is stored
    may_slip: bool = False  # another option can be reported as the one that was meant
    guesses: bool = False  # the final answer is "cannot tell", and the best guess is still asked


QUESTION = frozenset({Part.STEM, Part.OPTIONS, Part.IMAGES, Part.OWN_CHOICE})


def visible_parts(progress: CaseProgress) -> frozenset[Part]:
    """The parts that this reader may see now; none of a place that is neither prefetched nor the last one.

    With a time limit the text of a case comes with its opening, so that the server knows when it can first be read.
    Of the last one its images stay (its last frame is still on screen), with the reader's own answer, and its options
    where a slip can be reported. While a best guess is asked its question stays too. A practice case that has its
    final answer also shows whether it was right, and why.
    """
    if not progress.may_read:
        return frozenset()
    if progress.is_prefetched and not progress.answered:
        if progress.awaits_opening:
            return frozenset({Part.IMAGES})
        return QUESTION | _information(progress.information)
    if not progress.is_last:
        return frozenset()
    parts = {Part.IMAGES}
    if progress.answered:
        parts.add(Part.OWN_ANSWER)
        if progress.may_slip or progress.guesses:
            parts.add(Part.OPTIONS)
        if progress.guesses:
            parts.add(Part.STEM)
        if progress.block == Block.PRACTICE:
            parts.add(Part.FEEDBACK)
    return frozenset(parts)


def _information(information: str) -> frozenset[Part]:
    if information == Information.INDICATION:
        return frozenset({Part.AGE_SEX, Part.INDICATION})
    return frozenset({Part.AGE_SEX}) if information == Information.AGE_SEX else frozenset()
