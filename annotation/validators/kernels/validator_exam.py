"""How good a validator is against what reviewers flagged. Pure.

Sensitivity and specificity have Wilson's limits, which take questions as independent. An undecided verdict is a miss in
both: it finds no fault, and clears no sound question. Kappa is Cohen's, over the decided ones, with a percentile
bootstrap over questions, or over patients or exams where one has several.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from annotation.enums import Degree, Flag, GradeName, _
from annotation.questionbank.kernels.question_checks import BIAS, C1, C2, C3, IMAGES
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

DRAWS = 2_000
PANEL = "validators"
RECALL_GRADE = 3  # of clinical quality, whose anchor is "recall or trivia"
UNKNOWING_GRADE = 2  # of educational value, whose anchor is "answered without knowledge"
GRADED = {C1: (GradeName.EDUCATIONAL_VALUE, UNKNOWING_GRADE), C2: (GradeName.CLINICAL_QUALITY, RECALL_GRADE)}
FAULTS = frozenset({Flag.UNSOUND, Flag.KEY_WRONG, Flag.NO_VALID_OPTION, Flag.SEVERAL_VALID})


REFERENCES: Mapping[str, str] = {
    C1: _(
        "More than half of the reviewers grade the educational value 2, “answered without knowledge”. The form of the "
        "paper does not ask for it."
    ),
    IMAGES: _("More than half of the reviewers say that the text gives the answer, so that no image is needed."),
    C2: _("More than half of the reviewers grade the clinical quality 3, “recall or trivia”."),
    C3: _(
        "More than half of the reviewers flag it: ambiguous or unsound, key wrong, no valid option, or more than one."
    ),
    BIAS: _("Reviewers are not asked about bias."),
}


def says_fault(
    validator: str,
    *,
    needs_image: str,
    grades: Mapping[str, Any],
    flags: Sequence[str],
    asked: Collection[str] = tuple(Flag),
) -> bool | None:
    """Whether one review says that the question has the fault that the validator asks for; None: it does not say.

    ``asked``: the flags that the review was asked for. None of them is about bias.
    """
    if validator == IMAGES:
        return None if needs_image not in (Degree.YES, Degree.PARTLY, Degree.NO) else needs_image == Degree.NO
    if validator in GRADED:
        name, faulty = GRADED[validator]
        return grade == faulty if isinstance(grade := grades.get(name), int) else None
    if validator == BIAS or FAULTS.isdisjoint(asked):
        return None
    return not FAULTS.isdisjoint(flags)


def has_fault(opinions: Sequence[bool | None]) -> bool | None:
    """By more than half of those who say; None where nobody does."""
    given = [one for one in opinions if one is not None]
    return 2 * sum(given) > len(given) if given else None


class JudgedTwice(Struct, frozen=True):
    """A question with the verdict of a validator and what its reviewers say of it."""

    verdict: str
    has_fault: bool
    cluster: str  # patient, or exam where no patient is known


class ReviewerExam(Struct, frozen=True):
    """``sensitivity``: of the questions with a fault, how many the validator fails; ``specificity``: of the others, how
    many it passes.
    """

    n: int
    n_faulty: int
    n_undecided: int
    sensitivity: Estimate
    specificity: Estimate
    kappa: Estimate


def examine(judged: Sequence[JudgedTwice], *, validator: str, seed: int = 1) -> ReviewerExam:
    import numpy as np  # not at every start

    from annotation.statistics.kernels.bootstrap import units_of
    from annotation.statistics.kernels.reviewers import grade_agreement

    faulty = [one for one in judged if one.has_fault]
    sound = [one for one in judged if not one.has_fault]
    decided = [one for one in judged if one.verdict != "undecided"]
    codes = np.array(
        [[int(one.verdict == "fail") for one in decided], [int(one.has_fault) for one in decided]], dtype=np.int64
    ).reshape(2, -1)
    units = units_of(np.unique([one.cluster for one in decided], return_inverse=True)[1])
    # With two grades the linear weights are those of the plain kappa.
    agreement = grade_agreement(codes, 2, units, seed=seed, panel=f"{PANEL} {validator}", draws=DRAWS)
    return ReviewerExam(
        n=len(judged),
        n_faulty=len(faulty),
        n_undecided=len(judged) - len(decided),
        sensitivity=share(sum(one.verdict == "fail" for one in faulty), len(faulty)),
        specificity=share(sum(one.verdict == "pass" for one in sound), len(sound)),
        kappa=agreement["cohen_kappa_linear"],
    )
