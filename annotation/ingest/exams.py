"""Images come in: files, folders and ZIP archives become exams with images, unit by unit.

A unit is one file, or one ZIP as a whole. Each is decoded in the child process, its files are written, and its rows
follow in one short transaction; a unit that is refused leaves neither row nor file, only an audit event. Safe to
run twice: what came in before counts as a duplicate, unless it was by an earlier run of the same upload.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from annotation.audit.recording import record
from annotation.enums import ImageState
from annotation.imaging.kernels.codestreams import SENTENCES, ImageRefused
from annotation.ingest import storage
from annotation.ingest.matching import Source, has_come_in, images_of_runs, missing_images, pending_images, roots_of
from annotation.ingest.sandbox import Decoder
from annotation.ingest.source_files import ArchiveLimits, Found, find_units, is_companion, open_archive, read_file
from annotation.ingest.storing import PreparedImage, prepare_image, store_rows
from annotation.models import Image, QuestionBank, User

MOST_WORDS = 100
ARCHIVE_TOTAL_BYTES = 8 * 1024**3
AT_ONCE = 2  # images whose files are made while the next one is decoded: nearly all of it without Python's lock

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
    n_held: int = 0  # of these: images that questions waited for under another name
    n_waiting: int = 0  # images that questions waited for before
    image_ids: list[int] = field(default_factory=list)
    unmet_ids: list[int] = field(default_factory=list)  # of images that no question waited for
    missed_views: Counter[str] = field(default_factory=Counter)  # words that files state of a view, not understood
    exam_ids: set[int] = field(default_factory=set)
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def n_met(self) -> int:
        """Images of this run that questions waited for."""
        return len(self.image_ids) - len(self.unmet_ids) + self.n_held

    def add_earlier(self, begun: Sequence[datetime]) -> int:
        """What runs before this one brought in of the same files, begun then. How many images that is."""
        found = images_of_runs(begun)
        unmet = [image for image, _exam, is_named in found if not is_named]
        self.image_ids[:0], self.unmet_ids[:0] = [image for image, _exam, _is_named in found], unmet
        self.exam_ids |= {exam for _image, exam, _is_named in found}
        self.n_waiting += len(found) - len(unmet)
        return len(found)

    def said(self) -> tuple[Counter[str], Counter[str]]:
        """Of the images of this run: why some are in quarantine now, and what was warned of."""
        reasons, warnings = Counter[str](), Counter[str]()
        for start in range(0, len(self.image_ids), 500):
            images = Image.objects.filter(pk__in=self.image_ids[start : start + 500])
            held = images.filter(state=ImageState.QUARANTINED)
            reasons.update(held.values_list("state_reason", flat=True))
            told = images.exclude(warnings=[]).values_list("warnings", flat=True)
            warnings.update(one["message"] for found in told for one in found)
        return reasons, warnings

    def as_json(self) -> dict[str, Any]:
        views = self.missed_views.most_common(MOST_WORDS)
        reasons, warnings = self.said()
        return {
            "files": self.n_files,
            "exams": len(self.exam_ids),
            "images": len(self.image_ids),
            "duplicates": self.n_duplicates,
            "quarantined": reasons.total(),
            "refused": [refusal.as_json() for refusal in self.refusals],
            **({"reasons": dict(reasons.most_common())} if reasons else {}),
            **({"warnings": dict(warnings.most_common())} if warnings else {}),
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
    fetched: Iterator[Found] | None = None,
    total: int = 0,
) -> IngestResult:
    """Take in everything under the paths, or what is ``fetched``: so many units, one after the other, of which the file
    of each has been read when the next is asked for.

    With a bank, images go to it and only its questions' images are matched. `uploaded_from` is the folder that an
    upload was put into: files are then matched by their path in it, and the folder itself is not remembered.
    `search_text` is called for each stored image; without it, images stay unseen in the state `checking` until
    somebody else searches them.
    """
    units = find_units([path.absolute() if uploaded_from else path.resolve() for path in paths])
    ahead, total = (iter(units), len(units)) if fetched is None else (fetched, total)
    result = IngestResult(n_waiting=missing_images(bank).count())
    with (
        Decoder(Path(settings.TEMP_ROOT)) as decoder,
        ThreadPoolExecutor(AT_ONCE) as beside,
        closing(_Run(decoder, beside, result, bank, roots_of(bank), actor, at, uploaded_from, simulated)) as run,
    ):
        done = 0
        while run.begin(ahead):
            if watch:
                watch(done, total)
            for image in run.take():
                if search_text and image.state == ImageState.CHECKING:
                    search_text(image)
            done += 1
    if watch:
        watch(total, total)
    return result


@dataclass
class _Begun:
    """A unit whose images are decoded and get their files, which are deleted again unless its rows are stored."""

    unit: Found
    n_files: int = 1
    n_pixel_bytes: int = 0
    images: dict[Source, Future[PreparedImage]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)

    def undo(self) -> None:
        for one in self.images.values():
            if not one.cancel() and not one.exception():
                storage.remove(one.result().file_names)


@dataclass
class _Run:
    decoder: Decoder
    beside: ThreadPoolExecutor
    result: IngestResult
    bank: QuestionBank | None
    roots: list[str]
    actor: User | None
    at: datetime
    uploaded_from: Path | None
    simulated: bool
    begun: deque[_Begun] = field(default_factory=deque)

    def begin(self, units: Iterator[Found]) -> bool:
        """Have the next units decoded and their files written. False where none is left to take in."""
        while len(self.begun) <= AT_ONCE and (unit := next(units, None)):
            self.begun.append(_Begun(unit))
            self._begin(self.begun[-1])
        return bool(self.begun)

    def take(self) -> list[Image]:
        """Take the first of them in. A refused one is noted in the result and in the audit log."""
        begun = self.begun[0]
        images: list[Image] = []
        try:
            if not begun.refusals:
                images = self._store([one.result() for one in begun.images.values()])
        except ImageRefused as refused:
            begun.n_files, begun.refusals = 1, [Refusal(self._name(begun.unit), refused.code)]
        if begun.refusals:
            begun.undo()
        self.begun.popleft()
        self.result.n_files += begun.n_files
        for refusal in begun.refusals:
            self._refuse(refusal)
        return images

    def close(self) -> None:
        """Delete the files of units that were begun and not taken in."""
        for begun in self.begun:
            begun.undo()

    def _begin(self, begun: _Begun) -> None:
        unit = begun.unit
        try:
            if unit.refused:
                raise ImageRefused(unit.refused)
            if unit.is_archive:
                self._begin_archive(begun)
            else:
                data = read_file(unit.path, settings.IMAGE_MAX_BYTES)
                self._prepare(data, self._source(unit, data), begun)
        except ImageRefused as refused:
            begun.refusals.append(Refusal(self._name(unit), refused.code))

    def _begin_archive(self, begun: _Begun) -> None:
        """All members that are images, or none: one that is refused refuses the archive."""
        limits = ArchiveLimits(settings.IMAGE_MAX_BYTES, ARCHIVE_TOTAL_BYTES)
        with open_archive(begun.unit.path, limits) as archive:
            members = [name for name in archive.names if not is_companion(name)]
            if not members:
                raise ImageRefused("archive_empty")
            for name in members:
                data = archive.read(name)
                source = Source(name, "", name, hashlib.sha256(data).hexdigest())
                try:
                    self._prepare(data, source, begun)
                except ImageRefused as refusal:
                    begun.refusals.append(Refusal(f"{self._name(begun.unit)}: {name}", refusal.code))
                archive.check_decoded(begun.n_pixel_bytes)
        begun.n_files = len(members)
        if begun.refusals:
            raise ImageRefused("archive_member")

    def _prepare(self, data: bytes, source: Source, begun: _Begun) -> None:
        """Decode and begin to write files, unless the same bytes came in before and nothing waits for them."""
        if not data:
            raise ImageRefused("empty")
        is_repeated = any(other.sha256 == source.sha256 for other in begun.images)
        if (is_repeated or has_come_in(source)) and not pending_images(source, self.bank, self.roots):
            self.result.n_duplicates += 1
            return
        image = self.decoder.decode(data)
        if image.pixels.size > settings.IMAGE_MAX_PIXELS:
            raise ImageRefused("size")
        begun.n_pixel_bytes += image.pixels.nbytes
        wait(islice(reversed(begun.images.values()), AT_ONCE, AT_ONCE + 1))  # an archive may hold thousands
        begun.images[source] = self.beside.submit(prepare_image, image, source)

    def _store(self, written: list[PreparedImage]) -> list[Image]:
        if not written:
            return []
        stored = store_rows(
            written, bank=self.bank, roots=self.roots, actor=self.actor, at=self.at, simulated=self.simulated
        )
        storage.remove(stored.unused)
        self.result.n_duplicates += stored.n_duplicates
        self.result.n_held += stored.n_held
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

    def _refuse(self, refusal: Refusal) -> None:
        self.result.refusals.append(refusal)
        with transaction.atomic():
            record("image.refused", actor=self.actor, at=self.at, facts={"code": refusal.code})
