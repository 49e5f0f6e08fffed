"""What the given paths hold: single files, folders of files, ZIP archives. Pure; opens nothing but first bytes.

In folders and archives, files that go along with images (tables, notes, hidden files, DICOMDIR) are passed over; a
file that is named itself is always tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from annotation.imaging.kernels.refusals import ImageRefused
from annotation.ingest.archives import ZIP_MAGIC

COMPANIONS = frozenset({".csv", ".tsv", ".json", ".jsonl", ".txt", ".md", ".xml", ".xlsx", ".pdf", ".html", ".log"})
_COMPANION_NAMES = frozenset({"dicomdir", "thumbs.db", "desktop.ini", "license", "licence", "readme"})


@dataclass(frozen=True)
class Found:
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
