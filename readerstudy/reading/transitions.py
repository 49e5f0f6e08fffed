"""Where a place of a reader's order may go from where it stands, as a table. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class PlaceState(StrEnum):
    """How far a reader has come with one case."""

    WAITING = "waiting"  # nothing of it is shown
    READY = "ready"  # armed: the page may hold it, nobody has looked at it
    OPENED = "opened"
    PAINTED = "painted"  # it was on screen; the clock runs
    RAN_OUT = "ran out"  # closed by the program when the time had ended
    ANSWERED = "answered"  # final


class PlaceAct(StrEnum):
    """What moves a place."""

    ARM = "arm"  # an answer before it is stored
    OPEN = "open"
    PAINT = "paint"
    CHOOSE = "choose"  # a choice is saved, not confirmed
    COMMIT = "commit"
    EXPIRE = "expire"


class PlaceRefused(Exception):
    """The place does not allow this act where it stands."""

    def __init__(self, state: PlaceState, act: PlaceAct) -> None:
        super().__init__(f"a place that is {state} does not allow: {act}")
        self.state = state
        self.act = act


_S, _A = PlaceState, PlaceAct
# Opening, painting and committing again change nothing; a commit that was made in time may arrive after the end.
TRANSITIONS: Mapping[tuple[PlaceState, PlaceAct], PlaceState] = {
    (_S.WAITING, _A.ARM): _S.READY,
    (_S.READY, _A.OPEN): _S.OPENED,
    (_S.OPENED, _A.OPEN): _S.OPENED,
    (_S.OPENED, _A.PAINT): _S.PAINTED,
    (_S.OPENED, _A.CHOOSE): _S.OPENED,
    (_S.OPENED, _A.COMMIT): _S.ANSWERED,  # only when all its images are said to be unreadable
    (_S.PAINTED, _A.OPEN): _S.PAINTED,
    (_S.PAINTED, _A.PAINT): _S.PAINTED,
    (_S.PAINTED, _A.CHOOSE): _S.PAINTED,
    (_S.PAINTED, _A.COMMIT): _S.ANSWERED,
    (_S.PAINTED, _A.EXPIRE): _S.RAN_OUT,
    (_S.RAN_OUT, _A.OPEN): _S.RAN_OUT,
    (_S.RAN_OUT, _A.PAINT): _S.RAN_OUT,
    (_S.RAN_OUT, _A.CHOOSE): _S.RAN_OUT,  # too late: the choice stays as it was
    (_S.RAN_OUT, _A.EXPIRE): _S.RAN_OUT,
    (_S.RAN_OUT, _A.COMMIT): _S.ANSWERED,
    (_S.ANSWERED, _A.OPEN): _S.ANSWERED,
    (_S.ANSWERED, _A.PAINT): _S.ANSWERED,
    (_S.ANSWERED, _A.CHOOSE): _S.ANSWERED,
    (_S.ANSWERED, _A.COMMIT): _S.ANSWERED,  # the same answer again; another one is refused and kept
    (_S.ANSWERED, _A.EXPIRE): _S.ANSWERED,
}


@dataclass(frozen=True, kw_only=True)
class PlaceFacts:
    """What is stored about a place, and whether it is armed."""

    is_armed: bool
    opened: bool = False
    painted: bool = False
    closed: bool = False  # a response of any kind is stored
    confirmed: bool = False


def place_state(facts: PlaceFacts) -> PlaceState:
    if facts.confirmed:
        return PlaceState.ANSWERED
    if facts.closed:
        return PlaceState.RAN_OUT
    if facts.painted:
        return PlaceState.PAINTED
    if facts.opened:
        return PlaceState.OPENED
    return PlaceState.READY if facts.is_armed else PlaceState.WAITING


def state_after(state: PlaceState, act: PlaceAct) -> PlaceState:
    """The state that follows. Raises PlaceRefused when the table has no such step."""
    following = TRANSITIONS.get((state, act))
    if following is None:
        raise PlaceRefused(state, act)
    return following
