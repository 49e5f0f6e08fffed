"""A ZIP of question files and images: what a site exports or releases, the folders of the paper, or anybody's own.

Its question files are taken out and read like any other; the ZIP itself goes the way of images once they are stored.
Paths of images start where their question file lies, or beside its folder ``metadata``.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TypedDict

from django.conf import settings
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.files.kernels.strictjson import FileRefused
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.ingest.matching import MAX_STRIPPED_FOLDERS
from annotation.ingest.source_files import ZIP_MAGIC, Archive, ArchiveLimits, is_companion, open_archive
from annotation.questionbank.kernels.entries import BankRefused, read_entries
from annotation.questionbank.kernels.foreign_rows import columns_to_match

WHOLE = "sent.zip"
TABLES = frozenset({".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".xlsx", ".parquet"})
MOST_TABLES = 20
TOTAL_BYTES = 8 * 1024**3


class Member(TypedDict):
    name: str  # in the ZIP
    kept: str  # in the folder of the upload


class Contents(Struct):
    """Of a ZIP that was sent: its question files, which lie in the folder of the upload now, and what else counts."""

    members: list[Member]
    n_images: int


def take_apart(sent: Path) -> Contents | None:
    """None for what is no ZIP, and for a workbook, which is one. The file becomes ``WHOLE`` beside its question files.

    Raises BankRefused for a ZIP without a question file, and for one that breaks a limit of archives.
    """
    if not _is_archive(sent):
        return None
    whole = sent.replace(sent.with_name(WHOLE))
    try:
        with open_archive(whole, _limits()) as archive:
            members = _question_files(archive, sent.parent)
            n_images = sum(not is_companion(name) for name in archive.names)
    except ImageRefused as refused:
        raise BankRefused(refused.code, str(refused), status=422, field="file") from None
    return Contents(members, n_images)


def pictures_of(whole: Path, paths: Iterable[str], folder: Path) -> None:
    """Write a small picture, at its ``place_of_picture``, of each image at these paths that the ZIP holds.

    What cannot be read has none. Nobody has looked at them yet: they are for who sent the file.
    """
    from annotation.imaging.kernels.rendering import as_8bit, prepare, preview  # load Pillow: not at every start
    from annotation.ingest.sandbox import Decoder

    with open_archive(whole, _limits()) as archive, Decoder(Path(settings.TEMP_ROOT)) as decoder:
        places = {place: name for name in reversed(archive.names) for place in _places(name)}
        for path in paths:
            try:
                image = decoder.decode(archive.read(places[path]))
            except (KeyError, ImageRefused):
                continue
            if image.pixels.size <= settings.IMAGE_MAX_PIXELS:
                small, _width, _height = preview(as_8bit(*prepare(image)))
                place_of_picture(folder, path).write_bytes(small)


def place_of_picture(folder: Path, path: str) -> Path:
    return folder / f"{hashlib.sha256(path.encode()).hexdigest()[:32]}.webp"


def _places(name: str) -> list[str]:
    """What a question file may call this member, as ingest finds it: with or without the folders that wrap all."""
    parts = name.split("/")
    return ["/".join(parts[start:]) for start in range(min(len(parts), MAX_STRIPPED_FOLDERS + 1))]


def _limits() -> ArchiveLimits:
    return ArchiveLimits(settings.UPLOAD_MAX_BYTES, TOTAL_BYTES)


def _is_archive(path: Path) -> bool:
    with path.open("rb") as stream:
        if stream.read(len(ZIP_MAGIC)) != ZIP_MAGIC:
            return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "[Content_Types].xml" not in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False  # who reads it says what is wrong with it


def _question_files(archive: Archive, folder: Path) -> list[Member]:
    """Those with the columns or fields of questions; else the one table that there is, whose columns get matched."""
    names = [name for name in archive.names if PurePosixPath(name).suffix.lower() in TABLES]
    visible = [name for name in names if not any(part.startswith((".", "__MACOSX")) for part in name.split("/"))]
    if len(visible) > MOST_TABLES:
        sentence = _("The ZIP holds %(n)d tables; at most %(most)d are looked at. Send the question file by itself.")
        raise _no_questions(sentence % {"n": len(visible), "most": MOST_TABLES})
    own, foreign = list[Member](), list[Member]()
    for number, name in enumerate(visible):
        member = Member(name=name, kept=f"table-{number}")
        with (folder / member["kept"]).open("xb") as file:
            file.writelines(archive.chunks(name))
        _sort_in(folder / member["kept"], member, own, foreign)
    if own or len(foreign) == 1:
        return own or foreign
    told = ", ".join(visible) or _("no table and no JSON file")
    sentence = _("No file of the ZIP has the columns of questions. It holds: %(files)s.") % {"files": told}
    raise _no_questions(f"{sentence} " + _("Send the question file by itself; its columns can be matched then."))


def _sort_in(path: Path, member: Member, own: list[Member], foreign: list[Member]) -> None:
    try:
        with path.open("rb") as stream:
            if columns_to_match(stream) is not None:
                foreign.append(member)
                return
            stream.seek(0)
            entry = next(read_entries(stream), None)
    except FileRefused:
        return
    if entry is not None and isinstance(entry.value, dict) and {"question", "options"} <= entry.value.keys():
        own.append(member)


def _no_questions(sentence: str) -> BankRefused:
    return BankRefused("no_questions", sentence, status=422, field="file")
