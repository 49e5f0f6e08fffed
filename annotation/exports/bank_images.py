"""The images of exported exams as PNG files, under the paths that their questions name.

The site keeps no file as it came: it keeps the de-identified pixels at full depth, without loss. They are written as
PNG of 16 bit, or of 8 where they have no more, bones white; the ending of the path stays, as the questions name it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from annotation.enums import IdentifierKind, ImageState, RenditionKind
from annotation.exports.tables import ExportRefused
from annotation.ingest import storage
from annotation.models import Image, QuestionBank, Rendition, SourceIdentifier

AT_ONCE = 500


def write_images(bank: QuestionBank, exams: Collection[int], folder: Path) -> dict[str, int]:
    """Write every available image that is named by a path; how many were written, and how many not, by the reason."""
    counts = dict.fromkeys(("written", "in quarantine", "missing or removed", "without a path"), 0)
    paths = _paths_of(bank, exams)
    rows = Image.objects.filter(exam__bank=bank).order_by("pk").values_list("pk", "exam_id", "state")
    available: list[int] = []
    for pk, exam_id, state in rows.iterator(chunk_size=10_000):
        if exam_id not in exams:
            continue
        if state in (ImageState.QUARANTINED, ImageState.CHECKING):
            counts["in quarantine"] += 1
        elif state != ImageState.AVAILABLE:
            counts["missing or removed"] += 1
        elif pk not in paths:
            counts["without a path"] += 1
        else:
            available.append(pk)
    for start in range(0, len(available), AT_ONCE):
        some = available[start : start + AT_ONCE]
        renditions = Rendition.objects.filter(image__in=some, kind=RenditionKind.FULL).select_related("image")
        for rendition in renditions.order_by("image"):
            _write(rendition, folder / paths[rendition.image_id])
            counts["written"] += 1
    return counts


def _paths_of(bank: QuestionBank, exams: Collection[int]) -> dict[int, PurePosixPath]:
    """The first path by which each image was named."""
    rows = SourceIdentifier.objects.filter(bank=bank, kind=IdentifierKind.IMAGE_PATH).order_by("pk")
    found: dict[int, PurePosixPath] = {}
    for image_id, exam_id, value in rows.values_list("image_id", "exam_id", "value").iterator(chunk_size=10_000):
        if image_id is not None and exam_id in exams:
            found.setdefault(image_id, _inside(value))
    return found


def _inside(value: str) -> PurePosixPath:
    """Raises ExportRefused for a path that leaves the folder; none is stored so, and none is written so."""
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts:
        raise ExportRefused("path_outside", f"The path of an image leaves the folder: {value[:80]!r}.", status=422)
    return path


def _write(rendition: Rendition, path: Path) -> None:
    from annotation.imaging.kernels.rendering import payload_of, png_of  # loads Pillow: not at every start

    payload = payload_of(storage.load(rendition.name), rendition.width, rendition.height)
    display = rendition.image.display or {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png_of(payload, bits=rendition.bits, is_inverted=bool(display.get("invert"))))
