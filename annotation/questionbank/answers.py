"""Keys as coordinators read them: whom they are shown, and who has read which.

Reviewers see it elsewhere, after their own final answer. Whoever has read a key cannot judge its question blind.
"""

from __future__ import annotations

from datetime import datetime

from django.db import models, transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import FINAL_STATES, AssignmentState, KeySource, RoundSteps
from annotation.models import AnswerKey, Assignment, Question, Revision, SeenKey, User
from annotation.questionbank.kernels.entries import BankRefused
from annotation.site.permissions import is_coordinator

BATCH = 2000


def read_truth(revision: Revision, *, person: User, at: datetime) -> AnswerKey:
    """Key, explanation and report, for coordinators of the site; the first time is noted.

    Refused for everybody else, and for a coordinator who is still to answer the question blind.
    """
    if not is_coordinator(person):
        raise BankRefused("key_hidden", _("Key, explanation, report and images are for coordinators."), status=403)
    if blind_assignments(person).filter(revision__question=revision.question_id).exists():
        sentence = _(
            "You review this question yourself: key, explanation and report are hidden until you have answered it."
        )
        raise BankRefused("key_hidden", sentence, status=403)
    question = Question.objects.filter(pk=revision.question_id)
    note_seen_keys(person, question, source=KeySource.QUESTION_PAGE, subject=revision.question, at=at)
    return AnswerKey.objects.select_related("report").defer("extra").get(pk=revision.pk)


def blind_assignments(person: User) -> models.QuerySet[Assignment]:
    """What the person is still to answer blind, in rounds whose reviews are not final."""
    waiting = Assignment.objects.filter(reviewer=person, blind_answer=None, round__steps=RoundSteps.FULL)
    waiting = waiting.exclude(round__state__in=FINAL_STATES)
    return waiting.exclude(state__in=(AssignmentState.RETURNED, AssignmentState.WITHDRAWN))


def note_seen_keys(
    person: User, questions: models.QuerySet[Question], *, source: KeySource, subject: models.Model, at: datetime
) -> None:
    """Store which of these keys the person sees for the first time, with an audit event; nothing when all are known."""
    known = SeenKey.objects.filter(person=person).values("question")
    fresh = list(questions.exclude(pk__in=known).order_by().values_list("pk", flat=True).distinct())
    if not fresh:
        return
    rows = (SeenKey(person=person, question_id=pk, source=source, seen_at=at) for pk in fresh)
    with transaction.atomic():
        SeenKey.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
        facts = {"source": source.value, "questions": len(fresh)}
        record("key.seen", actor=person, at=at, subject=subject, facts=facts)
