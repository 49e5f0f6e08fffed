"""Where an assignment may go from where it stands, as a table. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from annotation.enums import AssignmentState as State
from annotation.enums import RoundSteps


class Act(StrEnum):
    """What moves an assignment."""

    ANSWER = "answer"  # step 1 is stored
    SUBMIT = "submit"  # steps 2 and 3 are stored; again: a new version
    SKIP = "skip"
    RETURN = "return"  # the reviewer must not judge it and hands it back
    WITHDRAW = "withdraw"  # the question is taken from the reviewer


class TransitionRefused(Exception):
    """The assignment does not allow this act where it stands."""

    def __init__(self, state: str, act: Act) -> None:
        super().__init__(f"an assignment that is {state} does not allow: {act}")
        self.state = state
        self.act = act


# A skipped question that was answered blind before keeps that answer: see check_step_one_first in submitting.
_COMMON: Mapping[tuple[str, Act], State] = {
    (State.WAITING, Act.SKIP): State.SKIPPED,
    (State.WAITING, Act.RETURN): State.RETURNED,
    (State.WAITING, Act.WITHDRAW): State.WITHDRAWN,
    (State.ANSWERED, Act.SUBMIT): State.SUBMITTED,
    (State.ANSWERED, Act.SKIP): State.SKIPPED,
    (State.ANSWERED, Act.RETURN): State.RETURNED,
    (State.ANSWERED, Act.WITHDRAW): State.WITHDRAWN,
    (State.SKIPPED, Act.SUBMIT): State.SUBMITTED,
    (State.SKIPPED, Act.SKIP): State.SKIPPED,  # a second reason; it goes to the end again
    (State.SKIPPED, Act.RETURN): State.RETURNED,
    (State.SKIPPED, Act.WITHDRAW): State.WITHDRAWN,
    (State.RETURNED, Act.WITHDRAW): State.WITHDRAWN,
    (State.SUBMITTED, Act.SUBMIT): State.SUBMITTED,
}

TRANSITIONS: Mapping[str, Mapping[tuple[str, Act], State]] = {
    RoundSteps.FULL: {
        **_COMMON,
        (State.WAITING, Act.ANSWER): State.ANSWERED,
        (State.SKIPPED, Act.ANSWER): State.ANSWERED,
    },
    RoundSteps.OPEN: {
        **_COMMON,
        (State.WAITING, Act.SUBMIT): State.SUBMITTED,
    },
}

# Still to do, in the order in which a reviewer meets them: first these, then the skipped ones.
IN_TURN = (State.WAITING, State.ANSWERED)
UNFINISHED = (*IN_TURN, State.SKIPPED)
UNREVIEWED = (*UNFINISHED, State.RETURNED)  # what a round still lacks
GONE = (State.RETURNED, State.WITHDRAWN)  # no longer with the reviewer


def state_after(state: str, act: Act, *, steps: str) -> State:
    """The state that follows. Raises TransitionRefused when the table has no such step."""
    following = TRANSITIONS[steps].get((state, act))
    if following is None:
        raise TransitionRefused(state, act)
    return following
