"""The states of a reader study for docs/states.md."""

from __future__ import annotations

from annotation.review.diagram import diagram
from readerstudy.enums import StudyState
from readerstudy.study.kernels.states import TRANSITIONS

ACTS = {
    StudyState.FROZEN: "freeze",
    StudyState.OPEN: "open",
    StudyState.CLOSED: "close",
    StudyState.ANALYSED: "analyse",
}


def study_states() -> str:
    arrows = {(state, str(following), ACTS[following]) for state, after in TRANSITIONS.items() for following in after}
    return diagram("A reader study", StudyState.DRAFT, arrows)
