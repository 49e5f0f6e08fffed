"""What a reviewer may know of their own reviews: how long they take, and what their questions came to be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.case.kernels.durations import CLOCK_RULES
from annotation.case.kernels.time_flags import is_counted
from annotation.enums import AssignmentState, QuestionState, RoundState, Verdict
from annotation.models import Assignment, Review, ReviewRound, Settlement, User
from annotation.people.open_work import WorkItem, WorkSection
from annotation.review.kernels.visibility import Onlooker, OthersPart, visible_of_others
from annotation.review.outcomes import newest_reviews
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import median_estimate

LATELY = timedelta(days=30)  # so long a closed round is named on the home page
MOST_TIMES = 1_000  # the newest reviews that the median looks at


@dataclass(frozen=True)
class OwnReview:
    """One review of a closed round, and what its question came to be there and since."""

    review: Review
    verdict: Verdict
    outcome: QuestionState | None  # None: not settled
    is_revised: bool


def own_minutes(person: User) -> Estimate:
    """The median active time of this person's reviews, blind answer and judgement together, in minutes."""
    rows = (
        Review.objects.filter(version=1, assignment__reviewer=person, time_rule__in=CLOCK_RULES)
        .order_by("-pk")
        .annotate(blind_ms=F("assignment__blind_answer__active_ms"), blind=F("assignment__blind_answer__time_flags"))
        .values_list("active_ms", "time_flags", "blind_ms", "blind")[:MOST_TIMES]
    )
    return median_estimate(
        [
            (judge_ms + (blind_ms or 0)) / 60_000
            for judge_ms, flags, blind_ms, blind_flags in rows
            if judge_ms is not None and is_counted(judge_ms, [*flags, *(blind_flags or ())])
        ]
    )


def sees_decisions(review_round: ReviewRound) -> bool:
    """Whether reviewers of this round see what became of their questions now."""
    onlooker = Onlooker(
        coordinates=False,
        reviews=True,
        adjudicates=False,
        is_closed=review_round.state == RoundState.CLOSED,
        shows_decisions=review_round.shows_decisions,
    )
    return OthersPart.DECISIONS in visible_of_others(onlooker)


def finished_work(person: User, at: datetime) -> WorkSection | None:
    """The section of the home page of a reviewer: rounds that closed lately and show what became of their questions."""
    submitted = Assignment.objects.filter(reviewer=person, state=AssignmentState.SUBMITTED)
    rounds = ReviewRound.objects.filter(
        state=RoundState.CLOSED,
        shows_decisions=True,
        archived_at=None,
        closed_at__gt=at - LATELY,
        pk__in=submitted.values("round"),
    )
    items = [
        WorkItem(one.name, reverse("review-decisions", args=[one.slug]), words=_("what became of your questions"))
        for one in rounds.order_by("-closed_at")
    ]
    return WorkSection(_("Rounds that are closed"), items, is_own=True) if items else None


def own_decisions(review_round: ReviewRound, person: User) -> list[OwnReview]:
    """What the questions that this person reviewed came to be, in their order. The caller asks sees_decisions."""
    outcomes = dict(Settlement.objects.filter(round=review_round).values_list("revision_id", "outcome"))
    mine = newest_reviews(review_round).filter(assignment__reviewer=person, assignment__state=AssignmentState.SUBMITTED)
    rows = mine.select_related("assignment__revision__question").order_by("assignment__position")
    return [
        OwnReview(
            one,
            Verdict(one.verdict),
            QuestionState(outcome) if (outcome := outcomes.get(one.assignment.revision_id)) else None,
            one.assignment.revision.superseded_by_id is not None,
        )
        for one in rows
    ]
