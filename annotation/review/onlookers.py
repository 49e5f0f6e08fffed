"""Who judges, and what somebody who coordinates may therefore know: rows for the rules in kernels/visibility.py.

What a reviewer may know of their own reviews: how long they take, and what their questions came to be.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.case.kernels.durations import CLOCK_RULES, is_counted
from annotation.enums import EXPLANATIONS, AssignmentState, QuestionState, Role, RoundState, RoundSteps, Verdict
from annotation.models import (
    Assignment,
    Finding,
    JudgedPair,
    Membership,
    PairJudgement,
    PairTrial,
    Question,
    QuestionBank,
    Review,
    ReviewRound,
    Revision,
    Settlement,
    User,
)
from annotation.people.open_work import WorkItem, WorkSection
from annotation.questionbank.kernels.rules import BANKWIDE
from annotation.review.kernels.transitions import GONE
from annotation.review.kernels.visibility import Onlooker, OthersPart, visible_of_others
from annotation.review.outcomes import newest_reviews
from annotation.site.permissions import is_coordinator
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import median_estimate

QUESTION = "revision__question"


# --- of rounds ------------------------------------------------------------------------------------
def onlookers(person: User | None, rounds: QuerySet[ReviewRound]) -> dict[int, Onlooker]:
    """This person, who coordinates these rounds, in each by its id; one query.

    None means everybody who coordinates, as if they all judged in every round.
    """
    return {one.pk: onlooker_of(one, person) for one in with_own_part(person, rounds.order_by())}


def with_own_part(person: User | None, rounds: QuerySet[ReviewRound]) -> QuerySet[ReviewRound]:
    """With what ``onlooker_of`` reads."""
    mine = Assignment.objects.filter(round=OuterRef("pk"), reviewer=person).exclude(state=AssignmentState.WITHDRAWN)
    own = Membership.objects.filter(round=OuterRef("pk"), user=person, role=Role.ADJUDICATOR)
    return rounds.annotate(is_reviewer=Exists(mine), is_adjudicator=Exists(own))


def onlooker_of(one: ReviewRound, person: User | None) -> Onlooker:
    return Onlooker(
        coordinates=True,
        reviews=person is None or one.is_reviewer,  # type: ignore[attr-defined]
        adjudicates=one.is_adjudicator,  # type: ignore[attr-defined]
        is_closed=one.state == RoundState.CLOSED,
    )


def rounds_with_outcomes_for(person: User | None, rounds: QuerySet[ReviewRound]) -> set[int]:
    """Those of which this person, who coordinates them, may know the answers of others; see ``onlookers``."""
    found = onlookers(person, rounds)
    return {pk for pk, onlooker in found.items() if OthersPart.OUTCOMES in visible_of_others(onlooker)}


def may_see_outcomes(person: User, review_round: ReviewRound) -> bool:
    """Of somebody who may coordinate the round: whoever judges in it stays blinded until it closes."""
    return bool(rounds_with_outcomes_for(person, ReviewRound.everywhere.filter(pk=review_round.pk)))


def rounds_in_sight(person: User, bank: QuestionBank) -> tuple[list[ReviewRound], int]:
    """The rounds of a bank that this person coordinates and whose outcomes they may see, newest first;
    and how many of those that they coordinate are hidden from them, since they judge in them. Drafts are left out, and
    rounds that grade explanations of models.
    """
    begun = ReviewRound.objects.filter(plan__bank=bank).exclude(state=RoundState.DRAFT).exclude(plan__rule=EXPLANATIONS)
    if not is_coordinator(person):
        mine = Membership.objects.filter(user=person, role=Role.COORDINATOR, round__isnull=False)
        begun = begun.filter(pk__in=mine.values("round"))
    seen = rounds_with_outcomes_for(person, begun)
    theirs = list(begun.select_related("plan__bank").order_by("-created_at", "-pk"))
    in_sight = [one for one in theirs if one.pk in seen]
    return in_sight, len(theirs) - len(in_sight)


# --- of questions ---------------------------------------------------------------------------------
def _under_way() -> QuerySet[Assignment]:
    return Assignment.objects.exclude(state__in=GONE).exclude(round__state=RoundState.CLOSED)


def judged_questions() -> QuerySet[Question]:
    """Those that anybody judges in a round under way: their reviews are not for everybody who coordinates."""
    return Question.objects.filter(pk__in=_under_way().order_by().values(QUESTION)).order_by()


def questions_hidden_from(person: User | None) -> QuerySet[Question]:
    """What no filter may tell this person of; None means everybody who coordinates."""
    return withheld_questions(person) if person else judged_questions()


def withheld_questions(person: User) -> QuerySet[Question]:
    """Those of which even a coordinator must not hear: to be excluded from what is searched, counted or changed."""
    return Question.objects.filter(pk__in=_under_way().filter(reviewer=person).order_by().values(QUESTION)).order_by()


# --- of findings ---------------------------------------------------------------------------------
def findings_shown_to(person: User, found: QuerySet[Finding]) -> QuerySet[Finding]:
    """Those of which a coordinator may know: none of a question that they judge, or judge the likeness of."""
    withheld = withheld_questions(person)
    found = found.exclude(revision__question__in=withheld).exclude(other__question__in=withheld)
    return found.exclude(similarity_hidden_from(person))


# --- of similarity --------------------------------------------------------------------------------
def revisions_in_pairs_of(person: User) -> QuerySet[Revision]:
    """Wordings in the pairs of a trial that goes on and of which this person has not judged all yet."""
    done = PairJudgement.objects.filter(pair=OuterRef("pk"), judge=person)
    left = JudgedPair.objects.filter(~Exists(done), trial=OuterRef("pk"))
    mine = PairTrial.objects.filter(Q(first_judge=person) | Q(second_judge=person), ended_at=None)
    if not mine.exists():  # hardly anybody judges pairs: to ask first takes less time than the query without it
        return Revision.objects.none()
    trials = mine.filter(Exists(left)).order_by()
    pairs = JudgedPair.objects.filter(trial__in=trials.values("pk")).order_by()
    return Revision.objects.filter(Q(pk__in=pairs.values("first")) | Q(pk__in=pairs.values("second"))).order_by()


def similarity_hidden_from(person: User) -> Q:
    """Findings that tell how similar two questions are, of which this person still judges one with another."""
    hidden = revisions_in_pairs_of(person).values("pk")
    return Q(rule__in=BANKWIDE) & (Q(revision__in=hidden) | Q(other__in=hidden))


# --- What a reviewer may know of their own reviews: how long they take, and what their ------------
LATELY = timedelta(days=30)  # so long a closed round is named on the home page
MOST_TIMES = 1_000  # the newest reviews that the median looks at


class OwnReview(Struct, frozen=True):
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
