"""Where an assignment may go from its state, and what may be done with a round now; what refuses an act. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from annotation.enums import AssignmentState as State
from annotation.enums import RoundState, RoundSteps, _
from annotation.refusals import Refused


class ReviewAct(StrEnum):
    """What moves an assignment."""

    ANSWER = "answer"  # step 1 is stored
    SUBMIT = "submit"  # steps 2 and 3 are stored; again: a new version
    SKIP = "skip"
    RETURN = "return"  # the reviewer must not judge it and hands it back
    WITHDRAW = "withdraw"  # the question is taken from the reviewer


class ReviewRefused(Refused):
    """Something cannot be done with a round or a question in it; the sentence says why and what to do."""


def changed_meanwhile(**facts: Any) -> ReviewRefused:
    """The page shows a question as it was."""
    return ReviewRefused("changed", _("This question has changed. Reload the page."), **facts)


# A skipped question that was answered blind before keeps that answer: see ground_of in annotation/review/submitting.py.
_COMMON: Mapping[tuple[str, ReviewAct], State] = {
    (State.WAITING, ReviewAct.SKIP): State.SKIPPED,
    (State.WAITING, ReviewAct.RETURN): State.RETURNED,
    (State.WAITING, ReviewAct.WITHDRAW): State.WITHDRAWN,
    (State.ANSWERED, ReviewAct.SUBMIT): State.SUBMITTED,
    (State.ANSWERED, ReviewAct.SKIP): State.SKIPPED,
    (State.ANSWERED, ReviewAct.RETURN): State.RETURNED,
    (State.ANSWERED, ReviewAct.WITHDRAW): State.WITHDRAWN,
    (State.SKIPPED, ReviewAct.SUBMIT): State.SUBMITTED,
    (State.SKIPPED, ReviewAct.SKIP): State.SKIPPED,  # a second reason; it goes to the end again
    (State.SKIPPED, ReviewAct.RETURN): State.RETURNED,
    (State.SKIPPED, ReviewAct.WITHDRAW): State.WITHDRAWN,
    (State.RETURNED, ReviewAct.WITHDRAW): State.WITHDRAWN,
    (State.SUBMITTED, ReviewAct.SUBMIT): State.SUBMITTED,
}

TRANSITIONS: Mapping[str, Mapping[tuple[str, ReviewAct], State]] = {
    RoundSteps.FULL: {
        **_COMMON,
        (State.WAITING, ReviewAct.ANSWER): State.ANSWERED,
        (State.SKIPPED, ReviewAct.ANSWER): State.ANSWERED,
    },
    RoundSteps.OPEN: {**_COMMON, (State.WAITING, ReviewAct.SUBMIT): State.SUBMITTED},
}

# Still to do, in the order in which a reviewer meets them: first these, then the skipped ones.
IN_TURN = (State.WAITING, State.ANSWERED)
UNFINISHED = (*IN_TURN, State.SKIPPED)
UNREVIEWED = (*UNFINISHED, State.RETURNED)  # what a round still lacks
GONE = (State.RETURNED, State.WITHDRAWN)  # no longer with the reviewer


def state_after(state: str, act: ReviewAct, *, steps: str) -> State:
    """The state that follows. Raises ReviewRefused when the table has no such step."""
    following = TRANSITIONS[steps].get((state, act))
    if following is None:
        raise changed_meanwhile(state=state, act=act)
    return following


# Where a round may go. No state is entered twice: reviewers may have seen the answers of others.
ROUND_TRANSITIONS: Mapping[str, tuple[RoundState, ...]] = {
    RoundState.DRAFT: (RoundState.OPEN,),
    RoundState.OPEN: (RoundState.COMPLETE, RoundState.CLOSED),
    RoundState.COMPLETE: (RoundState.ADJUDICATION, RoundState.CLOSED),
    RoundState.ADJUDICATION: (RoundState.CLOSED,),
    RoundState.CLOSED: (),
}


class RoundAct(StrEnum):
    OPEN = "open"
    COMPLETE = "complete"
    ADJUDICATE = "adjudicate"
    CLOSE = "close"


_TO = {
    RoundAct.OPEN: RoundState.OPEN,
    RoundAct.COMPLETE: RoundState.COMPLETE,
    RoundAct.ADJUDICATE: RoundState.ADJUDICATION,
    RoundAct.CLOSE: RoundState.CLOSED,
}
_WRONG_STATE = {
    RoundAct.OPEN: _("Only a draft can be opened: reviewers may have seen the answers of others."),
    RoundAct.COMPLETE: _("Only an open round has reviews that can end."),
    RoundAct.ADJUDICATE: _("Adjudication begins once the independent reviews are complete, and only once."),
    RoundAct.CLOSE: _("A round can be closed once it was opened."),
}
_OPEN_CALIBRATION = _("The calibration is open: %s. Let them in with a reason, or take them out of the round.")


class RoundFacts(Struct, frozen=True, kw_only=True):
    """What the policy asks of a round."""

    state: str
    n_disputed: int = 0  # questions that are not settled
    n_adjudicators: int = 0
    uncalibrated: tuple[str, ...] = ()  # names of reviewers who have not passed the calibration


def why_not(act: RoundAct, facts: RoundFacts) -> ReviewRefused | None:
    """What blocks the act; None where it may be done."""
    if _TO[act] not in ROUND_TRANSITIONS[facts.state]:
        return ReviewRefused("wrong_state", _WRONG_STATE[act])
    if act in (RoundAct.COMPLETE, RoundAct.CLOSE) and facts.uncalibrated:
        return ReviewRefused("open_calibration", _OPEN_CALIBRATION % ", ".join(facts.uncalibrated))
    if act == RoundAct.ADJUDICATE and not facts.n_disputed:
        return ReviewRefused("nothing_disputed", _("Every reviewed question is settled: close the round."))
    if act == RoundAct.ADJUDICATE and not facts.n_adjudicators:
        return ReviewRefused("no_adjudicator", _("Name an adjudicator first."))
    return None
