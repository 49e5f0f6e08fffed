"""The states of a reader study and of a case in the order of a reader, also for docs/states.md, and what the state of a
reading counts as. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from readerstudy.enums import ResponseState, StudyState

# Frozen means immutable: a change is a copy. A closed study stays closed, because somebody may have seen its results.
TRANSITIONS: dict[str, tuple[StudyState, ...]] = {
    StudyState.DRAFT: (StudyState.FROZEN,),
    StudyState.FROZEN: (StudyState.OPEN, StudyState.CLOSED),  # closed at once: its readings were made elsewhere
    StudyState.OPEN: (StudyState.CLOSED,),
    StudyState.CLOSED: (StudyState.ANALYSED,),
    StudyState.ANALYSED: (),
}


def may_become(state: str, to: StudyState) -> bool:
    return to in TRANSITIONS[state]


CHOSEN = frozenset({ResponseState.ANSWERED, ResponseState.UNCONFIRMED})  # scored by the option
WRONG = frozenset({ResponseState.DECLINED, ResponseState.TIMED_OUT, ResponseState.LATE})


def counted_state(stored: str | None) -> ResponseState:
    """The state in which a reading enters the results: a reading without any response is missing."""
    return ResponseState(stored) if stored else ResponseState.MISSING


def is_correct(state: ResponseState, option: str, key: str) -> bool | None:
    """Whether a reading counts as right; None where it is missing and counts as nothing."""
    if state in CHOSEN:
        return option == key
    return False if state in WRONG else None


def shown_letter(options_order: str, option: str) -> str:
    """The letter that stood beside a canonical option on the screen of this reader; empty where it is not known."""
    return "ABCD"[options_order.index(option)] if option and option in options_order else ""


class CaseState(StrEnum):
    """How far a reader has come with one case."""

    WAITING = "waiting"  # nothing of it is shown
    READY = "ready"  # prefetched: the page may hold it, nobody has looked at it
    OPENED = "opened"
    PAINTED = "painted"  # it was on screen; the clock runs
    RAN_OUT = "ran out"  # closed by the program when the time had ended
    ANSWERED = "answered"  # final


class CaseAct(StrEnum):
    """What moves a case on."""

    ARM = "arm"  # an answer before it is stored
    OPEN = "open"
    PAINT = "paint"
    CHOOSE = "choose"  # a choice is saved, not confirmed
    COMMIT = "commit"
    EXPIRE = "expire"


_S, _A = CaseState, CaseAct
# The acts do not ask this table; the test of the invariants holds them to it.
# Opening, painting and committing again change nothing; a commit that was made in time may arrive after the end.
CASE_TRANSITIONS: Mapping[tuple[CaseState, CaseAct], CaseState] = {
    (_S.WAITING, _A.ARM): _S.READY,
    (_S.READY, _A.OPEN): _S.OPENED,
    (_S.READY, _A.COMMIT): _S.ANSWERED,  # its opening never reached the server
    (_S.OPENED, _A.OPEN): _S.OPENED,
    (_S.OPENED, _A.PAINT): _S.PAINTED,
    (_S.OPENED, _A.CHOOSE): _S.OPENED,
    (_S.OPENED, _A.COMMIT): _S.ANSWERED,  # it was painted in the same request, or its images cannot be read
    (_S.PAINTED, _A.OPEN): _S.PAINTED,
    (_S.PAINTED, _A.PAINT): _S.PAINTED,
    (_S.PAINTED, _A.CHOOSE): _S.PAINTED,
    (_S.PAINTED, _A.COMMIT): _S.ANSWERED,
    (_S.PAINTED, _A.EXPIRE): _S.RAN_OUT,
    (_S.RAN_OUT, _A.OPEN): _S.RAN_OUT,
    (_S.RAN_OUT, _A.PAINT): _S.RAN_OUT,
    (_S.RAN_OUT, _A.CHOOSE): _S.RAN_OUT,  # made in time it counts; it stays closed
    (_S.RAN_OUT, _A.EXPIRE): _S.RAN_OUT,
    (_S.RAN_OUT, _A.COMMIT): _S.ANSWERED,
    (_S.ANSWERED, _A.OPEN): _S.ANSWERED,
    (_S.ANSWERED, _A.PAINT): _S.ANSWERED,
    (_S.ANSWERED, _A.CHOOSE): _S.ANSWERED,
    (_S.ANSWERED, _A.COMMIT): _S.ANSWERED,  # the same answer again; another one is refused and kept
    (_S.ANSWERED, _A.EXPIRE): _S.ANSWERED,
}

ACTS = {
    StudyState.FROZEN: "freeze",
    StudyState.OPEN: "open",
    StudyState.CLOSED: "close",
    StudyState.ANALYSED: "analyse",
}
