"""Moving questions through their life, by the table in kernels/states.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record_each
from annotation.enums import QuestionState
from annotation.models import AuditEvent, Edit, Question, Revision, User
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.states import states_before

AT_ONCE = 500  # ids in one statement
LISTED = 100  # numbers of questions that were left as they were, for each reason


@dataclass
class ManyChanged:
    """What an act on many questions did: how many it changed, and the numbers of those it left, by the reason."""

    n: int = 0
    left: dict[str, list[int]] = field(default_factory=dict)

    def leave(self, why: str, numbers: Iterable[int]) -> None:
        if more := list(numbers):
            self.left.setdefault(why, []).extend(more)

    def add(self, other: ManyChanged) -> None:
        self.n += other.n
        for why, numbers in other.left.items():
            self.leave(why, numbers)

    def as_json(self) -> dict[str, Any]:
        """With the first numbers of each reason."""
        left = {
            why: {"n": len(numbers), "numbers": sorted(numbers)[:LISTED]} for why, numbers in sorted(self.left.items())
        }
        return {"changed": self.n, "left": left}


def move_questions(revision_ids: Iterable[int], to: QuestionState) -> None:
    """The questions of which these are the current wordings, as far as the table lets them; the others stay.

    What was judged in an older wording says nothing about the question as it is now.
    """
    listed = sorted(revision_ids)
    for start in range(0, len(listed), AT_ONCE):
        current = Revision.objects.current().filter(pk__in=listed[start : start + AT_ONCE])
        ids = list(current.order_by().values_list("question", flat=True))
        Question.objects.filter(pk__in=ids, state__in=states_before(to)).update(state=to)


def withdrawal_reason(text: str) -> str:
    """As it is stored. Refused: none, and a long one."""
    reason = " ".join(text.replace("\x00", "").split())
    if not reason or len(reason) > 500:
        raise BankRefused("no_reason", _("Give a reason, of at most 500 characters."), status=422, field="reason")
    return reason


@transaction.atomic
def withdraw_question(question: Question, reason: str, *, actor: User, at: datetime) -> None:
    """No new sample draws it; rounds and studies that have it keep it. Refused without a reason, or twice."""
    if _locked([question])[0].state == QuestionState.WITHDRAWN:
        raise BankRefused("withdrawn", _("The question is withdrawn already."))
    withdraw_questions([question], reason, actor=actor, at=at)


@transaction.atomic
def bring_back_question(question: Question, *, actor: User, at: datetime) -> None:
    """As ``bring_back_questions``. Refused for one that is not withdrawn."""
    if _locked([question])[0].state != QuestionState.WITHDRAWN:
        raise BankRefused("not_withdrawn", _("The question is not withdrawn."))
    bring_back_questions([question], actor=actor, at=at)


@transaction.atomic
def withdraw_questions(questions: Iterable[Question], reason: str, *, actor: User, at: datetime) -> ManyChanged:
    """Each with its own row in the log; those that were withdrawn before are left. See ``_noted``."""
    facts, locked = {"reason": withdrawal_reason(reason)}, _locked(questions)
    fresh = [one for one in locked if one.state != QuestionState.WITHDRAWN]
    Question.objects.filter(pk__in=[one.pk for one in fresh]).update(state=QuestionState.WITHDRAWN)
    return _noted("question.withdrawn", locked, fresh, "withdrawn", actor, at, facts)


@transaction.atomic
def bring_back_questions(questions: Iterable[Question], *, actor: User, at: datetime) -> ManyChanged:
    """As imported, or as revised where a person wrote the current wording: they have to be reviewed again.

    Each with its own row in the log; those that are not withdrawn are left. See ``_noted``.
    """
    locked = _locked(questions)
    fresh = [one for one in locked if one.state == QuestionState.WITHDRAWN]
    withdrawn = Question.objects.filter(pk__in=[one.pk for one in fresh])
    edited = Edit.objects.filter(revision__in=Revision.objects.current().filter(question__in=fresh))
    revised = list(edited.values_list("revision__question", flat=True))
    withdrawn.filter(pk__in=revised).update(state=QuestionState.REVISED)
    withdrawn.exclude(pk__in=revised).update(state=QuestionState.IMPORTED)
    return _noted("question.brought_back", locked, fresh, "not_withdrawn", actor, at, {})


def _locked(questions: Iterable[Question]) -> list[Question]:
    rows = Question.objects.select_for_update(no_key=True).filter(pk__in=[one.pk for one in questions])
    return list(rows.order_by("pk"))


def _noted(
    act: str,
    asked: list[Question],
    fresh: list[Question],
    why_left: str,
    actor: User,
    at: datetime,
    facts: dict[str, Any],
) -> ManyChanged:
    """The same person at the same time is the same act: what it did in a run that was stopped counts as done by it."""
    changed = {one.public_id for one in fresh}
    if fresh:
        record_each(act, fresh, actor=actor, at=at, facts=facts)
    if len(fresh) < len(asked):
        left = [one.public_id for one in asked if one.public_id not in changed]
        before = AuditEvent.objects.filter(subject_type="question", subject_id__in=left, act=act, actor=actor, at=at)
        changed.update(before.values_list("subject_id", flat=True))
    done = ManyChanged(len(changed))
    done.leave(why_left, (one.number for one in asked if one.public_id not in changed))
    return done
