"""How far a round is, reviewer by reviewer, and how long its reviews took: reads for coordinators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Prefetch, Q, QuerySet

from annotation.case.kernels.durations import CLOCK_RULES, RULE, is_counted
from annotation.case.kernels.time_flags import EXCLUDING, TimeFlag
from annotation.enums import AssignmentState, KeySource, RoundState
from annotation.models import AnswerKey, Assignment, Question, Review, ReviewRound, User
from annotation.questionbank.answers import note_seen_keys
from annotation.review.assigning import assigned_now, reviewers_of
from annotation.review.kernels.transitions import UNREVIEWED
from annotation.review.outcomes import newest_reviews
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import median_estimate

State = AssignmentState


@dataclass(frozen=True)
class Lag:
    """Fewer reviews are in than somebody who works evenly until the due date would have submitted."""

    n_expected: int
    is_overdue: bool


@dataclass(frozen=True)
class ReviewerProgress:
    """One reviewer in one round. ``last_seen`` is when they last opened, answered, skipped or submitted a question."""

    person: User
    n_all: int
    n_submitted: int
    n_answered: int
    n_skipped: int
    n_waiting: int
    n_returned: int
    last_seen: datetime | None
    has_left: bool
    lag: Lag | None = None  # where the round has a due date; see annotation.review.due

    @property
    def n_to_do(self) -> int:
        """What waits for the person; what was handed back waits for somebody else."""
        return self.n_answered + self.n_skipped + self.n_waiting

    @property
    def n_open(self) -> int:
        return self.n_to_do + self.n_returned


def standings(review_round: ReviewRound) -> list[ReviewerProgress]:
    """Everybody who has, had or may be given questions in the round, by name; four queries."""
    rows = Assignment.objects.filter(round=review_round).order_by().values("reviewer")
    counted = {
        row["reviewer"]: row
        for row in rows.annotate(
            **{f"n_{state.value}": Count("pk", filter=Q(state=state)) for state in State},
            **{f"last_{place}": Max(field) for place, field in enumerate(_MOMENTS)},
        )
    }
    submitted = dict(rows.values_list("reviewer").annotate(Max("reviews__submitted_at")))
    present = {person.pk: person for person in reviewers_of(review_round)}
    everybody = {**User.objects.in_bulk(set(counted) - set(present)), **present}
    return sorted(
        (_standing(person, counted.get(pk, {}), submitted.get(pk), pk in present) for pk, person in everybody.items()),
        key=lambda one: (one.has_left, one.person.name, one.person.email),
    )


COUNTED = (State.SUBMITTED, State.ANSWERED, State.SKIPPED, State.WAITING, State.RETURNED)
_MOMENTS = ("opened_at", "skipped_at", "report_opened_at", "blind_answer__answered_at")


def _standing(
    person: User, row: Mapping[str, object], submitted: datetime | None, is_present: bool
) -> ReviewerProgress:
    def n(state: State) -> int:
        count = row.get(f"n_{state.value}", 0)
        return count if isinstance(count, int) else 0

    moments = [row.get(f"last_{place}") for place in range(len(_MOMENTS))] + [submitted]
    numbers = {state: n(state) for state in COUNTED}
    return ReviewerProgress(
        person=person,
        n_all=sum(numbers.values()),
        n_submitted=numbers[State.SUBMITTED],
        n_answered=numbers[State.ANSWERED],
        n_skipped=numbers[State.SKIPPED],
        n_waiting=numbers[State.WAITING],
        n_returned=numbers[State.RETURNED],
        last_seen=max((moment for moment in moments if isinstance(moment, datetime)), default=None),
        has_left=not is_present,
    )


def may_see_outcomes(person: User, review_round: ReviewRound) -> bool:
    """Whoever reviews in a round stays blinded to what others said until it closes, whatever else they may."""
    if review_round.state == RoundState.CLOSED:
        return True
    return not assigned_now(review_round).filter(reviewer=person).exists()


def open_assignments(review_round: ReviewRound, person: User) -> QuerySet[Assignment]:
    """What this reviewer still has to do or handed back, in their order."""
    rows = Assignment.objects.filter(round=review_round, reviewer=person, state__in=UNREVIEWED)
    return rows.select_related("revision__question").order_by("position")


def read_keys(
    review_round: ReviewRound, reviews: Sequence[Assignment], *, person: User, at: datetime
) -> dict[int, str]:
    """The keys of these reviews by revision, for a coordinator of the round; who has read them is noted."""
    revisions = [one.revision_id for one in reviews]
    questions = Question.objects.filter(pk__in={one.revision.question_id for one in reviews})
    note_seen_keys(person, questions, source=KeySource.REVIEWS, subject=review_round, at=at)
    return dict(AnswerKey.objects.filter(revision__in=revisions).values_list("revision_id", "key"))


def past_reviews(review_round: ReviewRound, person: User) -> QuerySet[Assignment]:
    """What this reviewer submitted, newest first; ``versions`` holds the versions of each review, newest first."""
    versions = Prefetch("reviews", Review.objects.order_by("-version"), to_attr="versions")
    return (
        Assignment.objects.filter(round=review_round, reviewer=person, state=State.SUBMITTED)
        .select_related("revision__question__bank", "blind_answer")
        .annotate(last_submitted_at=Max("reviews__submitted_at"))
        .order_by("-last_submitted_at", "-pk")
        .prefetch_related(versions)
    )


@dataclass(frozen=True)
class RoundTimes:
    """Active times in ms, each by the rule under which it was stored.

    A time without a value or with an excluding flag is counted beside them.
    """

    rule: str
    active: Estimate
    n_undefined: int
    excluded: list[tuple[TimeFlag, int]]  # a review may carry several of the flags
    n_unreadable: int  # reviews with an image that could not be read


def round_times(review_round: ReviewRound) -> RoundTimes:
    """From the newest version of each submitted review, in one query."""
    columns = ("active_ms", "time_rule", "time_flags", "unreadable")
    rows = list(newest_reviews(review_round).order_by().values_list(*columns))
    flags = Counter(flag for _ms, _rule, stored, _images in rows for flag in stored)
    timed = [(ms, rule) for ms, rule, stored, _images in rows if rule in CLOCK_RULES and is_counted(ms, stored)]
    return RoundTimes(
        rule=", ".join(sorted({rule for _ms, rule in timed})) or RULE,
        active=median_estimate([ms for ms, _rule in timed if ms is not None]),
        n_undefined=sum(ms is None for ms, *_rest in rows),
        excluded=[(flag, flags[flag]) for flag in TimeFlag if flag in EXCLUDING and flags[flag]],
        n_unreadable=sum(bool(images) for *_rest, images in rows),
    )
