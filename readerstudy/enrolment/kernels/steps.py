"""What a reader does next, from what is done: a table with the first thing that is missing. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.enums import Word
from readerstudy.enums import StudyState


def _(label: str) -> str:
    """Mark a label for translation; pages translate it where it is shown."""
    return label


class Step(Word):
    CONSENT = "consent", _("Consent")
    FACTS = "facts", _("About you")
    INSTRUCTIONS = "instructions", _("Instructions")
    DISPLAY = "display", _("Display check")
    PRACTICE = "practice", _("Practice")
    MAIN = "main", _("Reading")
    DECLARATION = "declaration", _("Declaration")
    DONE = "done", _("Done")
    # Nothing to do, and a sentence that says why.
    LEFT = "left", _("Left the study")  # declined, withdrew, or was replaced
    NOT_YET = "not_yet", _("Not open yet")
    OVER = "over", _("Over")  # the study is closed, or the deadline has passed


@dataclass(frozen=True, kw_only=True)
class Facts:
    """How far a reader is, and how the study stands."""

    state: str = StudyState.OPEN
    has_left: bool = False
    has_practice: bool = True
    is_past_deadline: bool = False
    consented: bool = False
    has_given_facts: bool = False
    instructed: bool = False
    display_checked: bool = False
    practised: bool = False
    finished: bool = False
    declared: bool = False


SHOWN = (
    Step.CONSENT,
    Step.FACTS,
    Step.INSTRUCTIONS,
    Step.DISPLAY,
    Step.PRACTICE,
    Step.MAIN,
    Step.DECLARATION,
)  # what a reader sees as the way through the study


def next_step(facts: Facts) -> Step:
    """The first step that is not done.

    Everything before the practice can be done before the study opens. Whoever has finished can still sign the
    declaration after closing; whoever has not finished cannot read on after closing or after their deadline.
    """
    if facts.has_left:
        return Step.LEFT
    if facts.finished:
        return Step.DONE if facts.declared else Step.DECLARATION
    if facts.is_past_deadline or facts.state in {StudyState.CLOSED, StudyState.ANALYSED}:
        return Step.OVER
    for step, is_done in _before_reading(facts):
        if not is_done:
            return step
    if facts.state != StudyState.OPEN:
        return Step.NOT_YET
    return Step.PRACTICE if facts.has_practice and not facts.practised else Step.MAIN


def _before_reading(facts: Facts) -> tuple[tuple[Step, bool], ...]:
    return (
        (Step.CONSENT, facts.consented),
        (Step.FACTS, facts.has_given_facts),
        (Step.INSTRUCTIONS, facts.instructed),
        (Step.DISPLAY, facts.display_checked),
    )


def done_steps(facts: Facts) -> frozenset[Step]:
    """The steps behind a reader, for the list at the top of each page; a practice that there is not counts as done."""
    done = {step for step, is_done in _before_reading(facts) if is_done}
    if facts.practised or not facts.has_practice:
        done.add(Step.PRACTICE)
    if facts.finished:
        done.add(Step.MAIN)
    if facts.declared:
        done.add(Step.DECLARATION)
    return frozenset(done)
