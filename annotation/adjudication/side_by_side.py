"""The reviews of one question side by side, without names, beside the adjudicator's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.enums import Degree, Difficulty, Disagreement, Flag, GradeName, Verdict, Word
from annotation.models import BlindAnswer, Review, Settlement
from annotation.review.outcomes import newest_reviews


@dataclass(frozen=True)
class Line:
    """What each review says to one field of the form; the first cell is the adjudicator's own."""

    label: str
    cells: list[str]
    is_text: bool = False

    @property
    def differs(self) -> bool:
        """Whether the marked answers differ; texts always do."""
        return not self.is_text and len(set(self.cells)) > 1


@dataclass(frozen=True)
class Comparison:
    n_reviews: int
    lines: list[Line]


def compare(settlement: Settlement) -> Comparison:
    """The adjudicator's newest version, then those of the round in an order that says nothing about who wrote them.

    The caller has seen to it that the adjudicator's own review is submitted.
    """
    of_round = newest_reviews(settlement.round).filter(assignment__revision=settlement.revision_id)
    reviews = list(of_round.select_related("assignment__blind_answer").order_by("assignment__public_id"))
    own = Review.objects.filter(assignment=settlement.assignment_id).select_related("assignment__blind_answer")
    return Comparison(len(reviews), _lines([own.latest("version"), *reviews]))


def _lines(reviews: Sequence[Review]) -> list[Line]:
    answers: list[BlindAnswer | None] = [getattr(one.assignment, "blind_answer", None) for one in reviews]

    def of_answers(label: str, cell: Callable[[BlindAnswer], str]) -> Line:
        return Line(label, [cell(one) if one is not None else _("not asked") for one in answers])

    def of_reviews(label: str, cell: Callable[[Review], str], *, is_text: bool = False) -> Line:
        return Line(label, [cell(one) for one in reviews], is_text)

    asked = [name for name in GradeName if any(name in one.grades for one in reviews)]
    lines = [
        of_answers(_("Blind answer"), lambda one: one.best or _("none")),
        of_answers(_("Acceptable"), lambda one: ", ".join(one.defensible) or _("none")),
        of_answers(_("Difficulty"), lambda one: _label(Difficulty, one.difficulty)),
        of_reviews(_("Verdict"), lambda one: _label(Verdict, one.verdict)),
        of_reviews(_("Flags"), lambda one: "; ".join(_label(Flag, flag) for flag in one.flags) or _("none")),
        *(of_reviews(_(name.label), lambda one, name=name: _grade(one, name)) for name in asked),  # type: ignore[misc]
        of_reviews(_("Needs the image"), lambda one: _label(Degree, one.needs_image)),
        of_reviews(_("Clinically relevant"), lambda one: _label(Degree, one.relevant)),
        of_reviews(_("On the key"), lambda one: _label(Disagreement, one.disagreement) or "–"),
        of_reviews(_("Category"), lambda one: one.category or _("as it is")),
        of_reviews(_("Reasoning"), lambda one: one.reasoning, is_text=True),
        of_reviews(_("Comment"), lambda one: one.comment, is_text=True),
        of_reviews(_("Cannot judge because"), lambda one: one.verdict_reason, is_text=True),
    ]
    return [line for line in lines if any(line.cells)]


def _label(words: type[Word], value: str) -> str:
    return next((_(word.label) for word in words if word == value and word.label), value)


def _grade(review: Review, name: GradeName) -> str:
    grade = review.grades.get(name)
    if grade is None:
        return ""  # its form did not ask for it, or an imported review has none
    return str(grade) if isinstance(grade, int) else _("cannot judge")
