"""What a person with the right decides about an image that may identify somebody: release, black out, remove."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import ImageState, RenditionKind
from annotation.imaging.kernels.masking import Box, blackened, boxes_within, is_covered
from annotation.imaging.kernels.reading import read_image
from annotation.imaging.kernels.rendering import as_8bit, full_depth, prepare, preview
from annotation.ingest import storage
from annotation.models import AuditEvent, Image, Rendition, User
from annotation.site import showings

SEEN = (ImageState.AVAILABLE, ImageState.CHECKING)


class NotInQuarantine(Exception):
    """The image is not, or no longer, in quarantine: somebody else decided in the meantime."""


class NotToBeQuarantined(Exception):
    """Only an image that has pixels and is not removed can go into quarantine."""


class BeingRead(Exception):
    """People read with this image as it was frozen; the text says where, and what to do."""


class NoReasonGiven(Exception):
    """Every decision about an image in quarantine carries a reason."""


class NothingToBlackOut(Exception):
    """No box covers a pixel of the image."""


@transaction.atomic
def quarantine_image(image: Image, *, reason: str, actor: User | None, at: datetime) -> None:
    """Take an image out of everybody's sight until somebody with the right decides. Twice changes nothing.

    Raises NotToBeQuarantined and NoReasonGiven.
    """
    reason = _given(reason)
    held = Image.objects.select_for_update().get(pk=image.pk)
    if held.state == ImageState.QUARANTINED:
        return
    if held.state not in SEEN:
        raise NotToBeQuarantined(f"the image is {held.state}")
    _move(held, ImageState.QUARANTINED, reason)
    record("image.quarantined", actor=actor, at=at, subject=held, facts={"reason": reason})


@transaction.atomic
def release(image: Image, *, reason: str, actor: User, at: datetime) -> None:
    """Somebody looked: the image identifies nobody, people may see it. Raises NotInQuarantine, NoReasonGiven."""
    reason = _given(reason)
    held = _hold(image)
    _move(held, ImageState.AVAILABLE, "")
    record("image.released", actor=actor, at=at, subject=held, facts={"reason": reason})


def released_by(actor: User, since: datetime) -> QuerySet[Image]:
    """Images that people may see because this person released them then or later: nobody decided after that."""
    releases = AuditEvent.objects.filter(subject_type="image", act="image.released")
    newest = releases.filter(subject_id=OuterRef("public_id")).order_by("-id").values("id")[:1]
    images = Image.objects.filter(state=ImageState.AVAILABLE).annotate(released=Subquery(newest))
    return images.filter(Exists(releases.filter(id=OuterRef("released"), actor=actor, at__gte=since)))


@transaction.atomic
def undo_release(image: Image, *, since: datetime, actor: User, at: datetime) -> None:
    """Back into quarantine, unless somebody decided later. Raises NotToBeQuarantined."""
    Image.objects.select_for_update().get(pk=image.pk)
    if not released_by(actor, since).filter(pk=image.pk).exists():
        raise NotToBeQuarantined("somebody else decided in the meantime")
    quarantine_image(image, reason=_("Release undone."), actor=actor, at=at)


def mask(image: Image, boxes: Sequence[Box], *, reason: str, actor: User, at: datetime) -> None:
    """Black out boxes in the stored pixels and make the object and its renditions anew, under new names.

    The image stays in quarantine, so that the result is looked at before it is released. The old files are deleted.
    Raises NotInQuarantine, NothingToBlackOut, BeingRead and NoReasonGiven.
    """
    reason = _given(reason)
    _check_not_read(image)
    if image.state != ImageState.QUARANTINED:
        raise NotInQuarantine(f"the image is {image.state}")
    inside = boxes_within(boxes, columns=image.columns or 0, rows=image.rows or 0)
    if not inside:
        raise NothingToBlackOut
    files = _NewFiles()
    try:
        files.write(blackened(storage.load(image.object_name), inside), at=at)
        with transaction.atomic():
            held = _hold(image)
            if held.object_name != image.object_name:
                raise NotInQuarantine("somebody else changed this image meanwhile")
            old = _file_names(held)
            held.renditions.all().delete()
            Rendition.objects.bulk_create(files.renditions_of(held))
            held.object_name, held.display = files.object_name, files.display
            held.text_findings = [f for f in held.text_findings if not is_covered(tuple(f["box"]), inside)]
            held.save(update_fields=["object_name", "display", "text_findings"])
            facts = {"reason": reason, "boxes": [list(box) for box in inside]}
            record("image.masked", actor=actor, at=at, subject=held, facts=facts)
    except BaseException:
        storage.remove(files.names)
        raise
    storage.remove(old)


@transaction.atomic
def remove(image: Image, *, reason: str, actor: User, at: datetime) -> None:
    """Decide against an image: its files are deleted, its row stays. Raises NotInQuarantine, BeingRead, NoReasonGiven.

    Where people read with it, the image stays in quarantine until they are done: nobody sees it, and nothing is lost.
    """
    reason = _given(reason)
    _check_not_read(image)
    held = _hold(image)
    names = _file_names(held)
    held.renditions.all().delete()
    held.object_name, held.display, held.text_findings = "", None, []
    held.save(update_fields=["object_name", "display", "text_findings"])
    _move(held, ImageState.REMOVED, reason)
    record("image.removed", actor=actor, at=at, subject=held, facts={"reason": reason})
    transaction.on_commit(lambda: storage.remove(names))


class Decision(Protocol):
    """``release`` or ``remove``: what can be decided for many images at once."""

    def __call__(self, image: Image, *, reason: str, actor: User, at: datetime) -> None: ...


@dataclass
class Decided:
    """What became of one decision about many images."""

    done: list[Image] = field(default_factory=list)
    n_overtaken: int = 0  # somebody else decided in the meantime
    refusals: list[str] = field(default_factory=list)  # why images stay in quarantine, each sentence once
    n_refused: int = 0


def decide_each(images: Iterable[Image], decide: Decision, *, reason: str, actor: User, at: datetime) -> Decided:
    """One decision about many images, each in a transaction and with an audit event of its own.

    An image that cannot be decided upon stops no other. Raises NoReasonGiven before anything is changed.
    """
    reason = _given(reason)
    outcome = Decided()
    for image in images:
        try:
            decide(image, reason=reason, actor=actor, at=at)
        except NotInQuarantine:
            outcome.n_overtaken += 1
        except BeingRead as refusal:
            outcome.n_refused += 1
            if str(refusal) not in outcome.refusals:
                outcome.refusals.append(str(refusal))
        else:
            outcome.done.append(image)
    return outcome


class _NewFiles:
    """The object and renditions made anew, written before any row names them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.display: dict[str, Any] = {}
        self._rows: list[Rendition] = []

    @property
    def object_name(self) -> str:
        return self.names[0]

    def write(self, stored: bytes, *, at: datetime) -> None:
        payload, display = prepare(read_image(stored))
        self.display = display.as_json()
        self.names.append(storage.store(stored))
        small, width, height = preview(as_8bit(payload, display))
        self._rendition(RenditionKind.PREVIEW, small, (width, height, 8), at)
        size = (display.width, display.height, display.bits)
        self._rendition(RenditionKind.FULL, full_depth(payload), size, at)

    def renditions_of(self, image: Image) -> list[Rendition]:
        for row in self._rows:
            row.image = image
        return self._rows

    def _rendition(self, kind: RenditionKind, data: bytes, size: tuple[int, int, int], at: datetime) -> None:
        name = storage.store(data)
        self.names.append(name)
        width, height, bits = size
        sha256 = hashlib.sha256(data).hexdigest()
        self._rows.append(
            Rendition(
                kind=kind,
                name=name,
                width=width,
                height=height,
                bits=bits,
                n_bytes=len(data),
                sha256=sha256,
                created_at=at,
            )
        )


def _file_names(image: Image) -> list[str]:
    names = list(image.renditions.values_list("name", flat=True))
    return [image.object_name, *names] if image.object_name else names


def _hold(image: Image) -> Image:
    held = Image.objects.select_for_update().get(pk=image.pk)
    if held.state != ImageState.QUARANTINED:
        raise NotInQuarantine(f"the image is {held.state}")
    return held


def _check_not_read(image: Image) -> None:
    if names := showings.read_in(image.pk):
        raise BeingRead(
            _(
                "This image is being read in “%(names)s”, with the pixels that were frozen. In quarantine nobody sees "
                "it; it can be changed or removed when the study is closed."
            )
            % {"names": "”, “".join(names)}
        )


def _move(image: Image, state: ImageState, reason: str) -> None:
    image.state, image.state_reason = state, reason
    image.save(update_fields=["state", "state_reason"])


def _given(reason: str) -> str:
    reason = reason.strip()
    if not reason:
        raise NoReasonGiven
    return reason[:300]
