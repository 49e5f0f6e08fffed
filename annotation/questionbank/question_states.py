"""Moving questions through their life, by the table in kernels/states.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import QuestionState
from annotation.models import Edit, Question, Revision, User
from annotation.questionbank.kernels.states import states_before
from annotation.questionbank.kernels.strictjson import BankRefused

AT_ONCE = 500  # ids in one statement


def move_questions(revision_ids: Iterable[int], to: QuestionState) -> None:
    """The questions of which these are the current wordings, as far as the table lets them; the others stay.

    What was judged in an older wording says nothing about the question as it is now.
    """
    listed = sorted(revision_ids)
    for start in range(0, len(listed), AT_ONCE):
        current = Revision.objects.current().filter(pk__in=listed[start : start + AT_ONCE])
        ids = list(current.order_by().values_list("question", flat=True))
        Question.objects.filter(pk__in=ids, state__in=states_before(to)).update(state=to)


@transaction.atomic
def withdraw_question(question: Question, reason: str, *, actor: User, at: datetime) -> None:
    """No new sample draws it; rounds and studies that have it keep it. Refused without a reason, or twice."""
    text = " ".join(reason.replace("\x00", "").split())
    if not text or len(text) > 500:
        raise BankRefused("no_reason", _("Give a reason, of at most 500 characters."), status=422, field="reason")
    locked = Question.objects.select_for_update().get(pk=question.pk)
    if locked.state == QuestionState.WITHDRAWN:
        raise BankRefused("withdrawn", _("The question is withdrawn already."))
    Question.objects.filter(pk=question.pk).update(state=QuestionState.WITHDRAWN)
    record("question.withdrawn", actor=actor, at=at, subject=question, facts={"reason": text})


def withdraw_questions(questions: Iterable[Question], reason: str, *, actor: User, at: datetime) -> tuple[int, int]:
    """Each with its own row in the log; how many were withdrawn, and how many were before."""
    return _each(lambda one: withdraw_question(one, reason, actor=actor, at=at), questions, "withdrawn")


def bring_back_questions(questions: Iterable[Question], *, actor: User, at: datetime) -> tuple[int, int]:
    """How many came back, and how many were not withdrawn."""
    return _each(lambda one: bring_back_question(one, actor=actor, at=at), questions, "not_withdrawn")


@transaction.atomic
def _each(act: Callable[[Question], None], questions: Iterable[Question], as_before: str) -> tuple[int, int]:
    n_done = n_left = 0
    for one in questions:
        try:
            act(one)
            n_done += 1
        except BankRefused as refusal:
            if refusal.code != as_before:
                raise
            n_left += 1
    return n_done, n_left


@transaction.atomic
def bring_back_question(question: Question, *, actor: User, at: datetime) -> None:
    """As imported, or as revised where a person wrote the current wording: it has to be reviewed again."""
    locked = Question.objects.select_for_update().get(pk=question.pk)
    if locked.state != QuestionState.WITHDRAWN:
        raise BankRefused("not_withdrawn", _("The question is not withdrawn."))
    edited = Edit.objects.filter(revision__in=Revision.objects.current().filter(question=question)).exists()
    state = QuestionState.REVISED if edited else QuestionState.IMPORTED
    Question.objects.filter(pk=question.pk).update(state=state)
    record("question.brought_back", actor=actor, at=at, subject=question)
