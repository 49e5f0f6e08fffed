"""How far adjudication is: for the page of a round, for an adjudicator, and for their home page."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.enums import QuestionState, Role, RoundState
from annotation.models import ReviewRound, Settlement, User
from annotation.people.open_work import NextStep, WorkItem, WorkSection
from annotation.review.ending import disputed, reasons_text
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

SHOWN = 200


class SettledQuestion(Struct, frozen=True):
    """One question of a round, with what was decided about it and why."""

    settlement: Settlement
    reasons: str  # why it did not settle by the rule; empty where it did

    @property
    def label(self) -> str:
        return _(QuestionState(self.settlement.outcome).label)

    @property
    def is_waiting(self) -> bool:
        return self.settlement.outcome == QuestionState.DISPUTED


class Settling(Struct, frozen=True):
    """What the reviews of a round settled, and what adjudicators did with the rest."""

    rule: str
    by_rule: Estimate  # of the reviewed questions
    n_waiting: int
    n_decided: int
    n_against_all: int
    n_unreviewed: int
    unsettled: list[SettledQuestion]  # waiting ones first; at most SHOWN
    n_unsettled: int


def settling_of(review_round: ReviewRound) -> Settling | None:
    """None before the independent reviews are complete."""
    rows = Settlement.objects.filter(round=review_round)
    first = rows.values_list("rule", flat=True).first()
    if first is None:
        return None
    counts = rows.aggregate(
        n=Count("pk"),
        n_waiting=Count("pk", filter=Q(outcome=QuestionState.DISPUTED)),
        n_decided=Count("pk", filter=~Q(decision="")),
        n_against_all=Count("pk", filter=Q(against_all=True)),
    )
    n, n_unsettled = counts.pop("n"), counts["n_waiting"] + counts["n_decided"]
    return Settling(
        rule=first,
        by_rule=share(n - n_unsettled, n),
        n_unreviewed=review_round.plan.questions.count() - n,
        unsettled=_unsettled(review_round, rows),
        n_unsettled=n_unsettled,
        **counts,
    )


def _unsettled(review_round: ReviewRound, rows: QuerySet[Settlement]) -> list[SettledQuestion]:
    waiting_or_decided = rows.filter(Q(outcome=QuestionState.DISPUTED) | ~Q(decision=""))
    listed = waiting_or_decided.select_related("revision__question__bank", "assignment__reviewer")
    listed = listed.order_by("decision", "-against_all", "revision__question__number")[:SHOWN]
    wanted = review_round.reviewers_per_question
    return [SettledQuestion(one, reasons_text(one.reasons, wanted)) for one in listed]


class OwnAdjudication(Struct, frozen=True):
    """What one adjudicator did in a round, and what is left for all of them."""

    n_decided: int
    n_waiting: int
    decided: list[Settlement]


def own_adjudication(review_round: ReviewRound, adjudicator: User) -> OwnAdjudication:
    mine = Settlement.objects.filter(round=review_round, assignment__reviewer=adjudicator).exclude(decision="")
    decided = list(mine.select_related("revision__question", "assignment").order_by("-decided_at")[:SHOWN])
    return OwnAdjudication(mine.count(), disputed(review_round).count(), decided)


def adjudication_work(person: User, at: datetime) -> WorkSection | None:
    """The section of the home page of an adjudicator."""
    rounds = ReviewRound.objects.filter(
        state=RoundState.ADJUDICATION, memberships__user=person, memberships__role=Role.ADJUDICATOR
    ).annotate(
        n_waiting=Count("settlements", filter=Q(settlements__outcome=QuestionState.DISPUTED), distinct=True),
        n_decided=Count("settlements", filter=~Q(settlements__decision=""), distinct=True),
    )
    items, step = [], None
    for one in rounds.order_by("completed_at"):
        url = reverse("adjudication", args=[one.slug])
        items.append(WorkItem(one.name, url, one.n_decided, one.n_decided + one.n_waiting))
        if step is None and one.n_waiting:
            sentence = ngettext(
                "%(n)s question waits for an adjudicator in “%(round)s”.",
                "%(n)s questions wait for an adjudicator in “%(round)s”.",
                one.n_waiting,
            )
            words = sentence % {"n": one.n_waiting, "round": one.name}
            step = NextStep(_("Adjudicate"), words, reverse("adjudication-next", args=[one.slug]), is_act=True)
    return WorkSection(_("Adjudication"), items, step, is_own=True) if items else None
