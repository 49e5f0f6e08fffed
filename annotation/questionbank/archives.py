"""A ZIP of question files and images: what a site exports or releases, the folders of the paper, or anybody's own.

Its question files are taken out and read like any other; the ZIP itself goes the way of images once they are stored.
Paths of images start where their question file lies, or beside its folder ``metadata``.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypedDict

from django.conf import settings
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.files.kernels.strictjson import FileRefused
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.ingest.matching import shorter_paths
from annotation.ingest.source_files import ZIP_MAGIC, Archive, ArchiveLimits, is_companion, open_archive
from annotation.models import Image
from annotation.questionbank.importing import ImportResult, QuestionFile, Watcher, images_root, import_questions
from annotation.questionbank.kernels.column_matching import Matching
from annotation.questionbank.kernels.entries import BankRefused, read_entries
from annotation.questionbank.kernels.foreign_rows import columns_to_match

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


def take_apart(whole: Path, folder: Path) -> Contents:
    """The question files of a ZIP come into this folder. There are none in what is no ZIP, or a workbook, which is one.

    Raises BankRefused for a ZIP without a question file, and for one that breaks a limit of archives.
    """
    if not _is_archive(whole):
        return Contents([], 0)
    try:
        with open_archive(whole, _limits()) as archive:
            members = _question_files(archive, folder)
            n_images = sum(not is_companion(name) for name in archive.names)
    except ImageRefused as refused:
        raise BankRefused(refused.code, str(refused), status=422, field="file") from None
    return Contents(members, n_images)


def sources_in(
    members: Iterable[Member],
    folder: Path,
    bank_name: str,
    difficulties: Path | None = None,
    matching: Matching | None = None,
) -> list[QuestionFile]:
    """The question files in the folder, with the paths that their images have in what was sent with them."""
    named = [(folder / one["kept"], PurePosixPath(one["name"])) for one in members]
    root = f"/uploaded/{bank_name}"
    return [
        QuestionFile(path, name.name, root, images_root(name.parent.as_posix())[1], difficulties, matching)
        for path, name in named
    ]


def import_files(
    sources: Sequence[QuestionFile], *, bank_name: str, watch: Watcher | None = None, **how: Any
) -> ImportResult:
    """Several files into one bank as one, each as ``import_questions`` does it; ``watch`` hears of all their bytes."""
    result, before = ImportResult(bank_name), 0
    total = sum(source.path.stat().st_size for source in sources)
    for source in sources:
        told = watch and partial(_watch_on, watch, before, total)
        result.join(import_questions(source, bank_name=bank_name, watch=told, **how))
        before += source.path.stat().st_size
    return result


def _watch_on(watch: Watcher, before: int, total: int, done: int, _of_file: int) -> object:
    return watch(min(before + done, total), total)


def pictures_of(whole: Path, paths: Sequence[str], folder: Path, watch: Watcher) -> list[str]:
    """Write a small picture, at its ``place_of_picture``, of each image at these paths that the ZIP holds.

    What cannot be read has none. Nobody has looked at them yet: they are for who sent the file. Returned are the paths
    of those that the site holds already, under whatever name.
    """
    from annotation.imaging.kernels.rendering import as_8bit, prepare, preview  # load Pillow: not at every start
    from annotation.ingest.sandbox import Decoder

    with open_archive(whole, _limits()) as archive, Decoder(Path(settings.TEMP_ROOT)) as decoder:
        places = {place: name for name in reversed(archive.names) for place in shorter_paths(name)}
        hashes = dict[str, str]()
        for n_done, path in enumerate(paths):
            watch(n_done, len(paths))
            try:
                content = archive.read(places[path])
                hashes[path] = hashlib.sha256(content).hexdigest()
                image = decoder.decode(content)
            except (KeyError, ImageRefused):
                continue
            if image.pixels.size <= settings.IMAGE_MAX_PIXELS:
                small, _width, _height = preview(as_8bit(*prepare(image)))
                place_of_picture(folder, path).write_bytes(small)
    watch(len(paths), len(paths))
    held = set(Image.objects.filter(source_sha256__in=hashes.values()).values_list("source_sha256", flat=True))
    return [path for path, sha256 in hashes.items() if sha256 in held]


def place_of_picture(folder: Path, path: str) -> Path:
    return folder / f"{hashlib.sha256(path.encode()).hexdigest()[:32]}.webp"


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
