"""Import a question file into a bank: check, match, write in chunks, show everything in one step.

A chunk is one short transaction, so that nobody else waits long for the database. All rows belong to a BankImport
that is ``running``, and nothing of a running import is visible; publishing it is the update of one row. When one
record is refused, writing stops, checking goes on to the end of the file, and what was written is swept, unless
the importer asked to skip what is refused.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from django.db import connection, transaction
from django.utils.text import slugify

from annotation.audit.recording import record
from annotation.enums import ImportState
from annotation.models import BankImport, Exam, Image, Job, QuestionBank, SourceIdentifier, User
from annotation.questionbank.bulk import settings_for_many_rows
from annotation.questionbank.failed_imports import STALE_AFTER, sweep_import, sweep_imports, sweep_runs_of
from annotation.questionbank.import_preview import BatchComparison, Counts
from annotation.questionbank.kernels.batches import Batch
from annotation.questionbank.kernels.records import MIN_EXPLANATION, RecordProblem, images_root
from annotation.questionbank.priors import PriorCounts, link_priors
from annotation.questionbank.reading_child import read_file
from annotation.questionbank.writing_batches import BatchStore

Clock = Callable[[], datetime]
# SQLite has one writer: short transactions, and time between them in which those who wait for it find it free.
BATCH_SIZES = {"sqlite": 500, "postgresql": 2_000}
FREE_BETWEEN = {"sqlite": 0.01, "postgresql": 0.0}  # seconds, at least; reading and matching count
HELD_AT_MOST = {"sqlite": 0.15, "postgresql": 60.0}  # seconds that a transaction aims at: on a busy machine it is split
SMALLEST = 250  # questions of one transaction
MAX_ERRORS = 10_000  # more are counted, not listed
RELEASE_IMAGES = "deid_png"  # the folder of the images of the release, beside that of its question files
MAX_ROWS = 1_000  # that a dry run tells of one by one


class Watcher(Protocol):
    """Is told how many bytes of how many have been read; may raise to stop the import."""

    def __call__(self, done: int, total: int, /) -> None: ...


class ImportRunning(Exception):
    """Another import into the same bank is running; two at once could not tell new from changed."""


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """A question file on this machine, and where its image paths start."""

    path: Path
    name: str
    root: str  # the folder that no image path may leave
    folder: str = ""  # of the file, relative to the root
    difficulties: Path | None = None


@dataclass(slots=True)
class ImportResult:
    """What an import did, or would do; ``as_json`` is the result that commands and pages hand out."""

    bank: str
    read: int = 0
    rejected: int = 0
    counts: Counts = field(default_factory=Counts)
    errors: list[RecordProblem] = field(default_factory=list)
    n_errors: int = 0
    unreadable: bool = False  # the file could not be read to its end; it is never stored in part
    stored: bool = False
    rows: list[tuple[str, str]] = field(default_factory=list)  # of a dry run: key and what would happen
    priors: PriorCounts = field(default_factory=PriorCounts)  # known once the questions are stored

    def is_acceptable(self, skip_refused: bool) -> bool:
        """Whether what was read may be stored."""
        return self.read > 0 and not self.unreadable and (skip_refused or not self.n_errors)

    def as_json(self) -> dict[str, Any]:
        errors = [problem._asdict() for problem in self.errors]
        if self.n_errors > len(errors):
            message = f"{self.n_errors - len(errors):,} more errors are not listed."
            errors.append(RecordProblem("", "", "more_errors", message)._asdict())
        counts = self.counts
        return {
            "bank": self.bank,
            "read": self.read,
            "created": counts.created,
            "updated": counts.updated,
            "unchanged": counts.unchanged,
            "rejected": self.rejected,
            "exams": counts.exams,
            "images": counts.images,
            "errors": errors,
            **self.priors.as_json(),
        }

    def add_problems(self, problems: list[RecordProblem]) -> None:
        self.n_errors += len(problems)
        self.errors += problems[: MAX_ERRORS - len(self.errors)]


def locate(path: Path, *, images_folder: Path | None = None, difficulties: Path | None = None) -> QuestionFile:
    """A question file with the root of its images: the folder given, else its own, or its parent for ``metadata``.

    A file in any other folder beside the images of the release has their parent as its root, too. Image paths start
    at the file's place in the root; those of a file that lies elsewhere may go up one folder, as in the release.
    """
    path = path.resolve()
    root, folder = images_root(path.parent.as_posix())
    if images_folder is not None:
        root = images_folder.resolve().as_posix()
        folder = path.parent.relative_to(root).as_posix() if path.is_relative_to(root) else ""
    elif not folder and (path.parent.parent / RELEASE_IMAGES).is_dir() and not (path.parent / RELEASE_IMAGES).exists():
        root, folder = path.parent.parent.as_posix(), path.parent.name
    return QuestionFile(path, path.name, root, "" if folder == "." else folder, difficulties)


def import_questions(
    source: QuestionFile,
    *,
    bank_name: str,
    actor: User | None,
    clock: Clock,
    dry_run: bool = False,
    skip_refused: bool = False,
    min_explanation: int = MIN_EXPLANATION,
    simulated: bool = False,
    job: Job | None = None,
    watch: Watcher | None = None,
) -> ImportResult:
    """Import the file into the bank of that name, which is made when it is not there.

    Nothing is stored when a record is refused (``result.stored`` is False), unless ``skip_refused``; nothing ever
    by a dry run, whose counts are those that the import would have. Raises ImportRunning, DifficultiesUnreadable,
    OSError, and whatever ``watch`` raises; then nothing is stored.
    """
    result = ImportResult(bank_name)
    batches = read_file(
        source.path,
        folder=source.folder,
        root=source.root,
        min_explanation=min_explanation,
        difficulties=source.difficulties,
        size=BATCH_SIZES[connection.vendor],
    )
    with closing(batches):
        if dry_run:
            _rehearse(batches, source, result, watch)
            return result
        sweep_imports(clock())
        if job is not None:
            sweep_runs_of(job)
        first = next(batches, None)  # the side file is read and refused before anything is written
        bank_import = _begin(source, bank_name, actor=actor, at=clock(), simulated=simulated, job=job)
        try:
            with settings_for_many_rows():
                _write(_again(first, batches), source, bank_import, result, clock, skip_refused, watch)
            if not result.is_acceptable(skip_refused):
                sweep_import(bank_import)
                return result
            content = _sha256_of(source.path)
            _publish(bank_import, source, content, result, actor=actor, at=clock())
        except BaseException:
            sweep_import(bank_import)
            raise
    result.stored = True
    return result


def _again(first: Batch | None, rest: Iterator[Batch]) -> Iterator[Batch]:
    if first is not None:
        yield first
    yield from rest


@transaction.atomic
def _begin(
    source: QuestionFile, bank_name: str, *, actor: User | None, at: datetime, simulated: bool, job: Job | None
) -> BankImport:
    """The bank, made if needed, and its running import. Raises ImportRunning."""
    bank = QuestionBank.objects.select_for_update().filter(name=bank_name).first()
    if bank is None:
        bank = QuestionBank.objects.create(
            name=bank_name, slug=free_slug(bank_name), simulated=simulated, created_by=actor, created_at=at
        )
    fresh = BankImport.objects.filter(bank=bank, state=ImportState.RUNNING, heartbeat_at__gt=at - STALE_AFTER)
    if fresh.exists():
        raise ImportRunning(f"Another import into the bank {bank_name!r} is running. Wait for its end.")
    before = {"image": _last_id(Image), "identifier": _last_id(SourceIdentifier), "exam": _last_id(Exam)}
    return BankImport.objects.create(
        bank=bank,
        file_name=source.name[:200],
        actor=actor,
        job=job,
        started_at=at,
        heartbeat_at=at,
        result={"last_ids_before": before},  # the sweep takes only what came after
    )


def _last_id(model: type[Image] | type[SourceIdentifier] | type[Exam]) -> int:
    return model._default_manager.order_by("-pk").values_list("pk", flat=True).first() or 0


def free_slug(name: str) -> str:
    """A slug of the name that no bank has."""
    stem = slugify(name)[:70] or "bank"
    taken = {"import", *QuestionBank.objects.filter(slug__startswith=stem).values_list("slug", flat=True)}
    return next(slug for slug in (stem, *(f"{stem}-{n}" for n in range(2, len(taken) + 3))) if slug not in taken)


def _write(
    batches: Iterator[Batch],
    source: QuestionFile,
    bank_import: BankImport,
    result: ImportResult,
    clock: Clock,
    skip_refused: bool,
    watch: Watcher | None,
) -> None:
    """Every batch in its own transactions; after a refused record only checking goes on."""
    store = BatchStore(bank_import, source.root)
    pace = _Pace(BATCH_SIZES[connection.vendor])
    total = source.path.stat().st_size
    for batch in batches:
        _count(batch, result)
        rest = batch.questions if skip_refused or not result.n_errors else []
        while rest:
            part, rest = rest[: pace.size], rest[pace.size :]
            prepared = store.prepare(batch._replace(questions=part))
            pace.leave_room()
            with transaction.atomic():
                pace.begin()
                result.counts.add(store.write(prepared))
                BankImport.objects.filter(pk=bank_import.pk).update(heartbeat_at=clock())
            pace.end()
        if watch is not None:
            watch(batch.bytes_read, total)


class _Pace:
    """How many questions a transaction takes, so that others wait for none of them long; and room between two."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._largest = size
        self._begun_at = self._ended_at = 0.0

    def leave_room(self) -> None:
        time.sleep(max(0.0, self._ended_at + FREE_BETWEEN[connection.vendor] - time.monotonic()))

    def begin(self) -> None:
        self._begun_at = time.monotonic()

    def end(self) -> None:
        self._ended_at = time.monotonic()
        self.size = next_size(self.size, self._ended_at - self._begun_at, self._largest)


def next_size(size: int, held: float, largest: int) -> int:
    """Questions of the next transaction, when one of ``size`` took ``held`` seconds: fewer at once, more by degrees."""
    fitting = int(size * HELD_AT_MOST[connection.vendor] / max(held, 1e-6))
    return max(min(fitting, size + size // 4, largest), min(SMALLEST, largest))


def _count(batch: Batch, result: ImportResult) -> None:
    result.read += batch.n_read
    result.rejected += batch.n_refused
    result.unreadable = batch.unreadable
    result.add_problems(batch.problems)


@transaction.atomic
def _publish(
    bank_import: BankImport,
    source: QuestionFile,
    file_sha256: str,
    result: ImportResult,
    *,
    actor: User | None,
    at: datetime,
) -> None:
    """One row update makes the whole import visible."""
    bank_import.state = ImportState.PUBLISHED
    bank_import.finished_at = at
    result.priors = link_priors(bank_import.bank_id)
    bank_import.result = {**result.as_json(), "images_root": source.root}
    bank_import.file_sha256 = file_sha256
    bank_import.save()
    facts = {"read": result.read, "rejected": result.rejected, **asdict(result.counts)}
    record("bank.imported", actor=actor, at=at, subject=bank_import, facts=facts)


def _sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _rehearse(batches: Iterator[Batch], source: QuestionFile, result: ImportResult, watch: Watcher | None) -> None:
    """Read, check and compare everything; write nothing."""
    bank = QuestionBank.objects.filter(name=result.bank).first()
    comparison = BatchComparison(bank.pk if bank else None, source.root)
    total = source.path.stat().st_size
    for batch in batches:
        _count(batch, result)
        acts = comparison.compare(batch)
        acts += [(problem.key, "refused") for problem in _first_of_each_key(batch.problems)]
        result.rows += acts[: MAX_ROWS - len(result.rows)]
        if watch is not None:
            watch(batch.bytes_read, total)
    result.counts = comparison.counts


def _first_of_each_key(problems: list[RecordProblem]) -> list[RecordProblem]:
    return list({problem.key: problem for problem in reversed(problems) if problem.key}.values())[::-1]
