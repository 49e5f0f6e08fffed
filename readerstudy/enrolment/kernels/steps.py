"""What a reader does next, from what is done; and what is asked about them. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from annotation.enums import Word, _
from readerstudy.enums import StudyState


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


class Facts(Struct, frozen=True, kw_only=True):
    """How far a reader is, and the state of the study."""

    state: str = StudyState.OPEN
    has_left: bool = False
    has_practice: bool = True
    asks_consent: bool = True  # there is a text to agree to
    asks_instructions: bool = True  # there is a text to read
    is_past_deadline: bool = False
    consented: bool = False
    has_given_facts: bool = False
    instructed: bool = False
    display_checked: bool = False
    practised: bool = False
    finished: bool = False
    declared: bool = False

    @property
    def has_agreed(self) -> bool:
        """Or there is nothing to agree to."""
        return self.consented or not self.asks_consent

    @property
    def has_read(self) -> bool:
        """Or there are no instructions to read."""
        return self.instructed or not self.asks_instructions


SHOWN = (
    Step.CONSENT,
    Step.FACTS,
    Step.INSTRUCTIONS,
    Step.DISPLAY,
    Step.PRACTICE,
    Step.MAIN,
    Step.DECLARATION,
)  # what a reader sees as the steps of the study


def asked_steps(facts: Facts) -> list[Step]:
    """What a reader of this study sees as its steps: one without a text or a case is none, and leaves no record."""
    asked = {
        Step.CONSENT: facts.asks_consent,
        Step.INSTRUCTIONS: facts.asks_instructions,
        Step.PRACTICE: facts.has_practice,
    }
    return [one for one in SHOWN if asked.get(one, True)]


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
        (Step.CONSENT, facts.has_agreed),
        (Step.FACTS, facts.has_given_facts),
        (Step.INSTRUCTIONS, facts.has_read),
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


# --- what a paper must report of each reader; in Enrolment.facts under the names of ReaderFacts ---
MOST_YEARS, MOST_FILMS = 70, 5000


class Training(Word):
    RADIOLOGIST = "radiologist", _("radiologist, training completed")
    RESIDENT = "resident", _("radiologist in training")
    PHYSICIAN = "physician", _("physician in another specialty")
    RADIOGRAPHER = "radiographer", _("radiographer")
    STUDENT = "student", _("medical student")
    OTHER = "other", _("other")


class Exposure(Word):
    NONE = "none", _("no, not that I know of")
    SOME = "some", _("I may have seen some of them")
    KNOWN = "known", _("I have worked with them")


class ReaderFacts(Struct, frozen=True, kw_only=True):
    training: str
    years: int  # of reading chest radiographs
    chest_fellowship: bool
    films_per_week: int  # chest radiographs
    display: str
    exposure: str  # to the questions or images of this bank
    exposure_text: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
