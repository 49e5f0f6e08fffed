"""Which rows wait for a file, and whether it came in before. The one place of ingest that reads source identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Q, QuerySet
from msgspec import Struct

from annotation.enums import IdentifierKind, ImageState
from annotation.hashes import identifier_digest, image_path_digest
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.models import Exam, Image, QuestionBank, Revision, SourceIdentifier

if TYPE_CHECKING:
    from annotation.imaging.kernels.attributes import Identifiers

MAX_STRIPPED_FOLDERS = 3  # an archive often wraps everything in a folder or two of its own


class Source(Struct, frozen=True):
    """Where an image came from. `root` and `path` together name the file; an empty root means it was uploaded."""

    name: str  # what the person who brought it calls it
    root: str
    path: str
    sha256: str


def pending_images(source: Source, bank: QuestionBank | None, roots: Iterable[str]) -> list[Image]:
    """Images that questions name by exactly this file: by its place on disk, or, uploaded, by its path in the bank.

    `roots` are the bank's roots, for an upload. Only images of the bank, when one is given.
    """
    places = [(source.root, source.path)]
    if not source.root:
        places = [(root, path) for path in shorter_paths(source.path) for root in roots]
    named = _named_by(places)
    if bank is not None:
        named = [row for row in named if row.bank_id == bank.pk]
    ids = [row.image_id for row in named if row.image_id is not None]
    waiting = Image.objects.filter(pk__in=ids, state=ImageState.PENDING, exam__bank__deleted_at__isnull=True)
    return list(waiting.select_related("exam").order_by("pk"))


def missing_images(bank: QuestionBank | None) -> QuerySet[Image]:
    """Images of the bank, or of all banks, that wait for their file."""
    waiting = Image.objects.filter(state=ImageState.PENDING)
    return waiting if bank is None else waiting.filter(exam__bank=bank)


def roots_of(bank: QuestionBank | None) -> list[str]:
    """The folders that the image paths of a bank start from."""
    if bank is None:
        return []
    rows = SourceIdentifier.objects.filter(bank=bank, kind=IdentifierKind.IMAGE_PATH).exclude(root="")
    return sorted(set(rows.order_by().values_list("root", flat=True).distinct()))


def has_come_in(source: Source) -> bool:
    """Whether the very same bytes came in before; an image that was removed does not come back."""
    return Image.objects.filter(source_sha256=source.sha256).exclude(source_sha256="").exists()


def images_of_runs(begun: Sequence[datetime]) -> list[tuple[int, int, bool]]:
    """The images of runs that were begun then, with their exams, and whether a question named each by its path."""
    named = SourceIdentifier.objects.filter(image_id=OuterRef("pk"), kind=IdentifierKind.IMAGE_PATH).exclude(root="")
    found = Image.objects.filter(ingested_at__in=begun).annotate(is_named=Exists(named)).order_by("pk")
    return list(found.values_list("pk", "exam_id", "is_named"))


def stored_uids(uids: Iterable[str]) -> set[str]:
    """Which of these SOP Instance UIDs came in before."""
    digests = [identifier_digest(IdentifierKind.SOP_UID, uid) for uid in uids]
    rows = SourceIdentifier.objects.filter(digest__in=digests, kind=IdentifierKind.SOP_UID)
    return set(rows.values_list("value", flat=True)) & set(uids)


def take_held(waiting: Image, sha256: str) -> bool:
    """Whether an image with these very bytes takes the place of one that waits for them under another path: one that
    its exam has, or that came in alone. What was decided about it stays, and it goes by the path of the other, too.
    """
    exam = waiting.exam
    came_alone = Q(exam__bank=None) | Q(exam__bank=exam.bank_id, exam__bank_import=None)
    found = Image.objects.filter(Q(exam=exam) | came_alone, source_sha256=sha256).order_by("pk").first()
    if found is None:
        return False
    names = SourceIdentifier.objects.filter(image_id=found.pk)
    if found.exam_id != exam.pk:
        names.filter(kind=IdentifierKind.IMAGE_PATH).delete()
        names.update(exam_id=exam.pk, bank_id=exam.bank_id)
        Image.objects.filter(pk=found.pk).update(exam=exam, position=waiting.position)
    Image.objects.filter(pk=found.pk, view_position="unknown").update(view_position=waiting.view_position)
    SourceIdentifier.objects.filter(image_id=waiting.pk).update(image_id=found.pk)
    for revision in Revision.objects.filter(question__exam=exam, images_left_out__isnull=False):
        left_out = [found.public_id if one == waiting.public_id else one for one in revision.images_left_out or ()]
        Revision.objects.filter(pk=revision.pk).update(images_left_out=left_out)
    waiting.delete()
    return True


def check_not_another(source: Source, identifiers: Identifiers, pixels_sha256: str) -> bool:
    """True when this image came in before with the same pixels, in another file.

    Raises ImageRefused: same_uid when its SOP Instance UID came in with other pixels, same_path when another image
    came in from its place.
    """
    if identifiers.sop_uid:
        digest = identifier_digest(IdentifierKind.SOP_UID, identifiers.sop_uid)
        earlier = _pixels_of(_rows(digest, IdentifierKind.SOP_UID, identifiers.sop_uid))
        if earlier:
            if pixels_sha256 not in earlier:
                raise ImageRefused("same_uid")
            return True
    if source.root:
        arrived = _pixels_of(_named_by([(source.root, source.path)]))
        if arrived and pixels_sha256 not in arrived:
            raise ImageRefused("same_path")
        return bool(arrived)
    return False


def exam_of_study(study_uid: str, bank: QuestionBank | None) -> Exam | None:
    """The exam that images of this DICOM study belong to, in the bank or outside all banks."""
    if not study_uid:
        return None
    rows = _rows(identifier_digest(IdentifierKind.STUDY_UID, study_uid), IdentifierKind.STUDY_UID, study_uid)
    ids = [row.exam_id for row in rows if row.exam_id is not None]
    return Exam.objects.filter(pk__in=ids, bank=bank).order_by("pk").first()


def identifier(kind: IdentifierKind, value: str, *, image: Image | None, exam: Exam) -> SourceIdentifier:
    """An unsaved row for a number of the source."""
    return SourceIdentifier(
        digest=identifier_digest(kind, value),
        kind=kind,
        value=value,
        bank_id=exam.bank_id,
        exam_id=exam.pk,
        image_id=image.pk if image else None,
    )


def path_identifier(source: Source, image: Image, exam: Exam) -> SourceIdentifier:
    """An unsaved row for the place of a file."""
    return SourceIdentifier(
        digest=image_path_digest(source.root, source.path),
        kind=IdentifierKind.IMAGE_PATH,
        value=source.path,
        root=source.root,
        bank_id=exam.bank_id,
        exam_id=exam.pk,
        image_id=image.pk,
    )


def shorter_paths(path: str) -> list[str]:
    """What a question file may call a file: its path with or without the folders that wrap all."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(min(len(parts), MAX_STRIPPED_FOLDERS + 1))]


def _named_by(places: list[tuple[str, str]]) -> list[SourceIdentifier]:
    digests = [image_path_digest(root, path) for root, path in places]
    whole = {f"{root.rstrip('/')}/{path}" for root, path in places}
    rows = SourceIdentifier.objects.filter(digest__in=digests, kind=IdentifierKind.IMAGE_PATH)
    return [row for row in rows if f"{row.root.rstrip('/')}/{row.value}" in whole]


def _rows(digest: int, kind: IdentifierKind, value: str) -> list[SourceIdentifier]:
    return [row for row in SourceIdentifier.objects.filter(digest=digest, kind=kind) if row.value == value]


def _pixels_of(rows: Iterable[SourceIdentifier]) -> set[str]:
    """Hashes of the pixels of those images among the rows that have come in."""
    ids = [row.image_id for row in rows if row.image_id is not None]
    images = Image.objects.filter(pk__in=ids).exclude(pixels_sha256="")
    return set(images.values_list("pixels_sha256", flat=True))
