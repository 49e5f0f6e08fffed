"""Files of images: under random names that tell nothing, written whole or not at all.

A file is written before the row that names it, so that a row never points to nothing. What a crash leaves behind is
a file that no row names; `sweep_orphans` removes it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings

from annotation.enums import RenditionKind
from annotation.models import Image, ModelPicture, Rendition
from annotation.models.fields import public_id

WORKPLACE_OF_EXPORTS = "bank-export-"  # how folders in TEMP_ROOT begin
KEEP_UNNAMED = timedelta(hours=6)  # an ingest that still runs has files without rows


def path_of(name: str) -> Path:
    """Where the file of this name lies. Raises ValueError for what cannot be a name."""
    if not name or not all(sign.isascii() and (sign.isalnum() or sign in "-_") for sign in name):
        raise ValueError("not a name of a stored file")
    return Path(settings.MEDIA_ROOT) / name[:2] / name


def store(data: bytes) -> str:
    """Write a file under a new random name and return the name."""
    name = public_id()
    _write_whole(path_of(name), data)
    return name


def store_by_hash(data: bytes) -> str:
    """Write a file under the SHA-256 of what it holds, unless it is there, and return that."""
    sha256 = hashlib.sha256(data).hexdigest()
    path = path_of(sha256)
    try:
        os.utime(path)  # so that a sweep of old files does not take it before its row is there
    except FileNotFoundError:
        _write_whole(path, data)
    return sha256


def _write_whole(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{public_id()}.part")
    with partial.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)


def store_rendition(kind: RenditionKind, data: bytes, width: int, height: int, bits: int) -> Rendition:
    """Write the file of a rendition; its unsaved row still lacks its image and its time."""
    name, sha256 = store(data), hashlib.sha256(data).hexdigest()
    return Rendition(kind=kind, name=name, width=width, height=height, bits=bits, n_bytes=len(data), sha256=sha256)


def remove(names: Iterable[str]) -> None:
    """Delete files; one that is not there is no error."""
    for name in names:
        path_of(name).unlink(missing_ok=True)


def load(name: str) -> bytes:
    """Raises FileNotFoundError when there is no such file, ValueError when there cannot be one."""
    return path_of(name).read_bytes()


def sweep_orphans(*, at: datetime) -> int:
    """Delete files that no row names and that are older than KEEP_UNNAMED; returns how many.

    Also working folders of decoding and of exports that a killed process left behind.
    """
    oldest = (at - KEEP_UNNAMED).timestamp()
    _sweep_workplaces(oldest)
    n_removed = 0
    for paths in _in_chunks(path for path in Path(settings.MEDIA_ROOT).glob("??/*") if _is_older(path, oldest)):
        names = [path.name for path in paths]
        known = set(Rendition.objects.filter(name__in=names).values_list("name", flat=True))
        known |= set(Image.objects.filter(object_name__in=names).values_list("object_name", flat=True))
        known |= set(ModelPicture.objects.filter(sha256__in=names).values_list("sha256", flat=True))
        for path in paths:
            if path.name not in known:
                path.unlink(missing_ok=True)
                n_removed += 1
    return n_removed


def _is_older(path: Path, oldest: float) -> bool:
    try:
        return path.stat().st_mtime < oldest
    except FileNotFoundError:
        return False


def _sweep_workplaces(oldest: float) -> None:
    for prefix in ("decoding-", WORKPLACE_OF_EXPORTS):
        for folder in Path(settings.TEMP_ROOT).glob(f"{prefix}*"):
            if _is_older(folder, oldest):
                shutil.rmtree(folder, ignore_errors=True)


def _in_chunks(paths: Iterable[Path], size: int = 500) -> Iterator[list[Path]]:
    chunk: list[Path] = []
    for path in paths:
        chunk.append(path)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
