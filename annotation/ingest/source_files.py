"""Files that come in: what given paths hold, and ZIP archives checked as a whole before anything of them is used. Pure.

In folders and archives, files that go along with images (tables, notes, hidden files, DICOMDIR) are passed over; a
file that is named itself is always tried. Nothing is ever extracted to a path: a member of an archive is read into
memory and counted while it inflates, and its name is only a name. Raises ImageRefused.
"""

from __future__ import annotations

import os
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from annotation.imaging.kernels.codestreams import ImageRefused

COMPANIONS = frozenset({".csv", ".tsv", ".json", ".jsonl", ".txt", ".md", ".xml", ".xlsx", ".pdf", ".html", ".log"})
_COMPANION_NAMES = frozenset({"sha256sums", "dicomdir", "thumbs.db", "desktop.ini", "license", "licence", "readme"})
ZIP_MAGIC = b"PK\x03\x04"
MAX_MEMBERS = 20_000
MAX_RATIO = 100
CHUNK = 1024 * 1024
SMALL = 4 * 1024 * 1024  # a flat image may well deflate by more than the ratio
# Of a whole archive, so that many small or flat members do not do together what one of them may not: what its members
# inflate to, and what their images decode to, as so many times its own size, or this much if it is small.
WHOLE_RATIO, WHOLE_SMALL = 25, 64 * 1024 * 1024
DECODED_RATIO, DECODED_SMALL = 100, 256 * 1024 * 1024
_DRIVE = ":"


class Found(Struct, frozen=True):
    """One unit: a file, or a ZIP that comes in whole or not at all. `name` is what people call it."""

    path: Path
    name: str
    is_archive: bool = False
    refused: str = ""  # code, for what is not even opened


def find_units(paths: Sequence[Path]) -> list[Found]:
    """Every unit under the paths, folders in the order of their names. A link inside a folder is refused."""
    return [unit for path in paths for unit in (_in_folder(path) if path.is_dir() else [_file(path, str(path))])]


def is_companion(name: str) -> bool:
    """Whether a file of a folder or archive goes along with images instead of being one."""
    path = PurePosixPath(name)
    is_hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return is_hidden or path.suffix.lower() in COMPANIONS or path.name.lower() in _COMPANION_NAMES


def read_file(path: Path, limit: int) -> bytes:
    """All of a file of at most `limit` bytes. Raises ImageRefused (too_large, unreadable, empty)."""
    try:
        if path.stat().st_size > limit:
            raise ImageRefused("too_large")
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError:
        raise ImageRefused("unreadable") from None
    if len(data) > limit:
        raise ImageRefused("too_large")
    if not data:
        raise ImageRefused("empty")
    return data


def _in_folder(folder: Path) -> Iterator[Found]:
    for parent, subfolders, names in os.walk(folder):
        here = Path(parent)
        for name in [name for name in subfolders if (here / name).is_symlink()]:
            yield Found(here / name, str(here / name), refused="link")
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(names):
            if not is_companion(name):
                yield _file(here / name, str(here / name), in_folder=True)


def _file(path: Path, name: str, *, in_folder: bool = False) -> Found:
    if in_folder and path.is_symlink():
        return Found(path, name, refused="link")
    if not path.is_file():
        return Found(path, name, refused="unreadable")
    try:
        with path.open("rb") as stream:
            is_archive = stream.read(4) == ZIP_MAGIC
    except OSError:
        return Found(path, name, refused="unreadable")
    return Found(path, name, is_archive=is_archive)


class ArchiveLimits(Struct, frozen=True):
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
        """The bytes of one member."""
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        """The same piece by piece, counted while they inflate."""
        member, n_bytes = self._members[name], 0
        try:
            with self._archive.open(member) as stream:
                while data := stream.read(CHUNK):
                    n_bytes += len(data)
                    self._n_bytes += len(data)
                    if n_bytes > self._limits.member_bytes or self._n_bytes > self._limits.total_bytes:
                        raise ImageRefused("archive_size")
                    yield data
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError):
            raise ImageRefused("archive") from None
        if n_bytes != member.file_size:
            raise ImageRefused("archive")

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
    """`orig_filename` is the name in the file: zipfile cuts names at a zero byte and changes separators."""
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
