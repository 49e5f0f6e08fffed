"""Questions that a reviewer flagged, as a filter of the bank: who still judges in a round learns no flag by it."""

from __future__ import annotations

from typing import Any

from django.db.models import CharField, Exists, OuterRef, QuerySet
from django.db.models.functions import Cast
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.enums import AssignmentState, Flag, Role, RoundState
from annotation.models import Assignment, Membership, Review, ReviewRound, User
from annotation.questionbank.filters import ANY, BankFilter, BankSearch, Choices, Rows, Sought
from annotation.review.kernels.visibility import Onlooker, OthersPart, visible_of_others


def rounds_with_outcomes_for(person: User | None) -> list[int]:
    """The rounds of which this coordinator of the site may know what others said; without a person, what all may."""
    mine = Assignment.objects.filter(round=OuterRef("pk"), reviewer=person).exclude(state=AssignmentState.WITHDRAWN)
    own = Membership.objects.filter(round=OuterRef("pk"), user=person, role=Role.ADJUDICATOR)
    rows = ReviewRound.objects.annotate(is_reviewer=Exists(mine), is_adjudicator=Exists(own)).order_by()
    seen = []
    for pk, state, reviews, adjudicates in rows.values_list("pk", "state", "is_reviewer", "is_adjudicator"):
        onlooker = Onlooker(
            coordinates=True,
            reviews=person is None or reviews,
            adjudicates=adjudicates,
            is_closed=state == RoundState.CLOSED,
        )
        if OthersPart.OUTCOMES in visible_of_others(onlooker):
            seen.append(pk)
    return seen


def _flagged(search: BankSearch, value: str) -> QuerySet[Any, Any]:
    """The questions whose review, in the version that counts and of whichever wording, has the flag."""
    if "rounds" not in search.kept:
        search.kept["rounds"] = rounds_with_outcomes_for(search.person)
    later = Review.objects.filter(assignment=OuterRef("assignment"), version__gt=OuterRef("version"))
    reviews = Review.objects.filter(
        ~Exists(later),
        assignment__round__in=search.kept["rounds"],
        assignment__round__plan__bank=search.bank,
    ).alias(words=Cast("flags", CharField()))
    reviews = reviews.exclude(flags=[]) if value == ANY else reviews.filter(words__contains=f'"{value}"')
    return reviews.order_by().values("assignment__revision__question")


def _narrow(rows: Rows, search: BankSearch, value: str) -> Rows:
    return rows.filter(question__in=_flagged(search, value))


def _seek(search: BankSearch, value: str) -> Sought | None:
    return "question__in", _flagged(search, value)


def _choices(_search: BankSearch) -> Choices:
    return [(ANY, _("any flag")), *((flag.value, _(flag.label)) for flag in Flag)]


FLAGGED = BankFilter(
    name="flag",
    label=gettext_lazy("Flag of a reviewer"),
    choices=_choices,
    narrow=_narrow,
    seek=_seek,
    of_coordinators=True,
)
