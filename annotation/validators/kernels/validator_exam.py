"""How good a validator is against what reviewers flagged, and a classifier on a labelled set. Pure.

Sensitivity and specificity have Wilson's limits, which take questions as independent. An undecided verdict is a miss in
both: it finds no fault, and clears no sound question. Kappa is Cohen's, over the decided ones, with a percentile
bootstrap over questions, or over patients or exams where one has several.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from annotation.enums import Degree, Flag, GradeName, _
from annotation.questionbank.kernels.question_checks import BIAS, C1, C2, C3, IDENTIFIER_FREE, IMAGES
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


# --- of a classifier, by its threshold -----------------------------------------------------------------
Scored = Sequence[tuple[float, bool]]  # probability of the class, and whether the text is of it
SHOWN = tuple(step / 10 for step in range(1, 10))  # thresholds of the table
STEPS = 100  # of the curve
WIDTH, HEIGHT = 600, 200  # of the drawing
_WORDS = {
    IDENTIFIER_FREE: frozenset(("phi", "pii", "identifier", "identifiers", "identifying", "personal")),
    BIAS: frozenset(("bias", "biased", "stereotype", "stereotyped")),
}
_NO = frozenset(("no", "non", "not", "un", "free", "without"))


def part_of_class(label: str) -> str:
    """The part of compliance that the name of a class says, such as PHI; empty where it says none, as NOT_PHI."""
    words = set(re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", label).lower()))
    return next((part for part, known in _WORDS.items() if words & known and not words & _NO), "")


class AtThreshold(Struct, frozen=True):
    """``precision``: of the texts at or above the threshold, how many are of the class; ``recall``: of the class, how
    many reach it.
    """

    threshold: float
    precision: Estimate
    recall: Estimate

    def as_json(self) -> dict[str, Any]:
        return {
            name: {"count": one.count or 0, **one.as_json()}
            for name, one in (("precision", self.precision), ("recall", self.recall))
        }


def at_threshold(scored: Scored, threshold: float) -> AtThreshold:
    above = [is_of_it for p, is_of_it in scored if p >= threshold]
    n_of_it = sum(is_of_it for _p, is_of_it in scored)
    return AtThreshold(threshold, share(sum(above), len(above)), share(sum(above), n_of_it))


class ClassCurve(Struct, frozen=True):
    """``lines``: of precision and of recall over thresholds from 0 to 1, as points of a drawing."""

    n: int
    n_of_class: int
    rows: list[AtThreshold]
    lines: tuple[str, str]


def curve_of(scored: Scored) -> ClassCurve:
    drawn = [at_threshold(scored, step / STEPS) for step in range(STEPS + 1)]
    lines = _points(drawn, "precision"), _points(drawn, "recall")
    n_of_it = sum(is_of_it for _p, is_of_it in scored)
    return ClassCurve(len(scored), n_of_it, [at_threshold(scored, one) for one in SHOWN], lines)


def _points(drawn: Sequence[AtThreshold], name: str) -> str:
    found = ((one.threshold, getattr(one, name).value) for one in drawn)
    return " ".join(f"{WIDTH * x:.0f},{HEIGHT * (1 - y):.1f}" for x, y in found if y is not None)
