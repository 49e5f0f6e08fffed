"""What is looked for in a question before a radiologist reads it: each rule with its version and its sentence. Pure.

A rule that comes to another result gets a new version: findings name the version that made them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from annotation.enums import FindingPlace
from annotation.quality.kernels.identifiers import IDENTIFIERS

MIN_EXPLANATION = 20  # characters; an import may ask for more
THRESHOLD = 0.9  # similarity of near-duplicates, as in the paper
NEAR_DUPLICATE, PUBLIC_TWIN, NEAR_EMBEDDED = BANKWIDE = (
    "near_duplicate",
    "public_twin",
    "near_embedded",
)  # found over whole banks
LETTERS = (FindingPlace.A, FindingPlace.B, FindingPlace.C, FindingPlace.D)


class Rule(NamedTuple):
    """``found`` is a template that the check fills; ``advice`` says what to do."""

    code: str
    version: int
    label: str
    found: str
    advice: str

    def sentence(self, **words: object) -> str:
        return f"{self.found.format(**words)} {self.advice}"


_TABLE = (
    Rule(
        "duplicate_options",
        1,
        "options of the same text",
        "Options {first} and {second} say the same.",
        "Replace one of them.",
    ),
    Rule(
        "overlapping_options",
        1,
        "overlapping options",
        "Option {wide} holds all that option {narrow} says: both may be right.",
        "Make them exclude each other.",
    ),
    Rule(
        "longest_is_key",
        1,
        "key much longer than the others",
        "The key has {n} characters, the longest other option {other}.",
        "Shorten the key, or give the other options as much detail.",
    ),
    Rule(
        "absolute_terms",
        1,
        "absolute term",
        "The option says “{word}”: test takers rule such options out.",
        "Say it without the absolute term.",
    ),
    Rule(
        "all_of_the_above",
        1,
        "“all of the above”",
        "The option refers to other options: “{words}”.",
        "Replace it by an option that stands alone.",
    ),
    Rule(
        "negative_stem",
        1,
        "negative stem without emphasis",
        "The stem asks for what is not so, in “{word}”, which is easily overlooked.",
        "Write the word in capitals, or ask the opposite.",
    ),
    Rule(
        "mentions_prior",
        1,
        "mention of a prior",
        "“{words}” needs an earlier exam, and none is shown.",
        "Ask what these images alone can answer, or name the prior exam in the question file.",
    ),
    Rule(
        "key_in_stem",
        1,
        "key named in the stem",
        "The stem names the key: it contains “{words}”, and no other option does.",
        "Take the words out of the stem, or put them into other options, too.",
    ),
    Rule(
        "report_copied",
        1,
        "words of the report",
        "{n} words in a row are copied from the report: “{words}”.",
        "Say in other words what the images show.",
    ),
    Rule(
        "short_explanation",
        1,
        "short explanation",
        "The explanation has {n} characters, fewer than the {least} asked for.",
        "Say what on the images makes the key right.",
    ),
    Rule(
        "options_differ_in_kind",
        1,
        "option of another kind",
        "Option {letter} is {kind}, the other three are {others}.",
        "Make all four options of one kind.",
    ),
    *(
        Rule(
            one.code,
            one.version,
            f"possible identifier: {one.label}",
            "What looks like {label} is at characters {spans}.",
            "Take it out: revise the question; for a report, change the source file and import it again.",
        )
        for one in IDENTIFIERS
        if one.patterns
    ),
    Rule(
        NEAR_DUPLICATE,
        1,
        "near-duplicate",
        "Stem and options are {similarity} similar to question {number}{more}.",
        "Keep one of them in a sample, or reword.",
    ),
    Rule(
        PUBLIC_TWIN,
        1,
        "twin in a public bank",
        "Stem and options are {similarity} similar to question {number} of the public bank “{bank}”{more}.",
        "A model may have learned it there: leave it out of what is to test models, or reword.",
    ),
    Rule(
        NEAR_EMBEDDED,
        1,
        "near-duplicate by an embedding",
        "By the embedding {embedding}, stem and options are {similarity} similar to question {number}{more}.",
        "Keep one of them in a sample, or reword.",
    ),
)
RULES = {rule.code: rule for rule in _TABLE}


@dataclass(frozen=True, slots=True)
class CheckedQuestion:
    """A question as the checks see it; ``key`` is the index of its option, None where the form comes without."""

    stem: str
    options: tuple[str, ...]
    key: int | None
    explanation: str = ""
    report: str = ""
    has_prior: bool = False  # an earlier exam is shown beside this one


class Flaw(NamedTuple):
    """At most one for each rule and place of a question."""

    rule: str
    place: FindingPlace
    detail: str


def flaw(rule: str, place: FindingPlace, **words: object) -> Flaw:
    return Flaw(rule, place, RULES[rule].sentence(**words))
