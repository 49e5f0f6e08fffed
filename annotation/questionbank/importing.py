"""Import a question file into a bank, all or nothing; and questions that move through their life.

A batch is one short transaction, so that nobody else waits long for the database. All rows belong to a BankImport
that is ``running``, and nothing of a running import is visible; publishing it is the update of one row. When one
record is refused, writing stops, checking goes on to the end of the file, and what was written is swept, unless
the importer asked to skip what is refused.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from msgspec import Struct, field
from msgspec.structs import asdict

from annotation.audit.recording import record, record_each
from annotation.enums import ImportKind, ImportState, QuestionState
from annotation.models import (
    AuditEvent,
    BankImport,
    Edit,
    Image,
    Job,
    Question,
    QuestionBank,
    Revision,
    SourceIdentifier,
    User,
)
from annotation.questionbank.bank_life import store_bank, sweep_import, sweep_imports, sweep_runs_of
from annotation.questionbank.batches import BatchStore, Counts
from annotation.questionbank.bulk import settings_for_many_rows
from annotation.questionbank.kernels.column_matching import Matching
from annotation.questionbank.kernels.entries import BankRefused, read_difficulties, states_before
from annotation.questionbank.kernels.records import Batch, RecordProblem, RecordRules, read_batches, split_of_file
from annotation.questionbank.kernels.rules import MIN_EXPLANATION
from annotation.questionbank.priors import link_priors
from annotation.site.sorted_tables import OneAtATime, analyze, lock

AT_ONCE = 500  # ids in one statement
LISTED = 100  # numbers of questions that were left as they were, for each reason


class ManyChanged(Struct):
    """What an act on many questions did: how many it changed, and the numbers of those it left, by the reason."""

    n: int = 0
    left: dict[str, list[int]] = field(default_factory=dict)

    def leave(self, why: str, numbers: Iterable[int]) -> None:
        if more := list(numbers):
            self.left.setdefault(why, []).extend(more)

    def add(self, other: ManyChanged) -> None:
        self.n += other.n
        for why, numbers in other.left.items():
            self.leave(why, numbers)

    def as_json(self) -> dict[str, Any]:
        """With the first numbers of each reason."""
        left = {
            why: {"n": len(numbers), "numbers": sorted(numbers)[:LISTED]} for why, numbers in sorted(self.left.items())
        }
        return {"changed": self.n, "left": left}


def move_questions(revision_ids: Iterable[int], to: QuestionState) -> None:
    """The questions of which these are the current wordings, as far as the table lets them; the others stay.

    What was judged in an older wording says nothing about the question as it is now.
    """
    listed = sorted(revision_ids)
    for start in range(0, len(listed), AT_ONCE):
        current = Revision.objects.current().filter(pk__in=listed[start : start + AT_ONCE])
        ids = list(current.order_by().values_list("question", flat=True))
        Question.objects.filter(pk__in=ids, state__in=states_before(to)).update(state=to)


def withdrawal_reason(text: str) -> str:
    """As it is stored. Refused: none, and a long one."""
    reason = " ".join(text.replace("\x00", "").split())
    if not reason or len(reason) > 500:
        raise BankRefused("no_reason", _("Give a reason, of at most 500 characters."), status=422, field="reason")
    return reason


@transaction.atomic
def withdraw_question(question: Question, reason: str, *, actor: User, at: datetime) -> None:
    """No new sample draws it; rounds and studies that have it keep it. Refused without a reason, or twice."""
    if _locked([question])[0].state == QuestionState.WITHDRAWN:
        raise BankRefused("withdrawn", _("The question is withdrawn already."))
    withdraw_questions([question], reason, actor=actor, at=at)


@transaction.atomic
def bring_back_question(question: Question, *, actor: User, at: datetime) -> None:
    """As ``bring_back_questions``. Refused for one that is not withdrawn."""
    if _locked([question])[0].state != QuestionState.WITHDRAWN:
        raise BankRefused("not_withdrawn", _("The question is not withdrawn."))
    bring_back_questions([question], actor=actor, at=at)


@transaction.atomic
def withdraw_questions(questions: Iterable[Question], reason: str, *, actor: User, at: datetime) -> ManyChanged:
    """Each with its own row in the log; those that were withdrawn before are left. See ``_noted``."""
    facts, locked = {"reason": withdrawal_reason(reason)}, _locked(questions)
    fresh = [one for one in locked if one.state != QuestionState.WITHDRAWN]
    Question.objects.filter(pk__in=[one.pk for one in fresh]).update(state=QuestionState.WITHDRAWN)
    return _noted("question.withdrawn", locked, fresh, "withdrawn", actor, at, facts)


@transaction.atomic
def bring_back_questions(questions: Iterable[Question], *, actor: User, at: datetime) -> ManyChanged:
    """As imported, or as revised where a person wrote the current wording: they have to be reviewed again.

    Each with its own row in the log; those that are not withdrawn are left. See ``_noted``.
    """
    locked = _locked(questions)
    fresh = [one for one in locked if one.state == QuestionState.WITHDRAWN]
    withdrawn = Question.objects.filter(pk__in=[one.pk for one in fresh])
    edited = Edit.objects.filter(revision__in=Revision.objects.current().filter(question__in=fresh))
    revised = list(edited.values_list("revision__question", flat=True))
    withdrawn.filter(pk__in=revised).update(state=QuestionState.REVISED)
    withdrawn.exclude(pk__in=revised).update(state=QuestionState.IMPORTED)
    return _noted("question.brought_back", locked, fresh, "not_withdrawn", actor, at, {})


def _locked(questions: Iterable[Question]) -> list[Question]:
    rows = Question.objects.select_for_update(no_key=True).filter(pk__in=[one.pk for one in questions])
    return list(rows.order_by("pk"))


def _noted(
    act: str,
    asked: list[Question],
    fresh: list[Question],
    why_left: str,
    actor: User,
    at: datetime,
    facts: dict[str, Any],
) -> ManyChanged:
    """The same person at the same time is the same act: what it did in a run that was stopped counts as done by it."""
    changed = {one.public_id for one in fresh}
    if fresh:
        record_each(act, fresh, actor=actor, at=at, facts=facts)
    if len(fresh) < len(asked):
        left = [one.public_id for one in asked if one.public_id not in changed]
        before = AuditEvent.objects.filter(subject_type="question", subject_id__in=left, act=act, actor=actor, at=at)
        changed.update(before.values_list("subject_id", flat=True))
    done = ManyChanged(len(changed))
    done.leave(why_left, (one.number for one in asked if one.public_id not in changed))
    return done


Clock = Callable[[], datetime]
Watcher = Callable[[int, int], object]  # bytes read, bytes in all; may raise to stop the import
BATCH_SIZES = {"sqlite": 500, "postgresql": 2_000}  # SQLite has one writer, for whom others wait
MAX_ERRORS = 10_000  # more are counted, not listed
MAX_ROWS = 1_000  # that a dry run tells of one by one
MAX_DIFFERING = 5  # questions of which a dry run tells both wordings
RELEASE_IMAGES = "deid_png"  # the folder of the images of the release, beside that of its question files


class QuestionFile(Struct, frozen=True):
    """A question file on this machine, where its image paths start, and how the columns of a foreign file are read."""

    path: Path
    name: str
    root: str  # the folder that no image path may leave
    folder: str = ""  # of the file, relative to the root
    difficulties: Path | None = None
    matching: Matching | None = None


class ImportResult(Struct):
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
    priors: Counter[str] = field(default_factory=Counter)  # known once the questions are stored
    tasks: Counter[str] = field(default_factory=Counter)  # of a dry run
    differing: list[dict[str, Any]] = field(default_factory=list)  # of a dry run: some where file and bank differ
    imports: list[BankImport] = field(default_factory=list)  # once they are published
    layouts: Sequence[tuple[str, ...]] = ()
    look_alikes: list[str] = field(default_factory=list)  # the first ids that differ from others in what nobody sees

    def is_acceptable(self, skip_refused: bool) -> bool:
        """Whether what was read may be stored."""
        return self.read > 0 and not self.unreadable and (skip_refused or not self.n_errors)

    def as_json(self) -> dict[str, Any]:
        errors = [problem._asdict() for problem in self.errors]
        if (n_more := self.n_errors - len(errors)) > 0:
            errors.append(RecordProblem("", "", "more_errors", f"{n_more:,} more errors are not listed.")._asdict())
        counts = asdict(self.counts)
        changes = {name: counts.pop(name) for name in ("created", "updated", "unchanged")}
        read = {"bank": self.bank, "read": self.read, **changes, "rejected": self.rejected}
        alike = {"look_alikes": self.look_alikes} if self.look_alikes else {}
        return {**read, **counts, "errors": errors, **self.priors, **alike}

    def join(self, other: ImportResult) -> None:
        """The result of several files that go into one bank, one after the other."""
        self.read += other.read
        self.rejected += other.rejected
        self.counts.add(other.counts)
        self.errors = [*self.errors, *other.errors][:MAX_ERRORS]
        self.n_errors += other.n_errors
        self.unreadable |= other.unreadable
        self.stored |= other.stored
        self.imports += other.imports
        self.rows = [*self.rows, *other.rows][:MAX_ROWS]
        self.tasks.update(other.tasks)
        self.differing = [*self.differing, *other.differing][:MAX_DIFFERING]
        self.priors = other.priors  # of the bank
        self.look_alikes = list(dict.fromkeys([*self.look_alikes, *other.look_alikes]))[:MAX_ROWS]

    def add(self, batch: Batch) -> None:
        self.read += batch.n_read
        self.rejected += batch.n_refused
        self.unreadable = batch.unreadable
        self.layouts = batch.layouts
        self.name_look_alikes(batch.look_alikes)
        self.n_errors += len(batch.problems)
        self.errors += batch.problems[: max(0, MAX_ERRORS - len(self.errors))]
        if batch.unreadable:  # what is wrong with the file goes before what is wrong with its rows
            self.errors = [batch.problems[-1], *(one for one in self.errors if one is not batch.problems[-1])]

    def name_look_alikes(self, keys: Iterable[str]) -> None:
        self.look_alikes = list(dict.fromkeys([*self.look_alikes, *(ascii(key)[1:-1] for key in keys)]))[:MAX_ROWS]


def images_root(folder: str) -> tuple[str, str]:
    """Root of the image paths and the question file's folder relative to it: the parent of a ``metadata`` folder."""
    folder = posixpath.normpath(folder)
    if posixpath.basename(folder).lower() == "metadata":
        return posixpath.dirname(folder), posixpath.basename(folder)
    return folder, ""


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
    kind: ImportKind = ImportKind.FILE,
    job: Job | None = None,
    watch: Watcher | None = None,
) -> ImportResult:
    """Import the file into the bank of that name, which is made when it is not there. ``kind``: where it came from.

    Nothing is stored when a record is refused (``result.stored`` is False), unless ``skip_refused``; nothing ever
    by a dry run, whose counts are those that the import would have. Raises BankRefused (an import that is
    running, a side file that cannot be read), OSError, and whatever ``watch`` raises; then nothing is stored.
    """
    difficulties = read_difficulties(source.difficulties) if source.difficulties else {}
    result, split = ImportResult(bank_name), split_of_file(source.name, source.folder)
    rules = RecordRules(source.folder, min_explanation, difficulties, source.matching, split)
    with source.path.open("rb") as stream:
        batches = read_batches(stream, rules, size=BATCH_SIZES[connection.vendor])
        batches = _watched(batches, source, watch) if watch else batches
        if dry_run:
            bank = QuestionBank.objects.filter(name=bank_name).first()
            _rehearse(batches, BatchStore(bank.pk if bank else 0, source.root, None), result)
            return result
        sweep_imports(clock())
        if job is not None:
            sweep_runs_of(job)
        bank_import = _begin(source, bank_name, kind, actor=actor, at=clock(), simulated=simulated, job=job)
        try:
            store = BatchStore(bank_import.bank_id, source.root, bank_import.pk)
            _write(batches, store, bank_import, result, clock, skip_refused)
            if not result.is_acceptable(skip_refused):
                sweep_import(bank_import)
                return result
            stream.seek(0)
            bank_import.file_sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            _publish(bank_import, source, result, store.moved, actor=actor, at=clock())
        except BaseException:
            sweep_import(bank_import)
            raise
    result.stored, result.imports = True, [bank_import]
    analyze(result.counts.created + result.counts.updated, *BatchStore.WRITTEN)
    return result


def _watched(batches: Iterator[Batch], source: QuestionFile, watch: Watcher) -> Iterator[Batch]:
    """The batches; each is reported when its taker comes back for the next."""
    total = source.path.stat().st_size
    for batch in batches:
        yield batch
        watch(batch.bytes_read, total)


@transaction.atomic
def _begin(
    source: QuestionFile,
    bank_name: str,
    kind: ImportKind,
    *,
    actor: User | None,
    at: datetime,
    simulated: bool,
    job: Job | None,
) -> BankImport:
    """The bank, made if needed, and its running import. Refused while another import runs."""
    named = QuestionBank.objects.select_for_update().filter(name=bank_name)
    bank = named.first()
    if bank is None:
        lock(OneAtATime.NAME)
        bank = named.first() or store_bank(bank_name, simulated=simulated, actor=actor, at=at)
    if bank.imports.filter(state__in=(ImportState.RUNNING, ImportState.FAILED)).exists():  # or is being swept
        raise BankRefused("import_running", f"Another import into the bank {bank_name!r} is running. Wait for its end.")
    models: dict[str, type[Image] | type[SourceIdentifier]] = {"image": Image, "identifier": SourceIdentifier}
    last_ids = {name: model.objects.aggregate(last=Max("pk"))["last"] or 0 for name, model in models.items()}
    times = {"started_at": at, "heartbeat_at": at}
    before = {"last_ids_before": last_ids}  # the sweep takes only what came after
    return BankImport.objects.create(
        bank=bank, kind=kind, file_name=source.name[:200], actor=actor, job=job, result=before, **times
    )


def _write(
    batches: Iterator[Batch],
    store: BatchStore,
    bank_import: BankImport,
    result: ImportResult,
    clock: Clock,
    skip_refused: bool,
) -> None:
    """Every batch in a transaction of its own; after a refused record only checking goes on."""
    for batch in batches:
        result.add(batch)
        with transaction.atomic():
            settings_for_many_rows()
            BankImport.objects.filter(pk=bank_import.pk).update(heartbeat_at=clock())
            if batch.questions and (skip_refused or not result.n_errors):
                match = store.match(batch.questions)
                store.store(match)
                result.counts.add(match.counts())
                result.name_look_alikes(match.look_alikes)


@transaction.atomic
def _publish(
    bank_import: BankImport,
    source: QuestionFile,
    result: ImportResult,
    moved: Mapping[str, list[int]],
    *,
    actor: User | None,
    at: datetime,
) -> None:
    """One row update makes the whole import visible; who was ``moved`` gets the split of this file."""
    bank_import.state = ImportState.PUBLISHED
    bank_import.finished_at = at
    result.priors = link_priors(bank_import.bank_id)
    written: dict[str, Any] = {"layouts": result.layouts}  # for the export of the bank
    if source.matching is not None:
        written["matching"] = source.matching.as_json()
    bank_import.result = {**result.as_json(), "images_root": source.root, **written}
    bank_import.save()
    if result.counts.updated:
        brought = Revision.objects.filter(bank_import=bank_import, number__gt=1)
        move_questions(brought.values_list("pk", flat=True), QuestionState.IMPORTED)
    for split, questions in moved.items():
        for start in range(0, len(questions), AT_ONCE):
            Question.objects.filter(pk__in=questions[start : start + AT_ONCE]).update(split=split)
    facts = {"read": result.read, "rejected": result.rejected, **asdict(result.counts)}
    facts |= {"splits_set": {split: len(questions) for split, questions in moved.items()}} if moved else {}
    record("bank.imported", actor=actor, at=at, subject=bank_import, facts=facts)


def _rehearse(batches: Iterator[Batch], store: BatchStore, result: ImportResult) -> None:
    """Read, check and compare everything; write nothing."""
    for batch in batches:
        result.add(batch)
        match = store.match(batch.questions)
        result.counts.add(match.counts())
        result.name_look_alikes(match.look_alikes)
        result.tasks.update(question.task.value for question in batch.questions)
        result.differing += store.differing(match, batch.questions, MAX_DIFFERING - len(result.differing))
        refused = dict.fromkeys(problem.key for problem in batch.problems if problem.key)
        acts = [*match.acts.items(), *((key, "refused") for key in refused)]
        result.rows += acts[: MAX_ROWS - len(result.rows)]
