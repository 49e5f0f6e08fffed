"""Who may know what was said about a question: rows for the rule in annotation.review.kernels.visibility."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from annotation.enums import AssignmentState, RoundState
from annotation.models import Assignment, Question, User
from annotation.refusals import Refused
from annotation.review.kernels.transitions import GONE
from annotation.review.kernels.visibility import DiscussionPart, QuestionOnlooker, visible_of_discussion
from annotation.site.permissions import is_coordinator

QUESTION = "revision__question"


class DiscussionRefused(Refused):
    """Something cannot be said about a question, or not by this person; the sentence says why."""


def parts_of(person: User, question: Question) -> frozenset[DiscussionPart]:
    """What this person may know and do at the question."""
    rows = Assignment.objects.filter(reviewer=person, revision__question=question).exclude(state__in=GONE)
    states = list(rows.order_by().values_list("state", "round__state"))
    onlooker = QuestionOnlooker(
        coordinates=is_coordinator(person),
        judges=any(of_round != RoundState.CLOSED for _state, of_round in states),
        has_judged=(AssignmentState.SUBMITTED, RoundState.CLOSED) in states,
    )
    return visible_of_discussion(onlooker)


def _judging(person: User) -> QuerySet[Assignment]:
    return Assignment.objects.filter(reviewer=person).exclude(state__in=GONE).exclude(round__state=RoundState.CLOSED)


def withheld_questions(person: User) -> QuerySet[Question]:
    """Those of which even a coordinator must not hear: to be excluded from what is searched, counted or changed."""
    return Question.objects.filter(pk__in=_judging(person).order_by().values(QUESTION)).order_by()


def coordinated(person: User, questions: Collection[int]) -> set[int]:
    """Of these, the ones of which the person, as a coordinator, may know everything."""
    if not is_coordinator(person):
        return set()
    judged = _judging(person).filter(revision__question__in=questions).order_by().values_list(QUESTION, flat=True)
    return set(questions) - set(judged)
