"""What may be done with a round now: one function, whose refusal is the sentence on the button. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from annotation.enums import RoundState
from annotation.review.kernels.transitions import ROUND_TRANSITIONS, ReviewRefused


def _(text: str) -> str:
    """Mark a sentence for translation; pages translate it where it is shown."""
    return text


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


@dataclass(frozen=True, kw_only=True)
class RoundFacts:
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
