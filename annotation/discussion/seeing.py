"""Who may know what was written about a question: rows for the rule in annotation.review.kernels.visibility."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from annotation.enums import AssignmentState, Role, RoundState
from annotation.models import Assignment, Membership, Question, User
from annotation.refusals import Refused
from annotation.review.kernels.transitions import GONE
from annotation.review.kernels.visibility import DiscussionPart, QuestionOnlooker, visible_of_discussion
from annotation.review.onlookers import QUESTION, withheld_questions
from annotation.site.permissions import is_coordinator


class DiscussionRefused(Refused):
    """Something cannot be written about a question, or not by this person; the sentence says why."""


def parts_of(person: User, question: Question) -> frozenset[DiscussionPart]:
    """What this person may know and do at the question."""
    rows = Assignment.objects.filter(reviewer=person, revision__question=question).exclude(state__in=GONE)
    states = list(rows.order_by().values_list("state", "round__state"))
    return visible_of_discussion(_onlooker(states, coordinates=is_coordinator(person)))


def _onlooker(states: Collection[tuple[str, str]], *, coordinates: bool) -> QuestionOnlooker:
    """``states``: of each assignment of the person at the question that is still theirs, and of its round."""
    return QuestionOnlooker(
        coordinates=coordinates,
        judges=any(of_round != RoundState.CLOSED for _state, of_round in states),
        has_judged=(AssignmentState.SUBMITTED, RoundState.CLOSED) in states,
    )


def people_of(question: Question) -> dict[User, frozenset[DiscussionPart]]:
    """Everybody who may read the comments of the question and can log in, by name, with what they may know of it."""
    rows = Assignment.objects.filter(revision__question=question).exclude(state__in=GONE).order_by()
    states: dict[int, list[tuple[str, str]]] = {}
    for person, *both in rows.values_list("reviewer", "state", "round__state"):
        states.setdefault(person, []).append((both[0], both[1]))
    coordinating = coordinators()
    people = User.objects.filter(Q(pk__in=coordinating) | Q(pk__in=states), is_active=True).order_by("name", "email")
    found = {
        one: visible_of_discussion(_onlooker(states.get(one.pk, []), coordinates=one.pk in coordinating))
        for one in people
    }
    return {one: parts for one, parts in found.items() if DiscussionPart.COMMENTS in parts}


def coordinators() -> set[int]:
    """Those of the site, whose names everybody may read who may read their comments."""
    return set(Membership.objects.filter(role=Role.COORDINATOR, round=None).values_list("user", flat=True))


def open_questions(person: User) -> Q:
    """Of rows with a ``question``: those at which the person may read comments, as ``parts_of`` says."""
    open_to = ~Q(question__in=withheld_questions(person))
    if is_coordinator(person):
        return open_to
    over = {"reviewer": person, "state": AssignmentState.SUBMITTED, "round__state": RoundState.CLOSED}
    return open_to & Q(question__in=Assignment.objects.filter(**over).order_by().values(QUESTION))
