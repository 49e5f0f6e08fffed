"""What a model was asked and answered, word by word, for coordinators who neither read nor review the question.

Whoever opens it has seen what gives an answer away. It is noted for every question on the same images, so that the
rules of eligibility keep them from reading and reviewing these.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.call_enums import CallOutcome
from annotation.endpoints.kernels.completions import read_completion
from annotation.enums import KeySource
from annotation.model_calls.request_bodies import CallContent, contents_of
from annotation.models import CallAttempt, ModelCall, Question, User
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.priors import questions_showing
from annotation.review.onlookers import withheld_questions
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.models import ModelRun

SHOWN = 20_000  # characters of one response on a page


@dataclass(frozen=True)
class ShownAttempt:
    """``text``: what the model answered; ``response``: the document around it, as it came."""

    attempt: CallAttempt
    text: str
    refusal: str
    response: str
    is_shortened: bool


@dataclass(frozen=True)
class OpenedCall:
    call: ModelCall
    content: CallContent
    attempts: Sequence[ShownAttempt]

    @property
    def settings(self) -> str:
        """As they were sent, without the schema."""
        kept = vars(self.content.settings).items()
        sent = {name: value for name, value in kept if name != "schema" and value not in (None, "")}
        return json.dumps(sent, ensure_ascii=False) if sent else ""


def readable_calls(run: ModelRun, person: User, outcome: CallOutcome | None = None) -> QuerySet[ModelCall]:
    """By number, without those about questions that the person reviews in an open round, or on their exams."""
    calls = ModelCall.objects.filter(batch=run.batch_id).order_by("number")
    if outcome is not None:
        calls = calls.filter(outcome=outcome)
    hidden = hidden_from(person)
    return calls.exclude(revision__question__in=hidden) if hidden else calls


def hidden_from(person: User) -> set[int]:
    """The questions that the person reviews in an open round, and others on their images."""
    rows = withheld_questions(person).values_list("exam", "exam__prior")
    showing = questions_showing({exam for row in rows for exam in row if exam is not None})
    return {question for questions in showing.values() for question in questions}


@transaction.atomic
def open_call(run: ModelRun, number: int, *, actor: User, at: datetime) -> OpenedCall:
    """One call with every attempt; that the person opened it is stored, once for each question on its images.

    Raises RunningRefused for a number that the run does not have, and for a question that the person reviews.
    """
    call = ModelCall.objects.filter(batch=run.batch_id, number=number).select_related("revision__question").first()
    if call is None:
        raise RunningRefused("no_call", _("This run has no call %(n)d.") % {"n": number}, status=404)
    if call.revision is not None and call.revision.question_id in hidden_from(actor):
        sentence = _("You review this question, or another on its images: what a model says of it is hidden from you.")
        raise RunningRefused("reviews_it", sentence, status=403)
    _note_opened(call, person=actor, subject=run, at=at)
    call.batch = run.batch
    return OpenedCall(
        call, contents_of(run.batch, [call])[0], [_shown(one) for one in call.attempts.order_by("number")]
    )


def _note_opened(call: ModelCall, *, person: User, subject: ModelRun, at: datetime) -> None:
    exams = {call.exam_id, call.revision.question.exam_id if call.revision else None} - {None}
    showing = questions_showing({exam for exam in exams if exam is not None})
    seen = Question.objects.filter(pk__in={question for questions in showing.values() for question in questions})
    note_seen_keys(person, seen, source=KeySource.RAW_ANSWERS, subject=subject.batch, at=at)


def _shown(attempt: CallAttempt) -> ShownAttempt:
    completion = read_completion(attempt.body.encode())
    body = attempt.body
    return ShownAttempt(attempt, completion.text, completion.refusal, body[:SHOWN], len(body) > SHOWN)


def picture_of_call(run: ModelRun, number: int, sha256: str, person: User) -> bool:
    """Whether this picture went with that call, and the person may open it."""
    call = readable_calls(run, person).filter(number=number).first()
    return call is not None and sha256 in (call.pictures or ())
