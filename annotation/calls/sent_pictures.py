"""Which pictures go with a call, and whose images are swapped with whose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from annotation.calls.kernels.swapping import SwappableExam, swapped
from annotation.enums import ImageState, SentImages
from annotation.imaging.kernels.picture_policies import BLANK, policy_named
from annotation.ingest.model_pictures import PictureRefused, images_of_exam, pictures_for, policy_for
from annotation.models import CallBatch, Exam, Image, ModelCall, QuestionBank


def pictures_of(batch: CallBatch, call: ModelCall, *, at: datetime) -> list[str]:
    """Their hashes, in the order in which a reviewer sees the images; made where they are missing.

    Raises PictureRefused while an image must not be sent, and for those of another bank.
    """
    if batch.images == SentImages.NONE or call.exam is None:
        return []
    if call.exam.bank_id != batch.bank_id:
        raise PictureRefused("other_bank", _("The exam of call %(n)d is of another bank.") % {"n": call.number})
    own = call.revision is not None and call.revision.question.exam_id == call.exam_id
    left_out = call.revision.left_out if own and call.revision is not None else frozenset[str]()
    images = images_of_exam(call.exam, left_out)
    images = images[:1] if batch.images == SentImages.FIRST else images
    is_blank = batch.images == SentImages.BLANK
    policy = policy_named(BLANK) if is_blank else policy_for(batch.bank, batch.picture_policy)
    return [one.sha256 for one in pictures_for(images, policy, at=at)]


def swapped_exams(bank: QuestionBank, exams: Iterable[int], *, seed: int) -> Mapping[int, int]:
    """For each of these exams of the bank one of another patient with as many images of the same views, where there is
    one. Two queries.
    """
    views: dict[int, list[str]] = defaultdict(list)
    waits: set[int] = set()
    rows = Image.objects.filter(exam__bank=bank).exclude(state=ImageState.REMOVED).order_by()
    for exam, view, state in rows.values_list("exam_id", "view_position", "state"):
        views[exam].append(view)
        if state != ImageState.AVAILABLE:
            waits.add(exam)
    patients = Exam.objects.filter(bank=bank).values_list("pk", "patient_pseudonym")
    known = [SwappableExam(pk, patient, tuple(sorted(views[pk]))) for pk, patient in patients if pk not in waits]
    return swapped(known, exams, seed=seed)
