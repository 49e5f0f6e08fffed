"""The anchors of the grades and choices: what each value means. Data, shown beside the row that has the focus."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.enums import Degree, Disagreement, GradeName


def _(text: str) -> str:
    """Mark a text for translation; pages translate it where it is shown."""
    return text


GRADES = (1, 2, 3, 4, 5)  # the scale, worst first; sentences that say “1 to 5” are written out

GRADES_IN_GENERAL: Mapping[int, str] = {
    5: _("nothing to change"),
    4: _("wording only"),
    3: _("usable after a change that I can name"),
    2: _("rewrite"),
    1: _("unusable"),
}

# Where a grade or one of its values has no anchor here, the general one holds.
GRADE_ANCHORS: Mapping[GradeName, Mapping[int, str]] = {
    GradeName.CLINICAL_QUALITY: {
        5: _("interpretation that matters"),
        3: _("recall or trivia"),
        1: _("clinically wrong"),
    },
    GradeName.FACTUAL_CORRECTNESS: {
        5: _("all true"),
        4: _("slip in the explanation"),
        3: _("explanation partly wrong"),
        2: _("key doubtful"),
        1: _("key wrong"),
    },
    GradeName.EXPLANATION_CLARITY: {
        5: _("sign, place, why the others fail"),
        3: _("restates the key"),
        1: _("missing or contradicts"),
    },
    GradeName.IMAGE_ALIGNMENT: {
        5: _("plain on one view"),
        4: _("once pointed out"),
        3: _("equivocal"),
        2: _("not visible on these images"),
        1: _("contradicted, or another exam"),
    },
}

GRADE_QUESTIONS: Mapping[GradeName, str] = {
    GradeName.CLINICAL_QUALITY: _("Would I set it for a second-year resident?"),
}

NEEDS_IMAGE_ANCHORS: Mapping[Degree, str] = {
    Degree.YES: _("the text leaves all four open"),
    Degree.PARTLY: _("the text rules out one or more"),
    Degree.NO: _("the text gives the answer"),
}

RELEVANT_ANCHORS: Mapping[Degree, str] = {
    Degree.YES: _("changes report or management"),
    Degree.PARTLY: _("I would mention it"),
    Degree.NO: _("neither"),
}

DISAGREEMENT_ANCHORS: Mapping[Disagreement, str] = {
    Disagreement.KEY_WRONG: _("the key is not acceptable"),
    Disagreement.OWN_ERROR: _("my answer is not acceptable"),
    Disagreement.BOTH: _("more than one is valid"),
}

# Of ten second-year residents, how many are right.
DIFFICULTY_ANCHORS: Mapping[str, str] = {
    "easy": _("9 or 10 of 10 second-year residents would get it right"),
    "medium": _("6 to 8 of 10 second-year residents would get it right"),
    "hard": _("5 or fewer of 10 second-year residents would get it right"),
}


def anchor_of(name: GradeName, grade: int) -> str:
    return GRADE_ANCHORS.get(name, {}).get(grade) or GRADES_IN_GENERAL[grade]
