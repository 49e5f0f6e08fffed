"""The form of a review as its designer fills it, and the anchors of its grades. Pure.

Verdict, blind answer and difficulty are always asked, and so is the flag that hides an image which shows who the
patient is. What follows from the blind answer follows in every form; without a blind answer it is asked as the form
says. What a form does not ask has no answer, which is another thing than "no".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from annotation.enums import Degree, Disagreement, Flag, GradeName, _
from annotation.review.kernels.transitions import ReviewRefused

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
    GradeName.QUESTION_QUALITY: {
        5: _("clear, one best answer, every wrong option tempts"),
        4: _("a word to change"),
        3: _("an option that nobody would take, or a stem to read twice"),
        2: _("stem or options to write anew"),
        1: _("cannot be answered as it is written"),
    },
    GradeName.CLINICAL_ACCURACY: {
        5: _("all of it true, as a radiologist would put it"),
        4: _("true, not in the words of the trade"),
        3: _("a statement is doubtful or out of date"),
        2: _("the key or an option is doubtful"),
        1: _("clinically wrong"),
    },
    GradeName.EDUCATIONAL_VALUE: {
        5: _("teaches a sign or a decision that matters"),
        4: _("practises one that matters"),
        3: _("recall or trivia"),
        2: _("answered without knowledge"),
        1: _("teaches something false"),
    },
}

GRADE_QUESTIONS: Mapping[GradeName, str] = {GradeName.CLINICAL_QUALITY: _("Would I set it for a second-year resident?")}

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


FOLLOWING = (Flag.SEVERAL_VALID, Flag.KEY_WRONG, Flag.NO_VALID_OPTION)  # these follow from step 1 and the key
CHOSEN = tuple(flag for flag in Flag if flag not in FOLLOWING)
ASKABLE = (*CHOSEN, *FOLLOWING)  # the last ones by hand, in rounds without a blind answer
CHOICES: Mapping[str, Mapping[Degree, str]] = {"needs_image": NEEDS_IMAGE_ANCHORS, "relevant": RELEVANT_ANCHORS}
CHOICE_LABELS = {"needs_image": _("Image needed"), "relevant": _("Clinically relevant")}
ANCHOR_LIMIT = 120  # characters: an anchor is shown in one line beside its value


class FormDesign(Struct, frozen=True, kw_only=True):
    """What a form asks, in the order of the vocabularies. ``anchors`` holds those that are not the paper's.

    The paper's form is named word by word: a grade, choice or flag that is added later is asked by no form that exists.
    """

    grades: tuple[GradeName, ...] = (
        *(GradeName.CLINICAL_QUALITY, GradeName.FACTUAL_CORRECTNESS),
        *(GradeName.EXPLANATION_CLARITY, GradeName.IMAGE_ALIGNMENT),
    )
    choices: tuple[str, ...] = ("needs_image", "relevant")
    flags: tuple[Flag, ...] = (
        *(Flag.NEEDS_PRIOR, Flag.HALLUCINATED, Flag.NOT_VISIBLE, Flag.OTHER_EXAM),
        *(Flag.UNSOUND, Flag.GIVES_AWAY, Flag.IDENTIFIES, Flag.OTHER),
        *(Flag.SEVERAL_VALID, Flag.KEY_WRONG, Flag.NO_VALID_OPTION),
    )
    anchors: tuple[tuple[str, str, str], ...] = ()  # field, value, text

    def anchor(self, name: str, value: str) -> str:
        """What a value of a grade or choice means here."""
        own = {(field, of): text for field, of, text in self.anchors}
        return own.get((name, value)) or paper_anchor(name, value)

    def asks(self, *, blind: bool) -> frozenset[str]:
        """Grades, choices, flags and blind answer that a review was asked for, as its columns in an export."""
        flags = {*self.flags, *FOLLOWING} if blind else self.flags
        of_blind = ("blind_best", "blind_difficulty") if blind else ()
        asked = (f"grade_{name.value}" for name in self.grades), (f"flag_{flag.value}" for flag in flags)
        return frozenset((*asked[0], *self.choices, *asked[1], *of_blind))

    def as_json(self) -> dict[str, Any]:
        return {
            "grades": [name.value for name in self.grades],
            "choices": list(self.choices),
            "flags": [flag.value for flag in self.flags],
            "anchors": [list(one) for one in self.anchors],
        }


PAPER = FormDesign()

# Section 3.3.1 of the paper: experts judged the questions of each version of its prompt by these. It prints neither
# scale nor anchors, so that both are ours; the flags are those of the paper's form, for the issues of section 3.3.3.
CRITERIA = (GradeName.QUESTION_QUALITY, GradeName.CLINICAL_ACCURACY, GradeName.EDUCATIONAL_VALUE)
CRITERIA_FORM = "Criteria of section 3.3.1"  # its name, stored where a site starts
GOOD_GRADE = 4  # this or better is counted


def stored_design(stored: Mapping[str, Any] | None) -> FormDesign:
    """A design as it is stored; None: the form of the paper."""
    if stored is None:
        return PAPER
    return FormDesign(
        grades=tuple(name for name in GradeName if name in stored["grades"]),
        choices=tuple(name for name in CHOICES if name in stored["choices"]),
        flags=tuple(flag for flag in ASKABLE if flag in stored["flags"]),
        anchors=tuple((field, value, text) for field, value, text in stored["anchors"]),
    )


def paper_anchor(name: str, value: str) -> str:
    if name in CHOICES:
        return CHOICES[name][Degree(value)]
    return anchor_of(GradeName(name), int(value))


def anchored() -> list[tuple[str, str]]:
    """Every value that has an anchor, as field and value, in the order of the form."""
    grades = [(name.value, str(grade)) for name in GradeName for grade in reversed(GRADES)]
    return grades + [(name, degree.value) for name, anchors in CHOICES.items() for degree in anchors]


def make_design(
    *, grades: Iterable[str], choices: Iterable[str], flags: Iterable[str], anchors: Mapping[tuple[str, str], str]
) -> FormDesign:
    """A design from what a page sent; anchors that are those of the paper, or of what is not asked, are left out."""
    asked = {*grades, *choices}
    own = ((name, value, " ".join(anchors.get((name, value), "").split())) for name, value in anchored())
    return FormDesign(
        grades=tuple(name for name in GradeName if name in asked),
        choices=tuple(name for name in CHOICES if name in asked),
        flags=tuple(flag for flag in ASKABLE if flag in {*flags, Flag.IDENTIFIES}),
        anchors=tuple(one for one in own if one[2] and one[0] in asked and one[2] != paper_anchor(one[0], one[1])),
    )


def check_design(design: FormDesign) -> None:
    """Raises ReviewRefused for a form that asks nothing, or has an anchor that is too long."""
    if not design.grades and not design.choices:
        raise ReviewRefused("nothing_asked", _("Ask for at least one grade or choice."), status=422, field="grades")
    for name, value, text in design.anchors:
        if len(text) > ANCHOR_LIMIT:
            sentence = _("An anchor has at most 120 characters.")
            raise ReviewRefused("anchor_too_long", sentence, status=422, field=f"anchor-{name}-{value}")
