"""The states of a reader study as a table. Pure."""

from __future__ import annotations

from readerstudy.enums import StudyState

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
