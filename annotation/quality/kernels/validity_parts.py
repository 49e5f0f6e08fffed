"""The seven parts of V(Q), equation 1 of the paper, as we read it: what each asks, and who or what answers. Pure.

The paper names them in sections, and prints no rule for most: c1, c2 and c3 of its content validators, difficulty,
diversity, and the two halves of compliance.
"""

from __future__ import annotations

from typing import NamedTuple

from annotation.enums import Difficulty, Word
from annotation.quality.kernels.identifiers import IDENTIFIERS
from annotation.quality.kernels.rules import NEAR_DUPLICATE, NEAR_EMBEDDED


def _(text: str) -> str:
    """Mark a text for translation; pages translate it where it is shown."""
    return text


class PartState(Word):
    """The result of a question in one part. A validator says one of the first three, in its own word."""

    PASS = "pass", _("passes")
    FAIL = "fail", _("fails")
    UNDECIDED = "undecided", _("undecided")
    NOT_EXAMINED = "not_examined", _("not examined")


class ValidityPart(NamedTuple):
    """``rules``: those of findings that speak against a question; empty: nothing here can fail one."""

    code: str
    label: str
    asks: str  # what has to be so
    rules: tuple[str, ...] = ()


C1, C2, C3 = VALIDATORS = ("c1", "c2", "c3")
RATING = "rating"  # asked of a model like a validator; a difficulty is no verdict, and speaks against no question
DIFFICULTY, DIVERSITY, IDENTIFIER_FREE, BIAS = "difficulty", "diversity", "identifiers", "bias"
JUDGED = (*VALIDATORS, BIAS)  # asked of a model, with a verdict on each question
ASKED = (*JUDGED, RATING)
PARTS = {
    one.code: one
    for one in (
        ValidityPart(C1, _("c1: needs the images"), _("It cannot be answered without the images."), (C1,)),
        ValidityPart(C2, _("c2: no recall"), _("It asks for more than recall or trivia."), (C2,)),
        ValidityPart(C3, _("c3: sound, key right"), _("It is sound, and its key is the one right option."), (C3,)),
        ValidityPart(DIFFICULTY, _("difficulty"), _("Its difficulty is stated.")),
        ValidityPart(
            DIVERSITY,
            _("diversity"),
            _("No other question of the bank is nearly the same."),
            (NEAR_DUPLICATE, NEAR_EMBEDDED),
        ),
        ValidityPart(
            IDENTIFIER_FREE,
            _("compliance: identifiers"),
            _("The rules find no identifier of a person in it."),
            tuple(one.code for one in IDENTIFIERS if one.patterns),
        ),
        ValidityPart(BIAS, _("compliance: bias"), _("Words of age, sex and origin do not change its answer."), (BIAS,)),
    )
}
CAN_FAIL = tuple(one.code for one in PARTS.values() if one.rules)
STATED = (Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD)
