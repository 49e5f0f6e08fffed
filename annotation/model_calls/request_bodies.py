"""What is sent to a model: the body of a request, and the pictures in it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.call_enums import SentImages
from annotation.contributions import contributed
from annotation.endpoints.kernels.completions import ChatSettings, Message, ModelRequest, chat_request
from annotation.enums import ImageState
from annotation.imaging.kernels.picture_policies import BLANK, PicturePolicy, policy_named
from annotation.ingest.serving import (
    PictureRefused,
    images_of_exam,
    known_pictures,
    picture_bytes,
    pictures_for,
    policy_for,
)
from annotation.model_calls.call_batches import BatchRefused
from annotation.model_calls.kernels.extraction import question_values
from annotation.model_calls.kernels.filling import fill
from annotation.models import CallBatch, Exam, Image, ModelCall, ModelPicture, QuestionBank

# By purpose, what fills further variables of the prompt from ``ModelCall.values``, of many calls at once.
Filler = Callable[[Sequence[ModelCall]], Iterable[dict[str, str]]]


class CallContent(Struct, frozen=True):
    """What a call says, with its pictures by their hashes."""

    model: str
    instruction: str
    text: str
    pictures: tuple[str, ...]
    settings: ChatSettings

    def request(self, picture: Callable[[str], bytes] = picture_bytes) -> ModelRequest:
        """Pictures come before the text. ``picture`` gives the bytes of one by its hash."""
        first = [Message("system", (self.instruction,))] if self.instruction else []
        parts: tuple[str | bytes, ...] = (*(picture(sha256) for sha256 in self.pictures), self.text)
        return chat_request(self.model, [*first, Message("user", parts)], self.settings)


def contents_of(batch: CallBatch, calls: Sequence[ModelCall]) -> list[CallContent]:
    """``calls`` of the batch, with their revisions loaded and their pictures known."""
    prompt = batch.prompt
    settings = ChatSettings(**batch.chat_settings, schema=prompt.schema)
    values = [_question_values(call) for call in calls]
    further = contributed().fillers.get(batch.purpose)
    if further is not None:
        values = [own | more for own, more in zip(values, further(calls), strict=True)]
    declared = set(prompt.variables)
    return [
        CallContent(
            batch.model, fill(prompt.instruction, kept), fill(prompt.text, kept), tuple(call.pictures or ()), settings
        )
        for call, own in zip(calls, values, strict=True)
        for kept in [{name: text for name, text in own.items() if name in declared}]
    ]


def request_of(call: ModelCall) -> ModelRequest:
    """The request as it was sent. Raises BatchRefused (``not_the_same``) where it can no longer be made."""
    if call.pictures is None:
        raise BatchRefused("not_sent", _("This call was not sent yet."))
    request = contents_of(call.batch, [call])[0].request()
    if request.sha256 != call.request_sha256:
        sentence = _(
            "The request that is made from the rows is not the one that was sent: %(now)s instead of %(then)s."
        )
        raise BatchRefused("not_the_same", sentence % {"now": request.sha256, "then": call.request_sha256})
    return request


def _question_values(call: ModelCall) -> dict[str, str]:
    revision = call.revision
    return {} if revision is None else question_values(revision.stem, revision.options, call.rotation)


# What making a picture needs: a row has 40 columns.
_IMAGES = Image.objects.order_by("position", "pk").only("exam", "public_id", "state", "object_name", "display")


class CallPictures(Struct, frozen=True):
    """What goes with a call: the images of its exam as they are now, and the pictures that were made of them before."""

    batch: CallBatch
    call: ModelCall
    images: Sequence[Image] = ()
    known: Mapping[int, ModelPicture] = field(default_factory=dict)

    def made(self, *, at: datetime) -> list[str]:
        """Their hashes, in the order in which a reviewer sees the images; made where they are missing.

        Raises PictureRefused while an image must not be sent, and for those of another bank.
        """
        batch, call = self.batch, self.call
        if not _sends_images(batch, call):
            return []
        assert call.exam is not None
        if call.exam.bank_id != batch.bank_id:
            raise PictureRefused("other_bank", _("The exam of call %(n)d is of another bank.") % {"n": call.number})
        own = call.revision is not None and call.revision.question.exam_id == call.exam_id
        left_out = call.revision.left_out if own and call.revision is not None else frozenset[str]()
        images = images_of_exam(call.exam, self.images, left_out)
        images = images[:1] if batch.images == SentImages.FIRST else images
        return [one.sha256 for one in pictures_for(images, _policy_of(batch), self.known, at=at)]


def pictures_of(batch: CallBatch, calls: Sequence[ModelCall]) -> list[CallPictures]:
    """Of each of these calls, with exam and question loaded, as their images are now."""
    exams = {call.exam_id for call in calls if call.exam_id is not None and _sends_images(batch, call)}
    images: dict[int, list[Image]] = defaultdict(list)
    for image in _IMAGES.filter(exam__in=exams):
        images[image.exam_id].append(image)
    found = [image.pk for of_exam in images.values() for image in of_exam]
    known = known_pictures(found, _policy_of(batch)) if found else {}
    return [CallPictures(batch, call, images.get(call.exam_id or 0, ()), known) for call in calls]


def _sends_images(batch: CallBatch, call: ModelCall) -> bool:
    return batch.images != SentImages.NONE and call.exam_id is not None


def _policy_of(batch: CallBatch) -> PicturePolicy:
    return policy_named(BLANK) if batch.images == SentImages.BLANK else policy_for(batch.bank, batch.picture_policy)


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


class SwappableExam(NamedTuple):
    """``views``: the view positions of its images, sorted. ``patient``: empty where nobody knows whose it is."""

    exam: int
    patient: str
    views: tuple[str, ...]


def swapped(exams: Iterable[SwappableExam], wanted: Iterable[int], *, seed: int) -> Mapping[int, int]:
    """For each wanted exam one of another patient with the same views; none where there is no such exam.

    The exams of a kind are in an order that the seed draws; each takes the next one of another patient, so that
    every exam lends its images about as often.
    """
    kinds: dict[tuple[str, ...], list[SwappableExam]] = defaultdict(list)
    for one in exams:
        if one.patient and one.views:
            kinds[one.views].append(one)
    place: dict[int, tuple[tuple[str, ...], int]] = {}
    for views, some in kinds.items():
        some.sort(key=lambda one: _drawn(seed, one.exam))
        place |= {one.exam: (views, number) for number, one in enumerate(some)}
    found: dict[int, int] = {}
    for exam in wanted:
        if exam in place:
            views, number = place[exam]
            other = _next_of_another(kinds[views], number)
            if other is not None:
                found[exam] = other
    return found


def _next_of_another(some: list[SwappableExam], number: int) -> int | None:
    own = some[number].patient
    for step in range(1, len(some)):
        one = some[(number + step) % len(some)]
        if one.patient != own:
            return one.exam
    return None


def _drawn(seed: int, exam: int) -> bytes:
    return hashlib.sha256(f"{seed} {exam}".encode()).digest()
