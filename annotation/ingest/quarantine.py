"""What a person with the right decides about an image that may identify somebody: release, black out, remove.

And about a film that lies otherwise than usual by its file: how it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.contributions import contributed, read_in
from annotation.enums import ImageState, RoundState, Turn, ViewPosition
from annotation.imaging.kernels.masking import Box, blackened, boxes_within, is_covered
from annotation.imaging.kernels.orientation import (
    inverse_of,
    is_frontal,
    marks_speak_for,
    side_marks,
    turned_box,
    turned_object,
)
from annotation.ingest import storage
from annotation.ingest.kernels.credits import IngestRefused
from annotation.ingest.serving import drop_pictures
from annotation.models import Assignment, AuditEvent, Image, Rendition, User

REPORTED = "a reviewer saw identifying text"
SEEN = (ImageState.AVAILABLE, ImageState.CHECKING)


@transaction.atomic
def quarantine_image(image: Image, *, reason: str, actor: User | None, at: datetime) -> None:
    """Take an image out of everybody's sight until somebody with the right decides. Twice changes nothing.

    Raises IngestRefused for an image without pixels, and without a reason.
    """
    reason = _given(reason)
    locked = Image.objects.select_for_update().get(pk=image.pk)
    if locked.state == ImageState.QUARANTINED:
        return
    if locked.state not in SEEN:
        raise not_to_be_quarantined()
    _move(locked, ImageState.QUARANTINED, reason)
    record("image.quarantined", actor=actor, at=at, subject=locked, facts={"reason": reason})
    for note in contributed().image_hidden:
        note(locked, reason, actor, at)


def held_by_reviewers() -> dict[User, list[Image]]:
    """Images in quarantine of which a reviewer said that they identify somebody, by who said it last."""
    held = Image.objects.filter(state=ImageState.QUARANTINED, state_reason=REPORTED).order_by("ingested_at", "pk")
    images = {image.public_id: image for image in held}
    events = AuditEvent.objects.filter(subject_type="image", subject_id__in=images, act="image.quarantined")
    last = {event.subject_id: event.actor for event in events.select_related("actor").order_by("id")}
    found: dict[User, list[Image]] = {}
    for name, image in images.items():
        if person := last.get(name):
            found.setdefault(person, []).append(image)
    return found


@transaction.atomic
def release(image: Image, *, reason: str, actor: User, at: datetime) -> None:
    """Somebody looked: the image identifies nobody, people may see it. Raises IngestRefused.

    A film that by its file lies otherwise than usual is turned or left first (``show_turned``).
    """
    reason = _given(reason)
    locked = _locked(image)
    if locked.waits_for_turn:
        sentence = _("By its file it lies otherwise than usual: open it and choose which of the two pictures is right.")
        raise IngestRefused("not_chosen", sentence)
    _move(locked, ImageState.AVAILABLE, "")
    record("image.released", actor=actor, at=at, subject=locked, facts={"reason": reason})


def released_by(actor: User, since: datetime) -> QuerySet[Image]:
    """Images that people may see because this person released them then or later: nobody decided after that."""
    releases = AuditEvent.objects.filter(subject_type="image", act="image.released")
    newest = releases.filter(subject_id=OuterRef("public_id")).order_by("-id").values("id")[:1]
    images = Image.objects.filter(state=ImageState.AVAILABLE).annotate(released=Subquery(newest))
    return images.filter(Exists(releases.filter(id=OuterRef("released"), actor=actor, at__gte=since)))


@transaction.atomic
def undo_release(image: Image, *, since: datetime, actor: User, at: datetime) -> None:
    """Back into quarantine. Raises IngestRefused where somebody decided later."""
    Image.objects.select_for_update().get(pk=image.pk)
    if not released_by(actor, since).filter(pk=image.pk).exists():
        raise decided_meanwhile("not_to_be_quarantined")
    quarantine_image(image, reason=_("Release undone."), actor=actor, at=at)


def mask(image: Image, boxes: Sequence[Box], *, reason: str, actor: User, at: datetime) -> None:
    """Black out boxes in the stored pixels and make the object and its renditions anew, under new names.

    The image stays in quarantine, so that the result is looked at before it is released. The old files are deleted.
    Raises IngestRefused.
    """
    reason = _given(reason)
    _check_not_read(image)
    if image.state != ImageState.QUARANTINED:
        raise decided_meanwhile()
    inside = boxes_within(boxes, columns=image.columns or 0, rows=image.rows or 0)
    if not inside:
        sentence = _("No box lies on the image. Draw them inside its edges.")
        raise IngestRefused("nothing_to_black_out", sentence, status=422)

    def black_out(locked: Image) -> None:
        locked.text_findings = [f for f in locked.text_findings if not is_covered(tuple(f["box"]), inside)]
        facts = {"reason": reason, "boxes": [list(box) for box in inside]}
        record("image.masked", actor=actor, at=at, subject=locked, facts=facts)

    _make_anew(image, blackened(_object_of(image), inside), black_out, at=at)


def show_turned(image: Image, turned: bool, *, reason: str, actor: User, at: datetime) -> bool:
    """Show a film as its Patient Orientation asks, or as it came in. Its object and renditions are made anew.

    False where it is shown so already. Raises IngestRefused, also where people read or review with it: what they are
    shown keeps its frame.
    """
    reason = _given(reason)
    if not image.turn or image.state not in (ImageState.AVAILABLE, ImageState.QUARANTINED):
        raise IngestRefused("not_to_be_turned", _("Its file does not ask for this image to be turned."))
    if image.is_turned == turned:
        return False
    step = _step_to(image, turned)

    def choose(locked: Image) -> None:
        if image.is_turned is not None:  # else nobody has seen it
            _check_not_read(image)
            _check_not_reviewed(image)
        size = {"columns": image.columns or 0, "rows": image.rows or 0}
        found = locked.text_findings
        locked.text_findings = [{**one, "box": list(turned_box(tuple(one["box"]), step, **size))} for one in found]
        locked.is_turned = turned
        facts = {"reason": reason, "turn": str(image.turn), "turned": turned}
        record("image.turned", actor=actor, at=at, subject=locked, facts=facts)

    if step:
        _make_anew(image, turned_object(_object_of(image), step), choose, at=at, is_turned=turned)
    else:
        with transaction.atomic():
            locked = _locked_as(image)
            choose(locked)
            locked.save(update_fields=["is_turned", "text_findings"])
    return True


def mark_against(image: Image, turned: bool) -> bool:
    """Whether the side marks that were found in a frontal film speak for the other one of its two pictures."""
    if not image.turn or not is_frontal(ViewPosition(image.view_position), Turn(image.turn)):
        return False
    step = _step_to(image, not image.is_turned)
    marks = side_marks(image.text_findings)
    for_other = marks_speak_for(marks, step, columns=image.columns or 0, rows=image.rows or 0)
    return for_other is not None and for_other != (turned != bool(image.is_turned))


def _step_to(image: Image, turned: bool) -> Turn:
    """From the stored picture of a film to one of its two."""
    if turned == bool(image.is_turned):
        return Turn.NONE
    return Turn(image.turn) if turned else inverse_of(Turn(image.turn))


class Picture(Struct, frozen=True):
    """One of the two pictures between which a person chooses."""

    shown: str  # what the form sends
    turned: str  # what was done to the film as it came in, in words; empty: nothing
    step: Turn  # from the stored picture to this one
    is_chosen: bool
    is_by_mark: bool  # its side marks speak for it
    is_against_mark: bool


def pictures_of(image: Image) -> list[Picture]:
    """As it came in, and as its file asks; none where the file asks for nothing."""
    return [
        Picture(
            shown="turned" if turned else "as_it_came",
            turned=str(Turn(image.turn).label) if turned else "",
            step=_step_to(image, turned),
            is_chosen=image.is_turned is turned,
            is_by_mark=mark_against(image, not turned),
            is_against_mark=mark_against(image, turned),
        )
        for turned in ((False, True) if image.turn else ())
    ]


def _make_anew(
    image: Image, stored: bytes, change: Callable[[Image], None], *, at: datetime, is_turned: bool | None = None
) -> None:
    """Store another object in place of an image's, with renditions of it, under new names; the old files are deleted.

    ``change`` gets the locked row before it is saved. Raises IngestRefused where somebody was faster.
    """
    from annotation.imaging.kernels.image_files import read_image  # loads pydicom: not at every start
    from annotation.ingest.storing import write_renditions

    is_turned = bool(image.is_turned) if is_turned is None else is_turned
    source = read_image(stored)
    written: list[str] = []
    try:
        written.append(storage.store(stored))
        display, renditions = write_renditions(source, written, Turn(image.turn) if is_turned else Turn.NONE)
        with transaction.atomic():
            locked = _locked_as(image)
            old = [*_file_names(locked), *drop_pictures(locked)]
            locked.renditions.all().delete()
            for row in renditions:
                row.image, row.created_at = locked, at
            Rendition.objects.bulk_create(renditions)
            locked.object_name, locked.display = written[0], display
            locked.rows, locked.columns = source.pixels.shape
            change(locked)
            locked.save()
    except BaseException:
        storage.remove(written)
        raise
    storage.remove(old)


@transaction.atomic
def remove(image: Image, *, reason: str, actor: User, at: datetime) -> None:
    """Decide against an image: its files are deleted, its row stays. Raises IngestRefused.

    Where people read with it, the image stays in quarantine until they are done: nobody sees it, and nothing is lost.
    """
    reason = _given(reason)
    _check_not_read(image)
    locked = _locked(image)
    names = [*_file_names(locked), *drop_pictures(locked)]
    locked.renditions.all().delete()
    locked.object_name, locked.display, locked.text_findings = "", None, []
    locked.save(update_fields=["object_name", "display", "text_findings"])
    _move(locked, ImageState.REMOVED, reason)
    record("image.removed", actor=actor, at=at, subject=locked, facts={"reason": reason})
    transaction.on_commit(lambda: storage.remove(names))


def decided_meanwhile(code: str = "not_in_quarantine") -> IngestRefused:
    sentence = _("Somebody else decided about this image in the meantime; nothing was changed.")
    return IngestRefused(code, sentence)


def not_to_be_quarantined() -> IngestRefused:
    """Only an image that has pixels and is not removed can go into quarantine."""
    return IngestRefused("not_to_be_quarantined", _("This image has no pixels that could be seen."))


class Decision(Protocol):
    """``release`` or ``remove``: what can be decided for many images at once."""

    def __call__(self, image: Image, *, reason: str, actor: User, at: datetime) -> None: ...


class Decided(Struct):
    """What became of one decision about many images."""

    done: list[Image] = field(default_factory=list)
    n_overtaken: int = 0  # somebody else decided in the meantime
    refusals: list[str] = field(default_factory=list)  # why images stay in quarantine, each sentence once
    n_refused: int = 0


def decide_each(images: Iterable[Image], decide: Decision, *, reason: str, actor: User, at: datetime) -> Decided:
    """One decision about many images, each in a transaction and with an audit event of its own.

    An image that cannot be decided upon stops no other. Without a reason IngestRefused is raised before anything is
    changed.
    """
    reason = _given(reason)
    outcome = Decided()
    for image in images:
        try:
            decide(image, reason=reason, actor=actor, at=at)
        except IngestRefused as refusal:
            if refusal.code == "not_in_quarantine":
                outcome.n_overtaken += 1
                continue
            outcome.n_refused += 1
            if str(refusal) not in outcome.refusals:
                outcome.refusals.append(str(refusal))
        else:
            outcome.done.append(image)
    return outcome


def _file_names(image: Image) -> list[str]:
    names = list(image.renditions.values_list("name", flat=True))
    return [image.object_name, *names] if image.object_name else names


def _object_of(image: Image) -> bytes:
    """Raises IngestRefused where somebody made it anew, or deleted it, since the image was loaded."""
    try:
        return storage.load(image.object_name)
    except FileNotFoundError:
        with transaction.atomic():
            _locked_as(image)
        raise


def _locked_as(image: Image) -> Image:
    """Raises IngestRefused where somebody changed it since it was loaded."""
    locked = Image.objects.select_for_update().get(pk=image.pk)
    if any(getattr(locked, name) != getattr(image, name) for name in ("object_name", "state", "is_turned")):
        raise decided_meanwhile()
    return locked


def _locked(image: Image) -> Image:
    locked = Image.objects.select_for_update().get(pk=image.pk)
    if locked.state != ImageState.QUARANTINED:
        raise decided_meanwhile()
    return locked


def _check_not_read(image: Image) -> None:
    if names := read_in(image.pk):
        sentence = _(
            "This image is being read in “%(names)s”, with the pixels that were frozen. In quarantine nobody sees it; "
            "it can be changed or removed when the study is closed."
        )
        raise IngestRefused("being_read", sentence % {"names": "”, “".join(names)})


def _check_not_reviewed(image: Image) -> None:
    shown = Q(revision__question__exam=image.exam_id) | Q(revision__question__exam__prior=image.exam_id)
    rounds = Assignment.objects.filter(shown, round__state=RoundState.OPEN).order_by("round__name")
    if names := list(rounds.values_list("round__name", flat=True).distinct()):
        sentence = _("This image is shown in the open round “%(names)s”. It can be turned when the round is closed.")
        raise IngestRefused("being_read", sentence % {"names": "”, “".join(names)})


def _move(image: Image, state: ImageState, reason: str) -> None:
    image.state, image.state_reason = state, reason
    image.save(update_fields=["state", "state_reason"])


def _given(reason: str) -> str:
    reason = reason.strip()
    if not reason:
        sentence = _("Say in a few words why. The reason is kept in the audit log.")
        raise IngestRefused("no_reason", sentence, status=422, field="reason")
    return reason[:300]
