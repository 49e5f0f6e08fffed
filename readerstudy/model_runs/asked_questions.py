"""The questions that a run asks with their images, and what was asked and answered, word by word.

Whoever opens it has seen what gives an answer away. It is noted for every question on the same images, so that the
rules of eligibility keep them from reading and reviewing these.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct
from msgspec.structs import asdict

from annotation.call_enums import CallOutcome, SentImages
from annotation.endpoints.kernels.completions import read_completion
from annotation.enums import ImageState, KeySource
from annotation.model_calls.attempts import WAITS
from annotation.model_calls.probing import newest_probe, unlisted
from annotation.model_calls.request_bodies import CallContent, contents_of, swapped_exams
from annotation.models import CallAttempt, Image, ModelCall, Question, QuestionBank, Revision, User
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.priors import questions_showing
from annotation.refusals import Refused
from annotation.review.onlookers import withheld_questions
from annotation.site.sentences import listed
from readerstudy.enums import Block
from readerstudy.models import ModelRun, StudyCase
from readerstudy.predictions.listing import Target


class RunningRefused(Refused):
    """Something cannot be done with a run of a model; the sentence says what to do."""


LEAST_TOKENS = 64  # of an answer with its explanation


class AskedQuestion(NamedTuple):
    """``images``: name and state of those that it is asked with, in their order."""

    revision_id: int
    number: int  # in the bank
    exam_id: int  # whose images are sent
    images: tuple[tuple[str, str], ...]


def asked_questions(target: Target, images: SentImages) -> list[AskedQuestion]:
    """By number: the current questions of a bank, or those of the main block of a study in its wording. Two queries."""
    columns = ("pk", "question__number", "question__exam_id", "images_left_out")
    rows = sorted(_revisions(target).order_by().values_list(*columns), key=lambda row: row[1])
    of_exam = _images_of(target) if images != SentImages.NONE else {}
    most = 1 if images == SentImages.FIRST else None
    return [
        AskedQuestion(
            pk, number, exam, tuple(one for one in of_exam.get(exam, ()) if one[0] not in (left_out or ()))[:most]
        )
        for pk, number, exam, left_out in rows
    ]


def _revisions(target: Target) -> QuerySet[Revision]:
    if target.study is None:
        return Revision.objects.in_bank(target.bank).current()
    cases = StudyCase.objects.filter(study=target.study, block=Block.MAIN)
    return Revision.objects.filter(pk__in=cases.values("revision"))


def _images_of(target: Target) -> Mapping[int, Sequence[tuple[str, str]]]:
    """By exam of the bank: name and state of each image that was not removed."""
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    rows = Image.objects.filter(exam__bank=target.bank).exclude(state=ImageState.REMOVED)
    for exam, name, state in rows.order_by("exam", "position", "pk").values_list("exam_id", "public_id", "state"):
        found[exam].append((name, state))
    return found


def check_images(asked: Sequence[AskedQuestion], images: SentImages) -> None:
    """Refused while an image that belongs to a question cannot be sent, and where a question has none."""
    if images == SentImages.NONE:
        return
    waiting = [one for one in asked if any(state in WAITS for _name, state in one.images)]
    if waiting:
        states = Counter(state for _name, state in {image for one in waiting for image in one.images} if state in WAITS)
        counts = [f"{n} {_(ImageState(state).label)}" for state, n in sorted(states.items())]
        sentence = _(
            "Images cannot be sent: %(counts)s. They belong to %(questions)s. Bring them in or release them first, or "
            "ask without images."
        )
        facts = {"counts": ", ".join(counts), "questions": _named(waiting)}
        raise RunningRefused("images_waiting", sentence % facts, field="images", questions=len(waiting))
    without = [one for one in asked if not one.images]
    if without:
        sentence = _("%(questions)s: there is no image to send. Bring the images in first, or ask without images.")
        raise RunningRefused(
            "no_images", sentence % {"questions": _named(without)}, field="images", questions=len(without)
        )


def cautions(run: ModelRun) -> list[str]:
    """What of a planned run is possible and rarely meant, in sentences. Three queries where only first images go."""
    batch, found = run.batch, list[str]()
    if (probe := newest_probe(batch.endpoint, batch.model)) and (sentence := unlisted(probe)):
        found.append(sentence)
    limit = batch.chat_settings.get("max_tokens")
    if limit is not None and limit < LEAST_TOKENS:
        sentence = _(
            "%(n)d tokens may end before an answer names its letter, or before a thought is over: cut is wrong."
        )
        found.append(sentence % {"n": limit})
    if batch.images == SentImages.FIRST:
        n = sum(len(one.images) > 1 for one in asked_questions(Target(batch.bank, run.study), SentImages.ALL))
        sentence = ngettext(
            "%(n)d question has several images, of which the prompt sends the first alone.",
            "%(n)d questions have several images, of which the prompt sends the first alone.",
            n,
        )
        found += [sentence % {"n": n}] if n else []
    return found


def swap_exams(asked: Sequence[AskedQuestion], bank: QuestionBank, *, seed: int) -> list[AskedQuestion]:
    """Each question with the exam of another patient that has the same views. Refused where one has no such exam."""
    other = swapped_exams(bank, {one.exam_id for one in asked}, seed=seed)
    without = [one for one in asked if one.exam_id not in other]
    if without:
        sentence = _(
            "%(questions)s: there is no exam of another patient, whose patient is known, with the same views. Ask "
            "without images or with blank ones."
        )
        facts = {"questions": _named(without)}
        raise RunningRefused("no_other_exam", sentence % facts, field="images", questions=len(without))
    return [one._replace(exam_id=other[one.exam_id]) for one in asked]


def _named(asked: Sequence[AskedQuestion]) -> str:
    """ "3 questions (1, 2, 7)"."""
    sentence = ngettext("%(n)d question (%(numbers)s)", "%(n)d questions (%(numbers)s)", len(asked))
    return sentence % {"n": len(asked), "numbers": listed([str(one.number) for one in asked])}


SHOWN = 20_000  # characters of one response on a page


class ShownAttempt(Struct, frozen=True):
    """``text``: what the model answered; ``because``: why there is none, of the server; ``response``: as it came."""

    attempt: CallAttempt
    text: str
    refusal: str
    because: str
    response: str
    is_shortened: bool


class OpenedCall(Struct, frozen=True):
    call: ModelCall
    content: CallContent
    attempts: Sequence[ShownAttempt]

    @property
    def settings(self) -> str:
        """As they were sent, without the schema."""
        kept = asdict(self.content.settings).items()
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
    return _questions_on(exam for row in rows for exam in row)


def _questions_on(exams: Iterable[int | None]) -> set[int]:
    showing = questions_showing({exam for exam in exams if exam is not None})
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
    exams = (call.exam_id, call.revision.question.exam_id if call.revision else None)
    seen = Question.objects.filter(pk__in=_questions_on(exams))
    note_seen_keys(person, seen, source=KeySource.RAW_ANSWERS, subject=subject.batch, at=at)


def _shown(attempt: CallAttempt) -> ShownAttempt:
    completion = read_completion(attempt.body.encode())
    body = attempt.body
    because = completion.error or (_(completion.trouble.label) if completion.trouble else "")
    return ShownAttempt(attempt, completion.text, completion.refusal, because, body[:SHOWN], len(body) > SHOWN)


def picture_of_call(run: ModelRun, number: int, sha256: str, person: User) -> bool:
    """Whether this picture went with that call, and the person may open it."""
    call = readable_calls(run, person).filter(number=number).first()
    return call is not None and sha256 in (call.pictures or ())
