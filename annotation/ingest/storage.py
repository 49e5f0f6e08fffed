"""Files of images: under random names that tell nothing, written whole or not at all.

A file is written before the row that names it, so that a row never points to nothing. What a crash leaves behind is
a file that no row names; `sweep_orphans` removes it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.belonging import claim
from annotation.audit.recording import record
from annotation.enums import RenditionKind
from annotation.models import Image, ModelPicture, Rendition
from annotation.models.fields import public_id
from annotation.site import media

WORKPLACE_OF_EXPORTS = "bank-export-"  # how folders in TEMP_ROOT begin
KEEP_UNNAMED = timedelta(hours=6)  # an ingest that still runs has files without rows


def key_of(name: str) -> str:
    """Where the file of this name is in its place. Raises ValueError for what cannot be a name."""
    if not name or not all(sign.isascii() and (sign.isalnum() or sign in "-_") for sign in name):
        raise ValueError("not a name of a stored file")
    return f"{name[:2]}/{name}"


def store(data: bytes) -> str:
    """Write a file under a new random name and return the name."""
    name = public_id()
    media.write(key_of(name), data)
    return name


def store_by_hash(data: bytes) -> str:
    """Write a file under the SHA-256 of what it holds, and return that.

    Also where it is there: a new one is not taken by a sweep of old files before its row is stored.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    media.write(key_of(sha256), data)
    return sha256


def store_rendition(kind: RenditionKind, data: bytes, width: int, height: int, bits: int) -> Rendition:
    """Write the file of a rendition; its unsaved row still lacks its image and its time."""
    name, sha256 = store(data), hashlib.sha256(data).hexdigest()
    return Rendition(kind=kind, name=name, width=width, height=height, bits=bits, n_bytes=len(data), sha256=sha256)


def remove(names: Iterable[str]) -> None:
    """Delete files; one that is not there is no error."""
    for name in names:
        media.remove(key_of(name))


def load(name: str) -> bytes:
    """Raises FileNotFoundError when there is no such file, ValueError when there cannot be one."""
    return media.read(key_of(name))


def is_there(name: str) -> bool:
    return media.is_there(key_of(name))


def sweep_orphans(*, at: datetime) -> int:
    """Delete files that no row names and that are older than KEEP_UNNAMED; returns how many.

    Also working folders of decoding and of exports that a killed process left behind.
    """
    oldest = (at - KEEP_UNNAMED).timestamp()
    _sweep_workplaces(oldest)
    n_removed = 0
    for keys in _in_chunks(entry.key for entry in media.entries() if entry.changed_at < oldest):
        names = [key.rpartition("/")[2] for key in keys]
        known = set(Rendition.objects.filter(name__in=names).values_list("name", flat=True))
        known |= set(Image.objects.filter(object_name__in=names).values_list("object_name", flat=True))
        known |= set(ModelPicture.objects.filter(sha256__in=names).values_list("sha256", flat=True))
        for key, name in zip(keys, names, strict=True):
            if name not in known:
                media.remove(key)
                n_removed += 1
    return n_removed


def move_files(to: str, *, deletes: bool, at: datetime, watch: media.Watcher | None = None) -> media.Moved:
    """Bring all files of the other place to ``to``, compared by hash, while people work; safe to run again.

    ``deletes``: once every file is compared, those that are in both places go in the old one. Only where the site
    uses the new one already. Raises MediaRefused.
    """
    is_in_use = to == settings.MEDIA
    old = settings.MEDIA_ALSO if is_in_use else settings.MEDIA
    if old in ("", to):
        sentence = _("The site reads from %(to)s alone. Name the place to move from in REXVQA_MEDIA_ALSO.")
        raise media.MediaRefused("nothing_to_move", sentence % {"to": to})
    if deletes and not is_in_use:
        sentence = _("The site still uses %(old)s. Start it with REXVQA_MEDIA=%(to)s and REXVQA_MEDIA_ALSO=%(old)s.")
        raise media.MediaRefused("still_in_use", sentence % {"old": old, "to": to})
    source, target = media.place_at(old), media.place_at(to)
    claim(target)
    moved = media.copy_files(source, target, watch=watch)
    if deletes:
        media.each(source.delete, moved.written + moved.same)
        sweep_orphans(at=at)  # what was removed while a run before this one was copying
    numbers = {"written": len(moved.written), "same": len(moved.same)}
    with transaction.atomic():
        record("site.images_moved", actor=None, at=at, facts={"from": old, "to": to, **numbers, "deleted": deletes})
    return moved


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


def _in_chunks(keys: Iterator[str], size: int = 500) -> Iterator[list[str]]:
    while chunk := list(islice(keys, size)):
        yield chunk
