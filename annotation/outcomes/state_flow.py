"""How the questions of rounds went: drawn, reviewed, changed, and what they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Max, Q

from annotation.enums import AssignmentState, ImportState, QuestionState
from annotation.models import Assignment, ReviewRound, SampledQuestion

# In the order of a life that goes well, then the others.
ORDER = (
    QuestionState.ACCEPTED,
    QuestionState.REVISED,
    QuestionState.NEEDS_REVISION,
    QuestionState.DISPUTED,
    QuestionState.IN_REVIEW,
    QuestionState.IMPORTED,
    QuestionState.REJECTED,
    QuestionState.WITHDRAWN,
)


@dataclass(frozen=True)
class FlowCount:
    """Of n questions, how many have another wording than the first that was drawn for one of the rounds."""

    n: int = 0
    n_changed: int = 0

    def and_one(self, changed: bool) -> FlowCount:
        return replace(self, n=self.n + 1, n_changed=self.n_changed + changed)


@dataclass(frozen=True)
class StateFlow:
    """Questions, each once, however many of the rounds it was drawn for."""

    drawn: FlowCount
    reviewed: FlowCount
    now: list[tuple[QuestionState, FlowCount]]  # states that occur


@dataclass
class _Life:
    state: str
    first: int  # number of the first wording that was drawn
    newest: int
    reviewed: bool


def state_flow(rounds: Sequence[ReviewRound]) -> StateFlow:
    """In two queries. An import that brought another wording changes a question, too."""
    submitted = Assignment.objects.filter(round__in=rounds, state=AssignmentState.SUBMITTED)
    reviewed = set(submitted.order_by().values_list("revision_id", flat=True))
    there = Q(revision__question__revisions__bank_import__state=ImportState.PUBLISHED)
    rows = (
        SampledQuestion.objects.filter(plan__in={one.plan_id for one in rounds})
        .order_by()
        .annotate(newest=Max("revision__question__revisions__number", filter=there))
    )
    lives: dict[int, _Life] = {}
    values = ("revision__question_id", "revision__question__state", "revision_id", "revision__number", "newest")
    for question, state, revision, number, newest in rows.values_list(*values):
        one = lives.setdefault(question, _Life(str(state), number, newest or number, reviewed=False))
        one.first = min(one.first, number)
        one.reviewed |= revision in reviewed
    return _counted(list(lives.values()))


def _counted(lives: Sequence[_Life]) -> StateFlow:
    drawn, seen, now = FlowCount(), FlowCount(), dict.fromkeys(ORDER, FlowCount())
    for one in lives:
        changed = one.newest > one.first
        drawn = drawn.and_one(changed)
        seen = seen.and_one(changed) if one.reviewed else seen
        now[QuestionState(one.state)] = now[QuestionState(one.state)].and_one(changed)
    return StateFlow(drawn, seen, [(state, count) for state, count in now.items() if count.n])
