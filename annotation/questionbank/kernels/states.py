"""The life of a question as a table: imported, reviewed, settled, revised. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.enums import QuestionState as State

STATE = "review_state"  # field of an exported record; what reviews decided is not for a file to say, and not read

# To "in review" when a round with the question opens; back to what it was when the round ends without a review of it.
# To "imported" when a file brings another wording; to "revised" when a person writes one.
QUESTION_TRANSITIONS: Mapping[State, tuple[State, ...]] = {
    State.IMPORTED: (State.IN_REVIEW, State.REVISED, State.WITHDRAWN),
    State.IN_REVIEW: (
        *(State.ACCEPTED, State.DISPUTED, State.NEEDS_REVISION, State.REJECTED),
        *(State.IMPORTED, State.REVISED, State.WITHDRAWN),
    ),
    State.DISPUTED: (
        *(State.ACCEPTED, State.NEEDS_REVISION, State.REJECTED),
        *(State.IN_REVIEW, State.IMPORTED, State.REVISED, State.WITHDRAWN),
    ),
    State.ACCEPTED: (State.IN_REVIEW, State.IMPORTED, State.REVISED, State.WITHDRAWN),
    State.NEEDS_REVISION: (State.IN_REVIEW, State.IMPORTED, State.REVISED, State.WITHDRAWN),
    State.REJECTED: (State.IN_REVIEW, State.IMPORTED, State.REVISED, State.WITHDRAWN),
    State.REVISED: (State.IN_REVIEW, State.ACCEPTED, State.IMPORTED, State.WITHDRAWN),
    State.WITHDRAWN: (State.IMPORTED, State.REVISED),
}


def states_before(state: State) -> tuple[State, ...]:
    """From where a question may come to this state."""
    return tuple(before for before, following in QUESTION_TRANSITIONS.items() if state in following)
