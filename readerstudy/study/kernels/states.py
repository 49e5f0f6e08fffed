"""The states of a reader study, and what the state of a reading counts as. Pure."""

from __future__ import annotations

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
