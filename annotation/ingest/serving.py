"""Which person may see which rendition, and what the viewer shows of an image."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.contributions import is_shown
from annotation.enums import FINAL_STATES, AssignmentState, ImageState, RenditionKind, Role, RoundState
from annotation.ingest import storage
from annotation.ingest.kernels.credits import IngestRefused
from annotation.models import Assignment, Image, Membership, Rendition, Revision, User
from annotation.site.kept_queries import KeptQuery
from annotation.site.permissions import is_coordinator

Names = dict[int, dict[str, str]]  # how the renditions of an image are called, by kind
SERVED = (RenditionKind.PREVIEW, RenditionKind.FULL)


@dataclass(frozen=True)
class Served:
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
    images: Iterable[Image],
    *,
    route: str = "rendition",
    names: Names | None = None,
    priors: Collection[int] = (),
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
    """The caption of an image: that it is simulated, and whose it is."""
    parts = [_("simulated") if image.simulated else "", image.attribution, image.licence]
    return " · ".join(part for part in parts if part)
