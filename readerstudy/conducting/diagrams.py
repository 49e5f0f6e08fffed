"""The states of a reader study, and of a case in the order of a reader, for docs/states.md.

The acts do not ask the table of a case; the test of the invariants holds them to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from annotation.review.kernels.transitions import diagram
from readerstudy.enums import StudyState
from readerstudy.study.kernels import states


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
# Opening, painting and committing again change nothing; a commit that was made in time may arrive after the end.
TRANSITIONS: Mapping[tuple[CaseState, CaseAct], CaseState] = {
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


def study_states() -> str:
    arrows = {
        (state, str(following), ACTS[following]) for state, after in states.TRANSITIONS.items() for following in after
    }
    return diagram("A reader study", StudyState.DRAFT, arrows)


def place_states() -> str:
    arrows = {
        (_word(state), _word(following), str(act))
        for (state, act), following in TRANSITIONS.items()
        if following != state
    }
    return diagram("A case in the order of a reader", _word(CaseState.WAITING), arrows)


def _word(state: str) -> str:
    return str(state).replace(" ", "_")
