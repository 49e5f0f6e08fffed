"""One decoded image becomes files in storage and everything that its rows will say. No row is written here."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.conf import settings

from annotation.enums import RenditionKind
from annotation.imaging.kernels.deidentification import as_file, deidentified, keyed_names
from annotation.imaging.kernels.reading import SourceImage, SourceKind
from annotation.imaging.kernels.refusals import WARNINGS
from annotation.imaging.kernels.rendering import as_8bit, full_depth, prepare, preview
from annotation.ingest import storage


@dataclass(frozen=True)
class Source:
    """Where an image came from. `root` and `path` together name the file; an empty root means it was uploaded."""

    name: str  # what the person who brought it calls it
    root: str
    path: str
    sha256: str


@dataclass(frozen=True)
class StoredRendition:
    kind: RenditionKind
    name: str
    width: int
    height: int
    bits: int
    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class PreparedImage:
    """An image whose files are written and whose rows are not."""

    source: Source
    image: SourceImage  # without its pixels: an archive may hold thousands of images
    shape: tuple[int, ...]  # rows, columns
    n_pixel_bytes: int
    pixels_sha256: str
    object_name: str
    display: dict[str, Any]
    renditions: tuple[StoredRendition, ...]

    @property
    def file_names(self) -> list[str]:
        return [self.object_name, *(rendition.name for rendition in self.renditions)]

    @property
    def warnings(self) -> list[dict[str, str]]:
        return [{"code": code, "message": WARNINGS[code]} for code in self.image.warnings]

    @property
    def modality(self) -> str:
        return self.image.attributes.modality if self.image.kind is SourceKind.DICOM else ""


def prepare_image(image: SourceImage, source: Source) -> PreparedImage:
    """De-identify, render and write the files. When writing fails, nothing of it stays."""
    pixels_sha256 = hash_pixels(image)
    exam = image.identifiers.study_uid or pixels_sha256
    names = keyed_names(
        settings.PSEUDONYM_KEY.encode(), image, exam=exam, image=image.identifiers.sop_uid or pixels_sha256
    )
    payload, display = prepare(image)
    small, width, height = preview(as_8bit(payload, display))
    written: list[str] = []
    try:
        written.append(storage.store(as_file(deidentified(image, names, burned_in=image.attributes.burned_in or None))))
        renditions = (
            _store(written, RenditionKind.PREVIEW, small, width, height, 8),
            _store(written, RenditionKind.FULL, full_depth(payload), display.width, display.height, display.bits),
        )
    except BaseException:
        storage.remove(written)
        raise
    kept = replace(image, pixels=np.empty((0, 0), dtype=image.pixels.dtype))
    shape, n_bytes = image.pixels.shape, image.pixels.nbytes
    return PreparedImage(source, kept, shape, n_bytes, pixels_sha256, written[0], display.as_json(), renditions)


def hash_pixels(image: SourceImage) -> str:
    """SHA-256 over size, type, photometric interpretation and pixels: what must be equal to be the same image."""
    rows, columns = image.pixels.shape
    digest = hashlib.sha256(f"{rows} {columns} {image.pixels.dtype.str} {image.attributes.is_inverted}".encode())
    digest.update(image.pixels.tobytes())
    return digest.hexdigest()


def _store(written: list[str], kind: RenditionKind, data: bytes, width: int, height: int, bits: int) -> StoredRendition:
    name = storage.store(data)
    written.append(name)
    return StoredRendition(kind, name, width, height, bits, len(data), hashlib.sha256(data).hexdigest())
