"""Images come in: files, folders and ZIP archives become exams with images, unit by unit.

A unit is one file, or one ZIP as a whole. Each is decoded in the child process, its files are written, and its rows
follow in one short transaction; a unit that is refused leaves neither row nor file, only an audit event. Safe to
run twice: what came in before counts as a duplicate.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from annotation.audit.recording import record
from annotation.enums import ImageState
from annotation.imaging.kernels.codestreams import SENTENCES, ImageRefused
from annotation.ingest import storage
from annotation.ingest.matching import Source, has_come_in, missing_images, pending_images, roots_of
from annotation.ingest.sandbox import Decoder
from annotation.ingest.source_files import ArchiveLimits, Found, find_units, is_companion, open_archive, read_file
from annotation.ingest.storing import PreparedImage, prepare_image, store_rows
from annotation.models import Image, QuestionBank, User

MOST_WORDS = 100
ARCHIVE_TOTAL_BYTES = 8 * 1024**3

Watcher = Callable[[int, int], None]  # files done, files in all; may raise to stop between two units
SearchText = Callable[[Image], object]  # searches a stored image for text and moves it on from `checking`


@dataclass(frozen=True)
class Refusal:
    file: str
    code: str

    def as_json(self) -> dict[str, str]:
        return {"file": self.file, "code": self.code, "message": SENTENCES[self.code]}


@dataclass
class IngestResult:
    """What came in; `as_json` is what commands and jobs hand out."""

    n_files: int = 0
    n_duplicates: int = 0
    n_waiting: int = 0  # images that questions waited for before
    image_ids: list[int] = field(default_factory=list)
    unmet_ids: list[int] = field(default_factory=list)  # of images that no question waited for
    missed_views: Counter[str] = field(default_factory=Counter)  # words that files state of a view, not understood
    exam_ids: set[int] = field(default_factory=set)
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def n_met(self) -> int:
        """Images of this run that questions waited for."""
        return len(self.image_ids) - len(self.unmet_ids)

    @property
    def n_quarantined(self) -> int:
        """Images of this run that are in quarantine now."""
        ids = self.image_ids
        chunks = (ids[start : start + 500] for start in range(0, len(ids), 500))
        return sum(Image.objects.filter(pk__in=chunk, state=ImageState.QUARANTINED).count() for chunk in chunks)

    def as_json(self) -> dict[str, Any]:
        views = self.missed_views.most_common(MOST_WORDS)
        return {
            "files": self.n_files,
            "exams": len(self.exam_ids),
            "images": len(self.image_ids),
            "duplicates": self.n_duplicates,
            "quarantined": self.n_quarantined,
            "refused": [refusal.as_json() for refusal in self.refusals],
            **({"views": [{"words": words, "images": n} for words, n in views]} if views else {}),
            **({"waiting": self.n_waiting, "met": self.n_met} if self.n_waiting else {}),
        }


def ingest_paths(
    paths: Sequence[Path],
    *,
    bank: QuestionBank | None,
    actor: User | None,
    at: datetime,
    uploaded_from: Path | None = None,
    simulated: bool = False,
    search_text: SearchText | None = None,
    watch: Watcher | None = None,
) -> IngestResult:
    """Take in everything under the paths.

    With a bank, images go to it and only its questions' images are matched. `uploaded_from` is the folder that an
    upload was put into: files are then matched by their path in it, and the folder itself is not remembered.
    `search_text` is called for each stored image; without it, images stay unseen in the state `checking` until
    somebody else searches them.
    """
    units = find_units([path.absolute() if uploaded_from else path.resolve() for path in paths])
    result = IngestResult(n_waiting=missing_images(bank).count())
    with Decoder(Path(settings.TEMP_ROOT)) as decoder:
        run = _Run(decoder, result, bank, roots_of(bank), actor, at, uploaded_from, simulated)
        for done, unit in enumerate(units):
            if watch:
                watch(done, len(units))
            for image in run.take(unit):
                if search_text and image.state == ImageState.CHECKING:
                    search_text(image)
    if watch:
        watch(len(units), len(units))
    return result


@dataclass
class _Run:
    decoder: Decoder
    result: IngestResult
    bank: QuestionBank | None
    roots: list[str]
    actor: User | None
    at: datetime
    uploaded_from: Path | None
    simulated: bool

    def take(self, unit: Found) -> list[Image]:
        """Take one unit in; refused ones are noted in the result and in the audit log."""
        try:
            if unit.refused:
                raise ImageRefused(unit.refused)
            return self._take_archive(unit) if unit.is_archive else self._take_file(unit)
        except ImageRefused as refused:
            if not unit.is_archive or refused.code != "archive_member":
                self.result.n_files += 1
            self._refuse(self._name(unit), refused.code)
            return []

    def _take_file(self, unit: Found) -> list[Image]:
        data = read_file(unit.path, settings.IMAGE_MAX_BYTES)
        with self._files_of_unit() as written:
            images = self._store(self._prepare(data, self._source(unit, data), written))
        self.result.n_files += 1
        return images

    def _take_archive(self, unit: Found) -> list[Image]:
        """All members that are images, or none: one that is refused refuses the archive."""
        limits = ArchiveLimits(settings.IMAGE_MAX_BYTES, ARCHIVE_TOTAL_BYTES)
        with open_archive(unit.path, limits) as archive, self._files_of_unit() as written:
            members = [name for name in archive.names if not is_companion(name)]
            if not members:
                raise ImageRefused("archive_empty")
            refused = False
            for name in members:
                data = archive.read(name)
                source = Source(name, "", name, hashlib.sha256(data).hexdigest())
                try:
                    self._prepare(data, source, written)
                except ImageRefused as refusal:
                    refused = True
                    self._refuse(f"{self._name(unit)}: {name}", refusal.code)
                archive.check_decoded(sum(prepared.n_pixel_bytes for prepared in written))
            if refused:
                self.result.n_files += len(members)
                raise ImageRefused("archive_member")
            images = self._store(written)
        self.result.n_files += len(members)
        return images

    @contextmanager
    def _files_of_unit(self) -> Iterator[list[PreparedImage]]:
        """The images whose files this unit has written; all are deleted again unless its rows are stored."""
        written: list[PreparedImage] = []
        try:
            yield written
        except BaseException:
            for prepared in written:
                storage.remove(prepared.file_names)
            raise

    def _prepare(self, data: bytes, source: Source, written: list[PreparedImage]) -> list[PreparedImage]:
        """Decode and write files, unless the same bytes came in before and nothing waits for them."""
        if not data:
            raise ImageRefused("empty")
        is_repeated = any(prepared.source.sha256 == source.sha256 for prepared in written)
        if (is_repeated or has_come_in(source)) and not pending_images(source, self.bank, self.roots):
            self.result.n_duplicates += 1
            return written
        image = self.decoder.decode(data)
        if image.pixels.size > settings.IMAGE_MAX_PIXELS:
            raise ImageRefused("size")
        written.append(prepare_image(image, source))
        return written

    def _store(self, written: list[PreparedImage]) -> list[Image]:
        if not written:
            return []
        stored = store_rows(
            written, bank=self.bank, roots=self.roots, actor=self.actor, at=self.at, simulated=self.simulated
        )
        storage.remove(stored.unused)
        self.result.n_duplicates += stored.n_duplicates
        self.result.unmet_ids += stored.unmet_ids
        self.result.missed_views.update(stored.missed_views)
        self.result.image_ids += [image.pk for image in stored.images]
        self.result.exam_ids |= {image.exam_id for image in stored.images}
        return stored.images

    def _source(self, unit: Found, data: bytes) -> Source:
        sha256 = hashlib.sha256(data).hexdigest()
        if self.uploaded_from:
            name = self._name(unit)
            return Source(name, "", name, sha256)
        return Source(unit.name, unit.path.parent.as_posix(), unit.path.name, sha256)

    def _name(self, unit: Found) -> str:
        """What people call it: its path, for an upload without the folder that it was put into."""
        if self.uploaded_from and unit.path.is_relative_to(self.uploaded_from):
            return unit.path.relative_to(self.uploaded_from).as_posix()
        return unit.name

    def _refuse(self, name: str, code: str) -> None:
        self.result.refusals.append(Refusal(name, code))
        with transaction.atomic():
            record("image.refused", actor=self.actor, at=self.at, facts={"code": code})
