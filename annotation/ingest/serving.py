"""Which person may see which rendition of an image; and the pictures that models get, each made once."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.contributions import is_shown
from annotation.enums import FINAL_STATES, AssignmentState, ImageState, RenditionKind, Role, RoundState, Turn
from annotation.imaging.kernels.picture_policies import QUARTER, STORED, PicturePolicy, picture_of, policy_named
from annotation.ingest import storage
from annotation.ingest.kernels.credits import IngestRefused
from annotation.models import Assignment, Exam, Image, Membership, ModelPicture, QuestionBank, Rendition, Revision, User
from annotation.refusals import Refused
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import KeptQuery

Names = dict[int, dict[str, str]]  # how the renditions of an image are called, by kind
SERVED = (RenditionKind.PREVIEW, RenditionKind.FULL)


class Served(Struct, frozen=True):
    """The bytes of a rendition as they travel."""

    content: bytes
    content_type: str
    encoding: str  # empty: none


def serve_rendition(name: str, *, person: User, accepts_zstd: bool, at: datetime) -> Served:
    """A rendition of an available image. Raises IngestRefused (404). A reviewer's image takes two queries."""
    rendition, gzipped = _found(name, ImageState.AVAILABLE)
    if not may_see(person, rendition.image, at=at):
        raise _hidden()
    return _served(rendition, gzipped, accepts_zstd=accepts_zstd, at=at)


def serve_thumbnail(name: str, *, person: User, at: datetime) -> Served:
    """A small picture of the available image whose preview has this name: drawn when first asked for, then kept.

    Raises IngestRefused (404).
    """
    by_kind = {row.kind: row for row in _OF_ONE_IMAGE(name, str(ImageState.AVAILABLE))}
    preview = by_kind.get(RenditionKind.PREVIEW)
    if preview is None or preview.name != name or not may_see(person, preview.image, at=at):
        raise _hidden()
    kept = by_kind.get(RenditionKind.THUMB)
    try:
        if kept is not None:
            return Served(storage.load(kept.name), "image/webp", "")
        from annotation.imaging.kernels.rendering import thumbnail_of  # loads Pillow: not at every start

        content, width, height = thumbnail_of(storage.load(name))
    except FileNotFoundError:  # removed between the row and the file
        raise _hidden() from None
    _keep(preview, RenditionKind.THUMB, content, (width, height, 8), at=at)
    return Served(content, "image/webp", "")


def serve_quarantined(name: str, *, accepts_zstd: bool, at: datetime) -> Served:
    """A rendition of an image in quarantine; the caller has checked the role. Raises IngestRefused (404)."""
    rendition, gzipped = _found(name, ImageState.QUARANTINED)
    return _served(rendition, gzipped, accepts_zstd=accepts_zstd, at=at)


def may_see(person: User, image: Image, *, at: datetime) -> bool:
    """An available image is seen by coordinators and by the reviewers and coordinators of rounds that show its exam,
    also as a prior, and by whom another app shows it (annotation.contributions).

    A reviewer sees it while the round is open, and afterwards what they themselves reviewed. A withdrawn assignment
    and a round that has not opened show nothing. Those who fetch most are asked about first.
    """
    if image.state != ImageState.AVAILABLE:
        return False
    exam = image.exam_id
    return (
        bool(_REVIEWED(person.pk, exam))
        or is_shown(person.pk, image, at)
        or bool(_REVIEWED_BESIDE(person.pk, exam))
        or is_coordinator(person)
        or _coordinates_exam(person, exam)
    )


def _reviewed(person: int, exam: int) -> QuerySet[Assignment, tuple[int]]:
    return _shown_to_reviewer(Assignment.objects.filter(reviewer=person, revision__question__exam_id=exam))


def _reviewed_beside(person: int, prior: int) -> QuerySet[Assignment, tuple[int]]:
    return _shown_to_reviewer(Assignment.objects.filter(reviewer=person, revision__question__exam__prior_id=prior))


def _shown_to_reviewer(mine: QuerySet[Assignment]) -> QuerySet[Assignment, tuple[int]]:
    shown = Q(round__state=RoundState.OPEN) | Q(round__state__in=FINAL_STATES, state=AssignmentState.SUBMITTED)
    gone = (AssignmentState.RETURNED, AssignmentState.WITHDRAWN)
    return mine.exclude(state__in=gone).filter(shown).order_by().values_list("pk")[:1]


_REVIEWED = KeptQuery(_reviewed, int, int)
_REVIEWED_BESIDE = KeptQuery(_reviewed_beside, int, int)  # one query for both would ask every case of the reviewer


def _coordinates_exam(person: User, exam_id: int) -> bool:
    """Coordinators of single rounds: the images of the questions sampled for their rounds, and of their priors."""
    sampled = "round__plan__questions__revision__question__exam"
    of_question = Q(**{f"{sampled}_id": exam_id}) | Q(**{f"{sampled}__prior_id": exam_id})
    return Membership.objects.filter(of_question, user=person, role=Role.COORDINATOR).exists()


_OF_ONE_IMAGE = KeptQuery(
    lambda name, state: (
        Rendition.objects.select_related("image")
        .only("name", "kind", "width", "height", "bits", "image__state", "image__exam_id")
        .filter(image__renditions__name=name, image__state=state)
    ),
    *(str, str),
)


def _found(name: str, state: ImageState) -> tuple[Rendition, Rendition | None]:
    """The rendition of this name, and the gzip form of its image where one is kept; in one query."""
    by_kind = {row.kind: row for row in _OF_ONE_IMAGE(name, str(state))}
    named = next((row for row in by_kind.values() if row.name == name and row.kind in SERVED), None)
    if named is None:
        raise _hidden()
    return named, by_kind.get(RenditionKind.FULL_GZIP)


def _hidden() -> IngestRefused:
    """There is no such rendition, or this person may not see it; the answer does not say which."""
    return IngestRefused("no_such_rendition", status=404)


def _served(rendition: Rendition, gzipped: Rendition | None, *, accepts_zstd: bool, at: datetime) -> Served:
    try:
        if rendition.kind == RenditionKind.PREVIEW:
            return Served(storage.load(rendition.name), "image/webp", "")
        if accepts_zstd:
            return Served(storage.load(rendition.name), "application/octet-stream", "zstd")
        content = storage.load(gzipped.name) if gzipped else _gzip(rendition, at=at)
        return Served(content, "application/octet-stream", "gzip")
    except FileNotFoundError:  # removed between the row and the file
        raise _hidden() from None


def _gzip(rendition: Rendition, *, at: datetime) -> bytes:
    """Full depth for a browser without zstd: made when first asked for, then kept."""
    from annotation.imaging.kernels.rendering import gzip_of

    content = gzip_of(storage.load(rendition.name), rendition.width, rendition.height)
    _keep(rendition, RenditionKind.FULL_GZIP, content, (rendition.width, rendition.height, rendition.bits), at=at)
    return content


def _keep(
    rendition: Rendition, kind: RenditionKind, content: bytes, size: tuple[int, int, int], *, at: datetime
) -> None:
    """Store another rendition of its image, unless somebody else did in the meantime."""
    row = storage.store_rendition(kind, content, *size)
    row.image_id, row.created_at = rendition.image_id, at
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        storage.remove([row.name])


def case_images(revision: Revision) -> QuerySet[Image]:
    """What is shown with a question, in order: the images of its exam that count, and those of the prior."""
    shown = Image.objects.filter(exam__in=revision.question.exam.shown_ids)
    return shown.exclude(public_id__in=revision.left_out).order_by("position", "pk")


def image_descriptors(
    images: Iterable[Image], *, route: str = "rendition", names: Names | None = None, priors: Collection[int] = ()
) -> list[dict[str, Any]]:
    """What the viewer needs to show these images, in their order: plain JSON, no identifier of the source.

    ``priors`` are the ids of those that belong to the prior exam: these say so, the others say nothing. An image
    without renditions (pending, being searched, in quarantine, removed) is left out. Give the ``names`` of the
    renditions or prefetch ``renditions``; otherwise each image costs a query.
    """
    shown = [image for image in images if _is_shown(image, route)]
    if names is None:
        names = {image.pk: {rendition.kind: rendition.name for rendition in image.renditions.all()} for image in shown}
    described = [_descriptor(image, names[image.pk], route) for image in shown]
    return [{**one, "prior": True} if image.pk in priors else one for one, image in zip(described, shown, strict=True)]


def _is_shown(image: Image, route: str) -> bool:
    state = ImageState.AVAILABLE if route == "rendition" else ImageState.QUARANTINED
    return image.state == state and image.display is not None


def _descriptor(image: Image, names: dict[str, str], route: str) -> dict[str, Any]:
    return {
        **(image.display or {}),
        "id": image.public_id,
        "preview": reverse(route, args=[names[RenditionKind.PREVIEW]]),
        "full": reverse(route, args=[names[RenditionKind.FULL]]),
        "view_position": image.view_position,
        "laterality": image.laterality,
        "caption": caption(image),
    }


def caption(image: Image) -> str:
    """The caption of an image: that it is simulated, what was done to its pixels, and whose it is."""
    turned = (image.display or {}).get("turned")
    corrected = _("corrected after import (%(turned)s)")
    parts = [_("simulated") if image.simulated else "", corrected % {"turned": Turn(turned).label} if turned else ""]
    parts += [image.attribution, image.licence]
    return " · ".join(str(part) for part in parts if part)


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


class NeverSent(Struct, frozen=True):
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
    return picture if picture is not None and storage.is_there(picture.sha256) else None


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
