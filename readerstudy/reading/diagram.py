"""The states of a place for docs/states.md."""

from __future__ import annotations

from annotation.review.diagram import diagram
from readerstudy.reading.kernels.transitions import TRANSITIONS, PlaceState


def place_states() -> str:
    moves = {(state, str(following), act) for (state, act), following in TRANSITIONS.items() if following != state}
    arrows = {(_word(state), _word(following), str(act)) for state, following, act in moves}
    return diagram("A case in the order of a reader", _word(PlaceState.WAITING), arrows)


def _word(state: str) -> str:
    return str(state).replace(" ", "_")
