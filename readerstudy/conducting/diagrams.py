"""The states of a reader study, and of a case in the order of a reader, for docs/states.md."""

from __future__ import annotations

from annotation.review.diagram import diagram
from readerstudy.enums import StudyState
from readerstudy.reading.kernels import transitions
from readerstudy.study.kernels import states

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
    moves = {
        (state, str(following), act)
        for (state, act), following in transitions.TRANSITIONS.items()
        if following != state
    }
    arrows = {(_word(state), _word(following), str(act)) for state, following, act in moves}
    return diagram("A case in the order of a reader", _word(transitions.CaseState.WAITING), arrows)


def _word(state: str) -> str:
    return str(state).replace(" ", "_")
