"""Files of the home that other machines need: what people send until a job has read it, letters, what jobs make.

Where images are in a folder, these files stay where they are written, in the home that all machines share. Where a
bucket has them, and there are several machines (REXVQA_NODES), each has a home of its own: what is whole moves into the
bucket, below ``home/``, before the row or the job that needs it exists, and comes from there as a copy in TEMP_ROOT,
which is swept as all working files.

Only its owner reads what is in a home: the answers, the keys and the images of patients.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from annotation.refusals import Refused
from annotation.site import media
from annotation.site.media import Folder, MediaAway, StoredFile

if TYPE_CHECKING:
    from annotation.site.bucket import Bucket

log = logging.getLogger(__name__)
BELOW = "home/"  # how their keys in a bucket begin
Found = tuple["Bucket", StoredFile]


def hand_over(path: Path, to: Path | None = None) -> None:
    """Have a file, or all files of a folder, where every machine finds them: as if they lay at ``to``.

    Raises MediaAway; who asked drops it then.
    """
    bucket = media.places()[0]
    if isinstance(bucket, Folder) or settings.NODES == 1:
        return
    to = to or path
    files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
    media.each(lambda one: bucket.upload(_key(to / one.relative_to(path)), one), files)
    _remove(path)


def here(path: Path, *, but: Collection[str] = ()) -> Path:
    """Where it lies on this machine, a copy of what the bucket has: of a folder all files ``but`` those.

    A path with nothing, where nothing is anywhere. Raises MediaAway.
    """
    found = _found(path)
    if not found:
        return path
    copy = _copy_of(path)

    def fetch(name: str) -> None:
        bucket, entry = found[name]
        file = copy / name
        with suppress(FileNotFoundError):
            if file.stat().st_size == entry.n_bytes:
                return
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = Path(settings.TEMP_ROOT) / f"{secrets.token_hex(8)}.part"
        try:
            bucket.download(entry.key, part)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)

    media.each(fetch, [name for name in found if name not in but])
    with suppress(FileNotFoundError):
        os.utime(copy)  # it is in use: not to be swept as old
    return copy


def is_there(path: Path) -> bool:
    return path.exists() or bool(_found(path))


def children(folder: Path, pattern: str = "*") -> list[StoredFile]:
    """Files and folders in this one, here and in the bucket, by name; of a folder, the last change of what it holds."""
    found: dict[str, StoredFile] = {}

    def add(name: str, n_bytes: int, changed_at: float) -> None:
        before = found.get(name)
        found[name] = StoredFile(name, n_bytes, max(changed_at, before.changed_at if before else 0))

    for path in folder.glob(pattern):
        with suppress(FileNotFoundError):  # removed meanwhile
            stats = [one.lstat() for one in (path, *(path.iterdir() if path.is_dir() else ()))]
            add(path.name, stats[0].st_size, max(one.st_mtime for one in stats))
    for bucket in _buckets():
        below = f"{_key(folder)}/"
        for entry in bucket.listed(below):
            name = entry.key.removeprefix(below).partition("/")[0]
            if fnmatchcase(name, pattern):
                add(name, entry.n_bytes, entry.changed_at)
    return [found[name] for name in sorted(found)]


def drop(path: Path) -> None:
    """Here and in the bucket; what is not there is no error. What a bucket that is away keeps goes by its age."""
    try:
        media.each(lambda one: one[0].delete(one[1].key), list(_found(path).values()))
    except MediaAway as away:
        log.warning("%s stays until it is old: %s", path.name, away)
    for one in (path, *([_copy_of(path)] if _buckets() else ())):
        _remove(one)


def drop_others(path: Path, pattern: str) -> None:
    """Those of this pattern beside it."""
    for one in children(path.parent, pattern):
        if one.key != path.name:
            drop(path.with_name(one.key))


def forget_begun(before: datetime) -> None:
    """Parts of files whose writer was killed. Raises MediaAway."""
    for bucket in _buckets():
        bucket.forget_begun(BELOW, before)


def has_bucket() -> bool:
    return bool(_buckets())


def _buckets() -> list[Bucket]:
    """None of a site on one machine: what people send has identifiers in it until it is read, and stays there."""
    if settings.NODES == 1:
        return []
    return [place for place in media.places() if not isinstance(place, Folder)]


def _key(path: Path) -> str:
    return f"{BELOW}{path.relative_to(settings.HOME).as_posix()}"


def _copy_of(path: Path) -> Path:
    return Path(settings.TEMP_ROOT) / f"copy-{'-'.join(path.relative_to(settings.HOME).parts)}"


def _found(path: Path) -> dict[str, Found]:
    """What the bucket has of it, by the name below it; of a file the name is empty."""
    return {
        entry.key.removeprefix(key).removeprefix("/"): (bucket, entry)
        for bucket, key in [(one, _key(path)) for one in _buckets()]
        for entry in bucket.listed(key)
        if entry.key.removeprefix(key)[:1] in ("", "/")
    }


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# --- only the owner of a home reads what is in it -----------------------------------------------------
SHORTEST_SECRET = 32  # characters of a key that is in the home
UMASK = 0o077  # of every process of the site
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SiteRefused(Refused):
    """The site cannot be run like this; the sentence says why and what to do."""


def is_open_to_others(home: Path) -> bool:
    """Whether the home, or something directly in it, gives a right to its group or to everybody."""
    return any(_gives_rights(path) for path in (home, *home.iterdir()))


def make_private(home: Path) -> bool:
    """Take every right from everybody but the owner; whether there were any. Raises SiteRefused."""
    if not is_open_to_others(home):
        return False
    try:
        for path in (home, *_parts(home)):
            if _gives_rights(path):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)
    except PermissionError:
        raise SiteRefused(
            "not_private",
            f"other users of this machine can read {home}, and it is not yours to change; "
            f"let its owner say: chmod -R go-rwx {home}",
        ) from None
    return True


def _parts(home: Path) -> Iterator[Path]:
    """All that is below the home, each folder before what is in it."""
    for folder, folders, files in os.walk(home):
        yield from (Path(folder) / name for name in (*folders, *files))


def _gives_rights(path: Path) -> bool:
    with suppress(FileNotFoundError):  # removed in between, or a link to nowhere
        return bool(path.stat().st_mode & OTHERS)
    return False
