"""The state of a trial of two versions of a prompt, and what may be done with it then. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from annotation.enums import RoundState, Word, _
from annotation.refusals import Refused


class TrialState(Word):
    PLANNED = "planned", _("planned: nothing is sent yet")
    ASKING = "asking", _("a model makes the questions")
    STOPPED = "stopped", _("stopped for good by a person")
    MADE = "made", _("the questions of both versions are there")
    DRAWN = "drawn", _("the sample is drawn, its round is not open yet")
    REVIEWING = "reviewing", _("under review")
    CLOSED = "closed", _("the round is closed")


class TrialAct(StrEnum):
    START = "start"  # also: go on with what was paused
    DRAW = "draw"
    TELL = "tell"  # what the trial found


TRIAL_ACTS: dict[TrialAct, frozenset[TrialState]] = {
    TrialAct.START: frozenset({TrialState.PLANNED, TrialState.ASKING}),
    TrialAct.DRAW: frozenset({TrialState.MADE}),
    TrialAct.TELL: frozenset({TrialState.CLOSED}),
}
_REFUSALS = {
    TrialAct.START: ("made", _("The questions of both versions are made already.")),
    TrialAct.DRAW: (
        "not_made",
        _("Questions of both versions are not there yet: draw once both runs are finished."),
    ),
    TrialAct.TELL: ("not_closed", _("Not closed: the results are shown once its round is closed.")),
}
_DRAWN = ("drawn", _("The sample of this trial is drawn already."))
_STOPPED = (
    "stopped",
    _("The calls of a version were stopped for good, so that nothing can be compared: plan another trial."),
)


class FeedbackRefused(Refused):
    """Something cannot be done with a trial; the sentence says why and what to do."""


@dataclass(frozen=True)
class TrialFacts:
    """``round_state``: of the round that counts; empty without one."""

    is_started: bool
    is_stopped: bool  # a person stopped the calls of a version
    is_made: bool  # both runs are finished
    is_drawn: bool
    round_state: str = ""


def state_of(facts: TrialFacts) -> TrialState:
    if facts.is_drawn:
        if facts.round_state in ("", RoundState.DRAFT):
            return TrialState.DRAWN
        return TrialState.CLOSED if facts.round_state == RoundState.CLOSED else TrialState.REVIEWING
    if facts.is_made:
        return TrialState.MADE
    if facts.is_stopped:
        return TrialState.STOPPED
    return TrialState.ASKING if facts.is_started else TrialState.PLANNED


def why_not(act: TrialAct, state: TrialState) -> FeedbackRefused | None:
    """What blocks the act; None where it may be done."""
    if state in TRIAL_ACTS[act]:
        return None
    is_drawn = state in (TrialState.DRAWN, TrialState.REVIEWING, TrialState.CLOSED)
    if state == TrialState.STOPPED:
        return FeedbackRefused(*_STOPPED)
    return FeedbackRefused(*(_DRAWN if act == TrialAct.DRAW and is_drawn else _REFUSALS[act]))
