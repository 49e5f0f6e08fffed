"""The life of a batch of calls as a table. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.call_enums import BatchState as State

# A planned batch asks its first calls for the estimate and is planned again. The last responses may come in a file.
# Nothing leads out of the last two.
BATCH_TRANSITIONS: Mapping[State, tuple[State, ...]] = {
    State.PLANNED: (State.TRYING, State.RUNNING, State.STOPPED, State.COMPLETE),
    State.TRYING: (State.PLANNED, State.STOPPED),
    State.RUNNING: (State.PAUSED, State.STOPPED, State.COMPLETE),
    State.PAUSED: (State.RUNNING, State.STOPPED, State.COMPLETE),
    State.STOPPED: (),
    State.COMPLETE: (),
}
AT_WORK = (State.TRYING, State.RUNNING)


def may_become(before: str, after: State) -> bool:
    return after in BATCH_TRANSITIONS[State(before)]
