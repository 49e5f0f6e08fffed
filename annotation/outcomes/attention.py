"""What needs a coordinator's attention, at home and by mail: who is late or stuck, what waits or is disputed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.enums import AssignmentState, QuestionState, Role, RoundState
from annotation.models import Assignment, CalibrationResult, ReviewRound, Settlement, User
from annotation.people.mailing import can_send, send_email
from annotation.people.open_work import WorkItem, WorkSection
from annotation.review.kernels.transitions import UNFINISHED
from annotation.review.kernels.visibility import OthersPart, visible_of_others
from annotation.review.onlookers import onlookers
from annotation.review.reviewer_progress import n_expected
from annotation.site.permissions import site_roles

STUCK_AFTER = timedelta(days=3)
LATELY = timedelta(days=1)
MOST_ROUNDS = 50


@dataclass(frozen=True)
class Attention:
    """One thing that needs the attention of a coordinator of a round."""

    review_round: ReviewRound
    tag: str
    tone: str
    sentence: str
    part: str = ""  # of the page of the round


def attention_of(person: User, at: datetime) -> list[Attention]:
    """Of the rounds that this person coordinates, the newest first; nothing that judging in one hides from them."""
    rounds = list(_coordinated(person)[:MOST_ROUNDS])
    if not rounds:
        return []
    open_rounds = [one for one in rounds if one.state == RoundState.OPEN]
    ended = [one for one in rounds if one.state in (RoundState.COMPLETE, RoundState.ADJUDICATION)]
    person_in = onlookers(person, ReviewRound.objects.filter(pk__in=[one.pk for one in rounds]))
    judged = {pk for pk, one in person_in.items() if one.reviews or one.adjudicates}
    seen = [one for one in ended if OthersPart.OUTCOMES in visible_of_others(person_in[one.pk])]
    return [*_of_reviewers(open_rounds, judged, at), *_of_settling(seen, at)]


def _coordinated(person: User) -> QuerySet[ReviewRound]:
    rows = ReviewRound.objects.filter(archived_at=None).exclude(state__in=(RoundState.DRAFT, RoundState.CLOSED))
    if Role.COORDINATOR not in site_roles(person):
        rows = rows.filter(memberships__user=person, memberships__role=Role.COORDINATOR)
    return rows.order_by("-opened_at", "-pk")


def _of_reviewers(rounds: Sequence[ReviewRound], judged: set[int], at: datetime) -> list[Attention]:
    """Late, stuck, handed back, not calibrated; and rounds in which everything is in. Two queries."""
    if not rounds:
        return []
    by_pk = {one.pk: one for one in rounds}
    rows = (
        Assignment.objects.filter(round__in=by_pk)
        .exclude(state=AssignmentState.WITHDRAWN)
        .order_by()
        .values("round", "reviewer__name")
        .annotate(
            n_all=Count("pk", filter=~Q(state=AssignmentState.RETURNED)),
            n_submitted=Count("pk", filter=Q(state=AssignmentState.SUBMITTED)),
            n_to_do=Count("pk", filter=Q(state__in=UNFINISHED)),
            n_returned=Count("pk", filter=Q(state=AssignmentState.RETURNED)),
            opened=Max("opened_at"),
            answered=Max("blind_answer__answered_at"),
        )
        .order_by("reviewer__name")
    )
    of_round: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        of_round[row["round"]].append(row)
    failed = _not_passed(set(by_pk) - judged)
    found = []
    for one in rounds:
        people = of_round[one.pk]
        found += _late(one, people, at)
        idle = [row["reviewer__name"] for row in people if row["n_to_do"] and _is_idle(one, row, at)]
        if idle:
            sentence = _("Nothing for %(n)s days: %(names)s") % {"n": STUCK_AFTER.days, "names": ", ".join(idle)}
            found.append(Attention(one, _("stuck"), "warn", sentence))
        if failed[one.pk]:
            sentence = _("Calibration not passed: %(names)s") % {"names": ", ".join(failed[one.pk])}
            found.append(Attention(one, _("stuck"), "warn", sentence, "#calibration-title"))
        if n_returned := sum(row["n_returned"] for row in people):
            sentence = ngettext("%(n)s question was handed back", "%(n)s questions were handed back", n_returned)
            found.append(Attention(one, _("waits"), "warn", sentence % {"n": n_returned}))
        if people and not n_returned and not any(row["n_to_do"] for row in people):
            found.append(Attention(one, _("waits"), "good", _("All reviews are in: end the independent reviews")))
    return found


def _late(review_round: ReviewRound, people: Sequence[Mapping[str, Any]], at: datetime) -> list[Attention]:
    opened_at, due_at = review_round.opened_at, review_round.due_at
    if opened_at is None or due_at is None:
        return []
    behind = [
        row["reviewer__name"]
        for row in people
        if row["n_to_do"] and row["n_submitted"] < n_expected(row["n_all"], opened_at, due_at, at)
    ]
    if not behind:
        return []
    tag, tone = (_("overdue"), "bad") if at >= due_at else (_("late"), "warn")
    return [Attention(review_round, tag, tone, _("Behind: %(names)s") % {"names": ", ".join(behind)})]


def _is_idle(review_round: ReviewRound, row: Mapping[str, Any], at: datetime) -> bool:
    moments = [one for one in (review_round.opened_at, row["opened"], row["answered"]) if one is not None]
    return bool(moments) and at - max(moments) >= STUCK_AFTER


def _not_passed(rounds: set[int]) -> dict[int, list[str]]:
    """Who has finished the calibration of a round, has not passed, and was not let in."""
    rows = CalibrationResult.objects.filter(
        round__in=rounds, passed=False, finished_at__isnull=False, let_in_at__isnull=True
    )
    found = defaultdict(list)
    for pk, name in rows.order_by("reviewer__name").values_list("round", "reviewer__name"):
        found[pk].append(name)
    return found


def _of_settling(seen: Sequence[ReviewRound], at: datetime) -> list[Attention]:
    waiting: Counter[int] = Counter()
    lately: Counter[int] = Counter()
    disputed = Settlement.objects.filter(round__in=seen, outcome=QuestionState.DISPUTED)
    for pk, settled_at in disputed.values_list("round", "settled_at"):
        waiting[pk] += 1
        lately[pk] += settled_at > at - LATELY
    found = []
    for one in seen:
        if n := lately[one.pk]:
            sentence = ngettext(
                "%(n)s question became disputed since yesterday", "%(n)s questions became disputed since yesterday", n
            )
            found.append(Attention(one, _("disputed"), "warn", sentence % {"n": n}, "#settling-title"))
        if one.state == RoundState.ADJUDICATION and waiting[one.pk]:
            sentence = ngettext(
                "%(n)s question waits for an adjudicator", "%(n)s questions wait for an adjudicator", waiting[one.pk]
            )
            found.append(Attention(one, _("waits"), "", sentence % {"n": waiting[one.pk]}, "#settling-title"))
        elif waiting[one.pk]:
            found.append(Attention(one, _("waits"), "warn", _("Adjudication can begin"), "#settling-title"))
        else:
            found.append(Attention(one, _("waits"), "good", _("Everything is settled: close the round")))
    return found


def attention_work(person: User, at: datetime) -> WorkSection | None:
    """The section of the home page of a coordinator."""
    items = [
        WorkItem(
            one.review_round.name,
            reverse("round", args=[one.review_round.slug]) + one.part,
            words=one.sentence,
            state=one.tag,
            tone=one.tone,
        )
        for one in attention_of(person, at)
    ]
    return WorkSection(_("Needs your attention"), items) if items else None


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
