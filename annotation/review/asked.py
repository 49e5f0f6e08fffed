"""What reviews were asked for, each by its own form: what was not asked has no answer, and is counted nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from annotation.enums import PAPER_FORM, Flag, GradeName, _
from annotation.models import ReviewForm
from annotation.review.kernels.form_design import CHOICE_LABELS, PAPER, FormDesign, stored_design

ASKED_BY = ("form", "assignment__blind_answer__answered_at", "flags")  # columns that asked_by_forms goes by
ASKED_LABELS = {  # of what a review may have been asked for, see FormDesign.asks
    "blind_best": _("Blind answer"),
    **{f"grade_{name.value}": name.label for name in GradeName},
    **CHOICE_LABELS,
    **{f"flag_{flag.value}": flag.label for flag in Flag},
}


AskedBy = Callable[[str, object, Iterable[str]], frozenset[str]]


def asked_by_forms() -> AskedBy:
    """What a review was asked for, see FormDesign.asks: by its form, its blind answer (None: there is none), its flags.

    A flag that is set was asked for, whatever the form is. Forms of one's own are read when the first one comes.
    """

    @cache
    def designs() -> dict[str, FormDesign]:
        return {str(one): stored_design(one.design) for one in ReviewForm.objects.all()}

    @cache
    def asked(form: str, is_blind: bool) -> frozenset[str]:
        design = PAPER if form == PAPER_FORM else designs().get(form, PAPER)
        return design.asks(blind=is_blind)

    def of_review(form: str, answer: object, flags: Iterable[str]) -> frozenset[str]:
        found = asked(form, answer is not None)
        more = {f"flag_{flag}" for flag in flags} - found
        return found | more if more else found  # one object for all reviews of a form

    return of_review


def flags_asked_by_forms() -> AskedBy:
    """The flags among them."""
    asked, only_flags = asked_by_forms(), cache(asked_flags)
    return lambda form, answer, flags: only_flags(asked(form, answer, flags))


def asked_flags(asked: frozenset[str]) -> frozenset[str]:
    return frozenset(name.removeprefix("flag_") for name in asked if name.startswith("flag_"))
