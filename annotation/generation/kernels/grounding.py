"""What must support a generated question, by rule and before anybody judges it. Pure.

A rule that comes to another result gets a new version, and RULES_VERSION with it: each question keeps the one that let
it pass. What no rule can see, such as a quote that says less than what is made of it, is for reviewers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from annotation.call_enums import Polarity
from annotation.enums import Task
from annotation.generation.kernels.answer_forms import WrittenBullet, WrittenQuestion
from annotation.quality.kernels.question_checks import prior_words

RULES_VERSION = "ground-1"


class GroundRule(NamedTuple):
    """``sentence`` says why something was not made."""

    code: str
    version: int
    sentence: str


_TABLE = (
    # --- of an answer ---
    GroundRule("no_answer", 1, "The model refused, or its answer was cut at the token limit."),
    GroundRule("not_in_form", 1, "The answer does not have the form that was asked for."),
    GroundRule("no_bullets", 1, "No finding of the report can be used, so that no question was asked for."),
    # --- of a finding ---
    GroundRule("quote_not_found", 1, "The quote is not in the report."),
    GroundRule("compares_with_prior", 1, "The finding compares with an earlier exam, which nobody is shown."),
    # --- of a question ---
    GroundRule("option_without_bullet", 1, "An option names no finding that supports it."),
    GroundRule("unknown_bullet", 1, "An option names a finding that is not in the list, or that a rule left out."),
    GroundRule("negation_key_not_absent", 1, "The key of a negation question is not stated as absent."),
    GroundRule(
        "negation_distractor_not_present",
        1,
        "A distractor of a negation question is not stated as present: not mentioned is not the same.",
    ),
    GroundRule("equal_options", 1, "Two options say the same."),
    GroundRule("names_letter", 1, "Stem or explanation names an option by its letter, and the letter is drawn."),
)
RULES = {rule.code: rule for rule in _TABLE}

_LETTER = re.compile(r"\b(?:option|answer|choice)s?\W{0,3}(?:is\W{0,3})?[A-D]\b|\([A-D]\)", re.IGNORECASE)


class QuoteSpan(NamedTuple):
    """Of a quote in its report: ``report[start:end]``."""

    start: int
    end: int


class GroundedBullet(Struct, frozen=True):
    """A finding with its place in the report; ``fault`` is the code of the rule that leaves it out."""

    bullet: WrittenBullet
    place: QuoteSpan | None
    compares_with_prior: bool
    fault: str = ""

    @property
    def polarity(self) -> Polarity:
        return Polarity(self.bullet.polarity)


def find_quote(quote: str, report: str) -> QuoteSpan | None:
    """The first place of the quote. White space and case count for nothing, everything else counts."""
    wanted, _places = _folded(quote.strip())
    text, places = _folded(report)
    start = text.find(wanted) if wanted else -1
    if start < 0:
        return None
    return QuoteSpan(places[start], places[start + len(wanted) - 1] + 1)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text in small letters with single spaces, and for each of its characters the place where it came from."""
    folded: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isspace():
            if folded and folded[-1] == " ":
                continue
            character = " "
        for small in character.casefold():  # one character may become two
            folded.append(small)
            places.append(place)
    return "".join(folded), places


def ground_bullet(bullet: WrittenBullet, report: str) -> GroundedBullet:
    """A comparison is one where the model says so, and where statement or quote has the words of one."""
    place = find_quote(bullet.quote, report)
    compares = bullet.compares_with_prior or bool(prior_words(bullet.statement) or prior_words(bullet.quote))
    fault = "quote_not_found" if place is None else "compares_with_prior" if compares else ""
    return GroundedBullet(bullet, place, compares, fault)


def fault_of(question: WrittenQuestion, bullets: Mapping[int, Polarity]) -> str:
    """The code of the first rule that the question breaks, "" for none. ``bullets``: usable ones by number."""
    if not all(option.bullets for option in question.options):
        return "option_without_bullet"
    if any(number not in bullets for option in question.options for number in option.bullets):
        return "unknown_bullet"
    if Task(question.task) is Task.NEGATION and (fault := _fault_of_negation(question, bullets)):
        return fault
    if len({" ".join(option.text.casefold().split()) for option in question.options}) < len(question.options):
        return "equal_options"
    if _LETTER.search(question.stem) or _LETTER.search(question.explanation):
        return "names_letter"
    return ""


def _fault_of_negation(question: WrittenQuestion, bullets: Mapping[int, Polarity]) -> str:
    polarities: Sequence[set[Polarity]] = [
        {bullets[number] for number in option.bullets} for option in question.options
    ]
    if polarities[question.key_place] != {Polarity.ABSENT}:
        return "negation_key_not_absent"
    others = [found for place, found in enumerate(polarities) if place != question.key_place]
    return "" if all(found == {Polarity.PRESENT} for found in others) else "negation_distractor_not_present"
