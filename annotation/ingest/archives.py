"""ZIP files, checked as a whole before anything of them is used, and counted while they inflate. Pure.

Nothing is ever extracted to a path: a member is read into memory, and its name is only a name. Raises ImageRefused:
archive, archive_encrypted, archive_path, archive_duplicate, archive_size, archive_empty.
"""

from __future__ import annotations

import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from annotation.imaging.kernels.refusals import ImageRefused

ZIP_MAGIC = b"PK\x03\x04"
MAX_MEMBERS = 20_000
MAX_RATIO = 100
SMALL = 4 * 1024 * 1024  # a flat image may well deflate by more than the ratio
# Of a whole archive, so that many small or flat members do not do together what one of them may not: what its members
# inflate to, and what their images decode to, as so many times its own size, or this much if it is small.
WHOLE_RATIO, WHOLE_SMALL = 25, 64 * 1024 * 1024
DECODED_RATIO, DECODED_SMALL = 100, 256 * 1024 * 1024
_DRIVE = ":"


@dataclass(frozen=True)
class ArchiveLimits:
    """Largest inflated size of one member and of all of them, in bytes."""

    member_bytes: int
    total_bytes: int


@contextmanager
def open_archive(path: Path, limits: ArchiveLimits) -> Iterator[Archive]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise ImageRefused("archive") from None
    n_bytes = path.stat().st_size
    total = min(limits.total_bytes, max(WHOLE_SMALL, WHOLE_RATIO * n_bytes))
    with archive:
        yield Archive(archive, replace(limits, total_bytes=total), max(DECODED_SMALL, DECODED_RATIO * n_bytes))


class Archive:
    """An open ZIP whose directory has been checked."""

    def __init__(self, archive: zipfile.ZipFile, limits: ArchiveLimits, most_decoded: int) -> None:
        self._archive = archive
        self._limits = limits
        self._most_decoded = most_decoded
        self._members = check_directory(archive.infolist(), limits)
        self._n_bytes = 0

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        """The bytes of one member, counted while they inflate."""
        member = self._members[name]
        try:
            with self._archive.open(member) as stream:
                data = stream.read(min(member.file_size, self._limits.member_bytes) + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError):
            raise ImageRefused("archive") from None
        self._n_bytes += len(data)
        if len(data) > self._limits.member_bytes or self._n_bytes > self._limits.total_bytes:
            raise ImageRefused("archive_size")
        if len(data) != member.file_size:
            raise ImageRefused("archive")
        return data

    def check_decoded(self, n_bytes: int) -> None:
        """``n_bytes``: of the pixels of all its images so far. Raises ImageRefused."""
        if n_bytes > self._most_decoded:
            raise ImageRefused("archive_size")


def check_directory(members: list[zipfile.ZipInfo], limits: ArchiveLimits) -> dict[str, zipfile.ZipInfo]:
    """The files of a ZIP by name, in its order. One bad entry refuses all of them."""
    if len(members) > MAX_MEMBERS:
        raise ImageRefused("archive_size")
    files: dict[str, zipfile.ZipInfo] = {}
    seen: set[str] = set()
    for member in members:
        _check_name(member)
        if member.flag_bits & 0x1:
            raise ImageRefused("archive_encrypted")
        folded = unicodedata.normalize("NFC", member.filename.rstrip("/")).casefold()
        if folded in seen:
            raise ImageRefused("archive_duplicate")
        seen.add(folded)
        if not member.is_dir():
            _check_size(member, limits)
            files[member.filename] = member
    if sum(member.file_size for member in files.values()) > limits.total_bytes:
        raise ImageRefused("archive_size")
    return files


def _check_name(member: zipfile.ZipInfo) -> None:
    """`orig_filename` is what stands in the file: zipfile cuts names at a zero byte and changes separators."""
    name = member.orig_filename
    path = PurePosixPath(name)
    is_odd = not name or "\\" in name or "\0" in name or _DRIVE in name
    if is_odd or path.is_absolute() or ".." in path.parts:
        raise ImageRefused("archive_path")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ImageRefused("archive_path")


def _check_size(member: zipfile.ZipInfo, limits: ArchiveLimits) -> None:
    if member.file_size > limits.member_bytes:
        raise ImageRefused("archive_size")
    if member.file_size > max(SMALL, MAX_RATIO * member.compress_size):
        raise ImageRefused("archive_size")
