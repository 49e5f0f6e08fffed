"""The questions that a run asks, and the images that go with each of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.call_enums import SentImages
from annotation.enums import ImageState
from annotation.model_calls.campaigns import WAITS
from annotation.model_calls.sent_pictures import swapped_exams
from annotation.models import Image, QuestionBank, Revision
from annotation.refusals import Refused
from annotation.site.slugs import listed
from readerstudy.enums import Block
from readerstudy.models import StudyCase
from readerstudy.predictions.listing import Target

WITH_IMAGES_OF_PEOPLE = (SentImages.ALL, SentImages.FIRST, SentImages.SWAPPED)  # a blank image shows nobody


class RunningRefused(Refused):
    """Something cannot be done with a run of a model; the sentence says what to do."""


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
            pk,
            number,
            exam,
            tuple(one for one in of_exam.get(exam, ()) if one[0] not in (left_out or ()))[:most],
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
