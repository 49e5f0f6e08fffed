"""A reviewer's own list: the rounds, the questions in their order, and which one comes next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Count, Q, QuerySet

from annotation.enums import AssignmentState, RoundState
from annotation.models import Assignment, BlindAnswer, ReviewRound, Revision, User
from annotation.review.kernels.transitions import GONE, IN_TURN, UNFINISHED
from annotation.review.locking import CASES
from annotation.site.kept_queries import KeptQuery, KeptSQL

N_AHEAD = 2  # cases that a page fetches and decodes before they are needed

Row = TypeVar("Row")


def _in_turn(rows: QuerySet[Assignment, Row], user: int, review_round: int) -> QuerySet[Assignment, Row]:
    mine = Assignment.objects.filter(state__in=IN_TURN, reviewer=user, round=review_round)
    return rows.filter(pk__in=mine.order_by("position").values("pk")[:_AT_MOST]).order_by("position")


def _skipped(rows: QuerySet[Assignment, Row], user: int, review_round: int) -> QuerySet[Assignment, Row]:
    mine = Assignment.objects.filter(state=AssignmentState.SKIPPED, reviewer=user, round=review_round)
    first = mine.order_by("skipped_at", "position").values("pk")[:_AT_MOST]
    return rows.filter(pk__in=first).order_by("skipped_at", "position")


_AT_MOST = N_AHEAD + 2  # the one to open, those to prepare, and the one that is left, which may stand first
_CASES_IN_TURN: KeptQuery[Assignment] = KeptQuery(lambda *mine: _in_turn(CASES, *mine), int, int)
_CASES_SKIPPED: KeptQuery[Assignment] = KeptQuery(lambda *mine: _skipped(CASES, *mine), int, int)
_EXAMS = Assignment.objects.values_list("pk", "revision__question__exam_id", "revision__question__exam__prior_id")
_EXAMS_IN_TURN: KeptQuery[tuple[int, int, int | None]] = KeptQuery(lambda *mine: _in_turn(_EXAMS, *mine), int, int)
_EXAMS_SKIPPED: KeptQuery[tuple[int, int, int | None]] = KeptQuery(lambda *mine: _skipped(_EXAMS, *mine), int, int)
# By hand: the database needs a tenth of the time that it takes to build this query from models.
GONE_WORDS = ", ".join(f"'{state}'" for state in GONE)
_PROGRESS = KeptSQL(f"""
    SELECT SUM(CASE WHEN position <= %s THEN 1 ELSE 0 END),
           SUM(CASE WHEN state = '{AssignmentState.SUBMITTED}' THEN 1 ELSE 0 END),
           COUNT(*),
           NOT EXISTS (
               SELECT 1 FROM {BlindAnswer._meta.db_table} answer
               JOIN {Assignment._meta.db_table} own ON own.id = answer.assignment_id
               WHERE own.reviewer_id = %s
           )
    FROM {Assignment._meta.db_table}
    WHERE reviewer_id = %s AND round_id = %s AND state NOT IN ({GONE_WORDS})
""")  # noqa: S608 - words and a table of ours


@dataclass(frozen=True)
class RoundProgress:
    """How far a reviewer is in a round. ``place`` is the place of one question in the reviewer's own order."""

    place: int
    n_submitted: int
    n_all: int
    is_new: bool  # the reviewer has not answered a question in any round yet


def own_assignments(user: User, review_round: ReviewRound) -> QuerySet[Assignment]:
    """One person's assignments in a round, in their order, without those withdrawn or handed back."""
    return Assignment.objects.filter(reviewer=user, round=review_round).exclude(state__in=GONE).order_by("position")


def next_assignment(user: User, review_round: ReviewRound, *, leaving: Assignment | None = None) -> Assignment | None:
    """The next unfinished question in this person's order, the skipped ones last; None when all is submitted.

    ``leaving`` is the question that is on screen now: it does not come next, though it may stand first in the order.
    """
    return next(iter(next_assignments(user, review_round, leaving=leaving, most=1)), None)


def next_assignments(
    user: User, review_round: ReviewRound, *, leaving: Assignment | None = None, most: int
) -> list[Assignment]:
    """The next unfinished questions in this person's order, the skipped ones last. The rows are as CASES loads them.

    There are never more than one and N_AHEAD.
    """
    found: list[Assignment] = []
    for rows in (_CASES_IN_TURN, _CASES_SKIPPED):
        if len(found) < most:
            first = rows(user.pk, review_round.pk)
            found += [assignment for assignment in first if leaving is None or assignment.pk != leaving.pk]
    return found[:most]


def next_exams(user: User, review_round: ReviewRound, *, leaving: Assignment, most: int) -> list[tuple[int, ...]]:
    """The exams of the questions that come next, in their order; questions may share one. Never more than N_AHEAD.

    Each with its prior, where it has one.
    """
    found: list[tuple[int, ...]] = []
    for rows in (_EXAMS_IN_TURN, _EXAMS_SKIPPED):
        if len(found) < most:
            mine = [exams for pk, *exams in rows(user.pk, review_round.pk) if pk != leaving.pk]
            found += [tuple(exam for exam in exams if exam is not None) for exams in mine]
    return found[:most]


def progress_at(assignment: Assignment) -> RoundProgress:
    """Place and counts in the reviewer's own list, in one query."""
    reviewer = assignment.reviewer_id
    ((place, n_submitted, n_all, is_new),) = _PROGRESS(assignment.position, reviewer, reviewer, assignment.round_id)
    return RoundProgress(place=place or 0, n_submitted=n_submitted or 0, n_all=n_all, is_new=bool(is_new))


def rounds_of(user: User) -> QuerySet[ReviewRound]:
    """The rounds in which this person has questions, open ones first, with counts per state."""
    mine = Q(assignments__reviewer=user, assignments__state__in=(*UNFINISHED, AssignmentState.SUBMITTED))
    return (
        ReviewRound.objects.filter(mine)
        .exclude(state=RoundState.DRAFT)
        .filter(archived_at__isnull=True)
        .annotate(
            n_all=Count("assignments", filter=mine),
            n_submitted=Count("assignments", filter=mine & Q(assignments__state=AssignmentState.SUBMITTED)),
            n_skipped=Count("assignments", filter=mine & Q(assignments__state=AssignmentState.SKIPPED)),
        )
        .order_by("-state", "-opened_at")  # "open" after "closed" in the alphabet
    )


def counts_by_state(user: User, review_round: ReviewRound) -> Mapping[str, int]:
    rows = own_assignments(user, review_round).order_by().values_list("state").annotate(n=Count("pk"))
    return dict(rows)


def categories_of(bank_id: int) -> list[str]:
    """The categories in use in a bank, in order; one step in the index for each, so a large bank costs no more."""
    found: list[str] = []
    last = ""
    while True:
        following = (
            Revision.objects.filter(bank_id=bank_id, category__gt=last)
            .order_by("category")
            .values_list("category", flat=True)
            .first()
        )
        if following is None:
            return found
        found.append(following)
        last = following
