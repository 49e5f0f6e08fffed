"""What waits: for adjudicators, and for coordinators, at home and by mail, where who is late or stuck is told as well.

How far adjudication is: for the page of a round, for an adjudicator, and for their home page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.enums import QuestionState, Role, RoundState
from annotation.models import ReviewRound, Settlement, User
from annotation.outcomes.next_steps import RoundCounts, counts_of_rounds, next_of_round, not_calibrated
from annotation.people.mailing import can_send, send_email
from annotation.people.open_work import NextStep, WorkItem, WorkSection, first_due
from annotation.review.ending import disputed, reasons_text
from annotation.review.kernels.visibility import OthersPart, visible_of_others
from annotation.review.onlookers import onlooker_of, with_own_part
from annotation.review.reviewer_progress import n_expected
from annotation.site.permissions import site_roles
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


# --- of a coordinator ----------------------------------------------------------------------------------
STUCK_AFTER = timedelta(days=3)
LATELY = timedelta(days=1)
MOST_ROUNDS = 50


class Attention(Struct, frozen=True):
    """One thing that needs the attention of a coordinator of a round."""

    review_round: ReviewRound
    tag: str
    tone: str
    sentence: str
    part: str = ""  # of the page of the round


def attention_of(person: User, at: datetime) -> list[Attention]:
    """Of the rounds that this person coordinates, the newest first; nothing that judging in one hides from them."""
    return _looked_after(person, at)[0]


def _looked_after(person: User, at: datetime) -> tuple[list[Attention], list[NextStep]]:
    """What needs attention once it is open, and what comes next in each round."""
    rounds = list(with_own_part(person, _coordinated(person))[:MOST_ROUNDS])
    if not rounds:
        return [], []
    open_rounds = [one for one in rounds if one.state == RoundState.OPEN]
    ended = [one for one in rounds if one.state in (RoundState.COMPLETE, RoundState.ADJUDICATION)]
    person_in = {one.pk: onlooker_of(one, person) for one in rounds}
    judged = {pk for pk, one in person_in.items() if one.reviews or one.adjudicates}
    seen = [one for one in ended if OthersPart.OUTCOMES in visible_of_others(person_in[one.pk])]
    known = {one.pk for one in seen} | ({one.pk for one in open_rounds} - judged)
    counts = counts_of_rounds(rounds, known=known)
    steps = {one.pk: next_of_round(one, counts[one.pk]) for one in rounds}
    found = [*_of_reviewers(open_rounds, counts, at), *_disputed_lately(seen, at)]
    said = {(one.review_round.pk, one.sentence) for one in found}
    for one in [*open_rounds, *ended]:
        step = steps[one.pk]
        if step and (step.is_due or one.state == RoundState.ADJUDICATION) and (one.pk, step.sentence) not in said:
            tone = "good" if step.is_act else "warn" if step.is_due else ""
            part = "" if step.is_act else "#" + step.url.partition("#")[2]
            found.append(Attention(one, _("waits"), tone, step.sentence, part))
    return found, [step for step in steps.values() if step]


def _coordinated(person: User) -> QuerySet[ReviewRound]:
    rows = ReviewRound.objects.filter(archived_at=None).exclude(state=RoundState.CLOSED)
    if Role.COORDINATOR not in site_roles(person):
        rows = rows.filter(memberships__user=person, memberships__role=Role.COORDINATOR)
    return rows.order_by(F("opened_at").desc(nulls_last=True), "-pk")


def _of_reviewers(rounds: Sequence[ReviewRound], counts: Mapping[int, RoundCounts], at: datetime) -> list[Attention]:
    """Late, stuck, not calibrated."""
    found = []
    for one in rounds:
        people = counts[one.pk].reviewers
        found += _late(one, people, at)
        idle = [row["reviewer__name"] for row in people if row["n_to_do"] and _is_idle(one, row, at)]
        if idle:
            sentence = _("Nothing for %(n)s days: %(names)s") % {"n": STUCK_AFTER.days, "names": ", ".join(idle)}
            found.append(Attention(one, _("stuck"), "warn", sentence))
        if names := counts[one.pk].uncalibrated:
            found.append(Attention(one, _("stuck"), "warn", not_calibrated(names), "#calibration-title"))
    return found


def _late(review_round: ReviewRound, people: Sequence[Mapping[str, Any]], at: datetime) -> list[Attention]:
    opened_at, due_at = review_round.opened_at, review_round.due_at
    if opened_at is None or due_at is None:
        return []
    behind = [
        row["reviewer__name"]
        for row in people
        if row["n_to_do"]
        and row["n_submitted"] < n_expected(row["n_to_do"] + row["n_submitted"], opened_at, due_at, at)
    ]
    if not behind:
        return []
    tag, tone = (_("overdue"), "bad") if at >= due_at else (_("late"), "warn")
    return [Attention(review_round, tag, tone, _("Behind: %(names)s") % {"names": ", ".join(behind)})]


def _is_idle(review_round: ReviewRound, row: Mapping[str, Any], at: datetime) -> bool:
    moments = [one for one in (review_round.opened_at, row["opened"], row["answered"]) if one is not None]
    return bool(moments) and at - max(moments) >= STUCK_AFTER


def _disputed_lately(seen: Sequence[ReviewRound], at: datetime) -> list[Attention]:
    disputed = Settlement.objects.filter(round__in=seen, outcome=QuestionState.DISPUTED, settled_at__gt=at - LATELY)
    lately = Counter(disputed.values_list("round", flat=True))
    found = []
    for one in seen:
        if n := lately[one.pk]:
            sentence = ngettext(
                "%(n)s question became disputed since yesterday", "%(n)s questions became disputed since yesterday", n
            )
            found.append(Attention(one, _("disputed"), "warn", sentence % {"n": n}, "#settling-title"))
    return found


def attention_work(person: User, at: datetime) -> WorkSection | None:
    """The section of the home page of a coordinator."""
    found, steps = _looked_after(person, at)
    items = [
        WorkItem(
            one.review_round.name,
            reverse("round", args=[one.review_round.slug]) + one.part,
            words=one.sentence,
            state=one.tag,
            tone=one.tone,
        )
        for one in found
    ]
    return WorkSection(_("Needs your attention"), items, first_due(steps)) if found or steps else None


def send_digests(*, at: datetime) -> tuple[int, int]:
    """An e-mail with what needs their attention to each coordinator who wants one: how many sent, how many without.

    Nothing is sent without a mail server.
    """
    sent = nothing = 0
    if not can_send():
        return 0, 0
    for person in User.objects.filter(is_active=True, wants_digest=True).order_by("pk"):
        found = attention_of(person, at)
        if not found:
            nothing += 1
            continue
        lines = [(one, settings.PUBLIC_URL + reverse("round", args=[one.review_round.slug])) for one in found]
        body = render_to_string("annotation/rounds/_digest_mail.txt", {"lines": lines, "home": settings.PUBLIC_URL})
        send_email(_("Review rounds that need your attention"), body, person.email)
        sent += 1
    return sent, nothing
