"""What a reviewer may know of their own reviews: how long they take, and what their questions came to be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.case.kernels.durations import CLOCK_RULES
from annotation.case.kernels.time_flags import is_counted
from annotation.enums import AssignmentState, QuestionState, RoundState, RoundSteps, Verdict
from annotation.leaving.open_work import WorkItem, WorkSection
from annotation.models import Assignment, Review, ReviewRound, Settlement, User
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
    cases = case_minutes(Review.objects.filter(assignment__reviewer=person), most=MOST_TIMES)
    return median_estimate([minutes for _round, minutes in cases])


def case_minutes(reviews: QuerySet[Review], *, most: int) -> list[tuple[int, float]]:
    """Round and active minutes of the newest of these reviews, in their first version, both steps together.

    A case without a counted time of each step that its round asks for is left out.
    """
    rows = (
        reviews.filter(version=1, time_rule__in=CLOCK_RULES)
        .order_by("-pk")
        .annotate(
            round_id=F("assignment__round"),
            steps=F("assignment__round__steps"),
            blind_ms=F("assignment__blind_answer__active_ms"),
            blind_flags=F("assignment__blind_answer__time_flags"),
        )
        .values_list("round_id", "steps", "active_ms", "time_flags", "blind_ms", "blind_flags")
    )
    found = []
    for round_id, steps, judge_ms, flags, blind_ms, blind_flags in rows[:most]:
        answer_ms, answer_flags = (0, []) if steps == RoundSteps.OPEN else (blind_ms, blind_flags or [])
        if judge_ms is not None and answer_ms is not None and is_counted(judge_ms, [*flags, *answer_flags]):
            found.append((round_id, (judge_ms + answer_ms) / 60_000))
    return found


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
