"""Where the files of images are: a folder, or a bucket of an object storage (S3). Everybody else asks this module.

While files move there are two places. New files go to the first; what is not in it is looked for in the other.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.refusals import Refused

if TYPE_CHECKING:
    from annotation.site.bucket import Bucket

FOLDER = "folder"  # MEDIA_ROOT
MEDIA_PLACE = re.compile(rf"{FOLDER}|s3://[a-z0-9][a-z0-9.-]+[a-z0-9](/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
AT_ONCE = 8  # files that are moved at the same time, each whole in memory
MARK = "site"  # the file of a bucket that says whose images it holds
Place: TypeAlias = "Folder | Bucket"
Watcher = Callable[[int, int], None]


class MediaRefused(Refused):
    """A place of images cannot be used, now or at all; the sentence says why and what to do."""


class MediaAway(MediaRefused, ConnectionError):
    """A bucket does not do what it was asked for: a job tries again, a page comes again."""


class StoredFile(Struct, frozen=True):
    """A stored file as its place lists it; ``key`` is the same in every place."""

    key: str
    n_bytes: int
    changed_at: float  # seconds since 1970
    md5: str = ""  # where the place tells one


class Folder(FileSystemStorage):
    """Files are written whole or not at all."""

    def __init__(self, location: Path | None = None) -> None:
        super().__init__(location=location, allow_overwrite=True)

    def __str__(self) -> str:
        return str(self.location)

    def _save(self, name: str, content: File[Any]) -> str:
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{secrets.token_hex(8)}.part")
        with partial.open("wb") as stream:
            for chunk in content.chunks():
                stream.write(chunk)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
        return name

    def entries(self) -> Iterator[StoredFile]:
        for folder in sorted(Path(self.location).glob("??")):
            for path in sorted(folder.iterdir()):
                with suppress(FileNotFoundError):  # removed meanwhile
                    stat = path.stat()
                    yield StoredFile(f"{folder.name}/{path.name}", stat.st_size, stat.st_mtime)


@lru_cache
def place_at(text: str, *, is_quick: bool = False) -> Place:
    """``folder``, or ``s3://bucket/prefix``; ``is_quick``: gives up after a second or two. Raises MediaRefused."""
    if text == FOLDER:
        return Folder()
    if not MEDIA_PLACE.fullmatch(text):
        raise MediaRefused("no_place", _("“%(text)s” is neither folder nor s3://bucket/prefix.") % {"text": text})
    try:
        from annotation.site.bucket import Bucket  # loads boto3, which is optional
    except ImportError:
        sentence = _("boto3 or django-storages is not installed; “make setup EXTRAS=object-storage” installs them.")
        raise MediaRefused("not_installed", sentence, status=503) from None
    return Bucket(text, is_quick=is_quick)


os.register_at_fork(after_in_child=place_at.cache_clear)  # its connections are those of one process


def places(*, is_quick: bool = False) -> list[Place]:
    """Where new files go, then where files are that have not moved yet."""
    texts = dict.fromkeys((settings.MEDIA, settings.MEDIA_ALSO))
    return [place_at(text, is_quick=is_quick) for text in texts if text]


def fault_of_media() -> str:
    """Why a bucket cannot be read now and what to do, in one sentence; empty: it can."""
    try:
        for place in places(is_quick=True):
            with suppress(FileNotFoundError):
                place.open(MARK).close()
    except MediaRefused as refusal:
        return str(refusal)
    return ""


def write(key: str, data: bytes) -> None:
    places()[0].save(key, ContentFile(data))


def opened(key: str) -> Any:
    """The file, to be read and closed. Raises FileNotFoundError."""
    *first, last = places()
    for place in first:
        with suppress(FileNotFoundError):
            return place.open(key)
    return last.open(key)


def read(key: str, place: Place | None = None) -> bytes:
    """Raises FileNotFoundError."""
    with place.open(key) if place else opened(key) as file:
        content: bytes = file.read()
    return content


def is_there(key: str) -> bool:
    return any(place.exists(key) for place in places())


def remove(key: str) -> None:
    """One that is not there is no error."""
    for place in places():
        place.delete(key)


def entries() -> Iterator[StoredFile]:
    """Every stored file once."""
    seen = set[str]()
    for place in places():
        for entry in place.entries():
            if entry.key not in seen:
                seen.add(entry.key)
                yield entry


class Moved(Struct, frozen=True):
    """The keys of files that are in both places now: those that were written, and those that were the same."""

    written: list[str]
    same: list[str]


def copy_files(source: Place, target: Place, *, watch: Watcher | None = None) -> Moved:
    """Have every file of ``source`` in ``target``, compared by hash; what a stopped run wrote is not written again.

    A file that is removed meanwhile goes in both. Raises MediaRefused for one that differs after it was written.
    """
    there, moved = {entry.key: entry for entry in target.entries()}, Moved([], [])

    def copy(entry: StoredFile) -> None:
        found = there.get(entry.key)
        try:
            if found and found.n_bytes == entry.n_bytes and _md5(source, entry) == _md5(target, found):
                moved.same.append(entry.key)
                return
            data = read(entry.key, source)
        except FileNotFoundError:
            return
        target.save(entry.key, ContentFile(data))
        if hashlib.sha256(read(entry.key, target)).digest() != hashlib.sha256(data).digest():
            sentence = _("%(key)s is not the same in %(target)s after it was written.")
            raise MediaRefused("differs", sentence % {"key": entry.key, "target": target})
        if source.exists(entry.key):
            moved.written.append(entry.key)
        else:
            target.delete(entry.key)

    each(copy, list(source.entries()), watch)
    return moved


def each(act: Callable[[Any], None], things: list[Any], watch: Watcher | None = None) -> None:
    """Some at a time; the first that fails ends it."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for number, _none in enumerate(pool.map(act, things), start=1):
                if watch:
                    watch(number, len(things))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _md5(place: Place, entry: StoredFile) -> str:
    """MD5, since buckets tell it of most of their files; one that tells another word has its files written again."""
    return entry.md5 or hashlib.md5(read(entry.key, place), usedforsecurity=False).hexdigest()
