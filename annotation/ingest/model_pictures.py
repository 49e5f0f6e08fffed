"""The pictures that models get: made once of an available image by each policy, and kept under their hash."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from annotation.enums import ImageState, RenditionKind
from annotation.imaging.kernels.picture_policies import QUARTER, STORED, PicturePolicy, picture_of, policy_named
from annotation.ingest import storage
from annotation.models import Exam, Image, ModelPicture, QuestionBank, Rendition
from annotation.refusals import Refused


class PictureRefused(Refused):
    """An image cannot be sent to a model."""


def policy_for(bank: QuestionBank, name: str) -> PicturePolicy:
    """A bank that holds images of a quarter of width and height is not quartered once more.

    Raises PictureRefused (``no_policy``).
    """
    try:
        policy = policy_named(name)
    except ValueError as error:
        raise PictureRefused("no_policy", str(error), status=422, field="picture_policy") from None
    return policy_named(STORED) if policy.name == QUARTER and bank.holds_quarters else policy


def images_of_exam(exam: Exam, images: Iterable[Image], left_out: frozenset[str] = frozenset()) -> list[Image]:
    """Those of its ``images`` that a reviewer sees with a question of this exam, as sorted by ``in_order``.

    A removed one is seen by nobody. Raises PictureRefused (``images_waiting``) while one of them is missing, unsearched
    or in quarantine.
    """
    images = [one for one in images if one.public_id not in left_out and one.state != ImageState.REMOVED]
    waiting = [one for one in images if one.state != ImageState.AVAILABLE]
    if waiting:
        sentence = _("An image of the exam %(exam)s is %(state)s, so that nothing of it is sent.")
        facts = {"exam": exam.pseudonym, "state": waiting[0].get_state_display()}
        raise PictureRefused("images_waiting", sentence % facts)
    return images


@dataclass(frozen=True)
class NeverSent:
    """How many images of a bank no model gets, by what keeps each one back."""

    missing: int
    unsearched: int
    quarantined: int

    @property
    def n_images(self) -> int:
        return self.missing + self.unsearched + self.quarantined


def images_never_sent(bank: QuestionBank) -> NeverSent:
    """As of now: with them no question of their exam is asked with images. One query."""
    rows = Image.objects.filter(exam__bank=bank).order_by().values_list("state").annotate(n=Count("pk"))
    counts = dict(rows)
    return NeverSent(
        missing=counts.get(ImageState.PENDING, 0),
        unsearched=counts.get(ImageState.CHECKING, 0),
        quarantined=counts.get(ImageState.QUARANTINED, 0),
    )


def known_pictures(images: Collection[int], policy: PicturePolicy) -> dict[int, ModelPicture]:
    """Those of these images that were made before, by the row of the image.

    Not by exams: PostgreSQL read all pictures of the policy while it had no statistics of them.
    """
    return {one.image_id: one for one in ModelPicture.objects.filter(image__in=images, policy=policy.name)}


def pictures_for(
    images: Iterable[Image], policy: PicturePolicy, known: Mapping[int, ModelPicture], *, at: datetime
) -> list[ModelPicture]:
    """One for each image, in their order; what is not ``known`` is made, also a file. Two processes make the same.

    Raises PictureRefused (``images_waiting``) for an image that was quarantined or blacked out since it was loaded.
    """
    return [_if_there(known.get(image.pk)) or _make(image, policy, at=at) for image in images]


def _if_there(picture: ModelPicture | None) -> ModelPicture | None:
    """Equal images share a file: it can go with one of them just while the row of another is written."""
    return picture if picture is not None and storage.path_of(picture.sha256).exists() else None


def picture_bytes(sha256: str) -> bytes:
    """Raises PictureRefused (``picture_gone``) for one whose image was blacked out or removed since."""
    try:
        content = storage.load(sha256)
    except FileNotFoundError:
        sentence = _("The picture %(sha256)s is gone: its image was blacked out or removed.")
        raise PictureRefused("picture_gone", sentence % {"sha256": sha256[:12]}, status=410) from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise PictureRefused("picture_broken", _("The file of the picture %(n)s is broken.") % {"n": sha256[:12]})
    return content


def drop_pictures(image: Image) -> list[str]:
    """Forget the pictures of an image; the files that nothing names any more, for the caller to remove."""
    own = set(ModelPicture.objects.filter(image=image).values_list("sha256", flat=True))
    ModelPicture.objects.filter(image=image).delete()
    return sorted(own - set(ModelPicture.objects.filter(sha256__in=own).values_list("sha256", flat=True)))


def _make(image: Image, policy: PicturePolicy, *, at: datetime) -> ModelPicture:
    rendition = Rendition.objects.filter(image=image, kind=RenditionKind.FULL).first()
    if rendition is None:
        raise _gone_meanwhile(image)
    try:
        from annotation.imaging.kernels.rendering import payload_of  # loads Pillow: not at every start

        payload = payload_of(storage.load(rendition.name), rendition.width, rendition.height)
    except FileNotFoundError:
        raise _gone_meanwhile(image) from None
    content, width, height = picture_of(payload, image.display or {}, policy)
    sha256 = storage.store_by_hash(content)
    made = {"sha256": sha256, "width": width, "height": height, "n_bytes": len(content), "made_at": at}
    with transaction.atomic():
        if _is_as_loaded(image):
            return ModelPicture.objects.update_or_create(image=image, policy=policy.name, defaults=made)[0]
        is_shared = ModelPicture.objects.filter(sha256=sha256).exists()
    if not is_shared:
        storage.remove([sha256])
    raise _gone_meanwhile(image)


def _is_as_loaded(image: Image) -> bool:
    """Locks the row, so that nobody blacks the image out before the row of its picture is there to be forgotten."""
    now = Image.objects.select_for_update().filter(pk=image.pk, state=ImageState.AVAILABLE).first()
    return now is not None and now.object_name == image.object_name


def _gone_meanwhile(image: Image) -> PictureRefused:
    sentence = _("The image %(image)s was quarantined, blacked out or removed just now, so it is not sent.")
    return PictureRefused("images_waiting", sentence % {"image": image.public_id})
