"""Take in predictions, of a file or of a run on this site. All of it or nothing; what could not be read is shown before
anything is stored.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.model_calls.kernels.extraction import RULE
from annotation.models import User
from annotation.questionbank.bulk import Row, insert_rows
from annotation.questionbank.priors import keys_of_questions
from annotation.site.sorted_tables import analyze
from readerstudy.enums import EntryState, PredictionForm, PredictionState, StudyState
from readerstudy.models import ModelEntry, Prediction, PredictionRun, ReaderStudy
from readerstudy.predictions.entries import IMPORTED, check_is_no_benchmark, check_may_store, enter_model, lock_entry
from readerstudy.predictions.kernels.foreign_logs import opened
from readerstudy.predictions.kernels.records import (
    Answer,
    KeptRecords,
    Matching,
    PredictionProblem,
    PredictionsRefused,
    ReadPredictions,
    Record,
    match,
)
from readerstudy.predictions.kernels.streamed_predictions import read_predictions
from readerstudy.predictions.listing import Target, TargetQuestions, questions_of
from readerstudy.study.permissions import lock_study

AT_ONCE = 1_000  # rows in one statement
MOST_SECONDS = 600  # of a processor, for the answers of one file; each by itself is bounded by its length
MOST_KEPT = 1_000  # ids of each kind in the report of a run
KEPT_COLUMNS = ("revision_id", "state", "option", "raw", "explanation", "row", "confidence")


@dataclass(frozen=True)
class SentFile:
    """A file of predictions, and what its sender says of it."""

    name: str
    content: bytes | Path  # a path is read part by part
    form: PredictionForm | None = None  # None: found by its fields
    duplicates: str = ""  # which of several answers counts: "", "first", "last", "voted"

    @cached_property
    def sha256(self) -> str:
        with opened(self.content) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


class Source(Protocol):
    """Where predictions come from: a file that was sent, or the answers of a run on this site."""

    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def duplicates(self) -> str: ...


class PredictionsImported(Struct):
    """What an import did, or would do; ``as_json`` is the result that command and pages hand out."""

    entry: ModelEntry  # not stored yet where the import would make it
    target: Target
    file: Source
    dry_run: bool = False
    form: str = ""
    n_read: int = 0
    matching: Matching = field(default_factory=Matching)
    problems: list[PredictionProblem] = field(default_factory=list)
    missing_ids: dict[int, int] = field(default_factory=dict)  # id of each question left out, with its number
    stored: int = 0
    run: PredictionRun | None = None  # the one that was stored, now or before
    unchanged: bool = False  # the same file was stored before
    read_from: PredictionRun | None = None  # whose answers are read again

    @property
    def is_refused(self) -> bool:
        return bool(self.problems)

    def as_json(self, keys: Mapping[int, str] | None = None) -> dict[str, Any]:
        """The result. Missing questions go by the numbers of the bank, or by ``keys`` of ``missing_keys``."""
        named = keys or {}
        found = self.matching
        return {
            "model": self.entry.name,
            "version": self.entry.version,
            "study" if self.target.study else "bank": self.target.slug,
            "file": self.file.name,
            "sha256": self.file.sha256,
            "form": self.form,
            "rule": RULE,
            "duplicates": self.file.duplicates,
            "dry_run": self.dry_run,
            "read": self.n_read,
            "matched": len(found.answers),
            "missing": [named.get(pk, str(number)) for pk, number in self.missing_ids.items()],
            "duplicate": found.duplicate,
            "unknown": found.unknown,
            "failed": [{"id": one.record.id, "raw": one.record.raw, "row": one.record.row} for one in found.failed],
            "other_order": found.other_order,
            "two_answers": found.two_answers,
            "errors": [problem._asdict() for problem in self.problems],
            "stored": self.stored,
            "unchanged": self.unchanged,
            "run": self.run.number if self.run else None,
        }

    def missing_keys(self) -> dict[int, str]:
        """What the questions that the file leaves out are called at their source."""
        return keys_of_questions(self.target.bank.pk, self.missing_ids.keys()) if self.missing_ids else {}


def import_predictions(
    entry: ModelEntry, target: Target, file: SentFile, *, actor: User | None, at: datetime, dry_run: bool = False
) -> PredictionsImported:
    """Store the predictions of a file as a new run of the model; an entry that is not stored yet is made.

    One problem anywhere and nothing is stored: ``problems`` names each with its row. Unknown ids, missing questions
    and answers from which no option could be taken are listed and refuse nothing. The same file again changes nothing.
    The first run of a model on a study or bank is its main run.
    """
    result = PredictionsImported(entry, target, file, dry_run)
    try:
        with without_collection():
            _import(result, file, actor=actor, at=at)
    except PredictionsRefused as refusal:
        result.problems = [PredictionProblem(0, "", str(refusal))]
    return result


def store_answers(
    entry: ModelEntry,
    target: Target,
    source: Source,
    read: ReadPredictions,
    questions: TargetQuestions,
    *,
    read_from: PredictionRun | None = None,
    actor: User | None,
    at: datetime,
) -> PredictionsImported:
    """Store what was read elsewhere than in a file by the same road. Raises PredictionsRefused.

    ``questions`` by the ids that the records use, in the wording that was asked. ``read_from``: the run whose answers
    are read again by another rule.
    """
    result = PredictionsImported(entry, target, source, read_from=read_from)
    with without_collection():
        _match(result, read, questions)
        _store(result, read.records, actor=actor, at=at)
    return result


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Without walks of the garbage collector over all records again and again; none of them is part of a cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _import(result: PredictionsImported, file: SentFile, *, actor: User | None, at: datetime) -> None:
    target = result.target
    _check_takes_file(result.entry, target)
    read = read_predictions(file.content, file.form, file.duplicates)
    _match(result, read, questions_of(target, {one.id for one in read.records}))
    result.problems = sorted([*read.problems, *result.matching.problems])
    if read.records and not result.matching.answers:
        sentence = _("No id of the file names a question of “%(name)s”.") % {"name": target.name}
        result.problems.insert(0, PredictionProblem(0, "", sentence))
    if not result.problems and result.dry_run:
        _is_there(result)
    elif not result.problems:
        _store(result, read.records, actor=actor, at=at)


def _match(result: PredictionsImported, read: ReadPredictions, questions: TargetQuestions) -> None:
    result.form, result.n_read = read.form, read.n_read
    result.matching = match(in_time(read.records), questions.by_name, duplicates=result.file.duplicates)
    answered = {answer.question.revision_id for answer in result.matching.answers}
    left_out = {pk: one.number for pk, one in questions.by_id.items() if one.revision_id not in answered}
    result.missing_ids = dict(sorted(left_out.items(), key=lambda pair: pair[1]))


def in_time(records: Iterable[Record]) -> Iterator[Record]:
    """Raises PredictionsRefused where the letters of a file take too long: nothing of it is stored then."""
    begun = time.thread_time()
    for one in records:
        if time.thread_time() - begun > MOST_SECONDS:
            sentence = _("Finding the letters took more than %(n)s minutes. Send the final answers without reasoning.")
            raise PredictionsRefused("too_slow", sentence % {"n": MOST_SECONDS // 60}, status=422)
        yield one


def check_takes_predictions(entry: ModelEntry, target: Target) -> None:
    """Refused where this model or this study takes no predictions."""
    if entry.state != EntryState.LISTED:
        sentence = _("“%(name)s” is %(state)s: it takes no predictions any more.")
        raise PredictionsRefused("not_listed", sentence % {"name": entry, "state": entry.get_state_display()})
    study = target.study
    if study is not None and study.state == StudyState.DRAFT:
        sentence = _("The study is a draft. Freeze it first: its cases must be fixed before predictions come in.")
        raise PredictionsRefused("draft", sentence)
    if target.bank.archived_at is not None or (study is not None and study.archived_at is not None):
        raise PredictionsRefused("archived", _("“%(name)s” is archived: bring it back first.") % {"name": target.name})


def _check_takes_file(entry: ModelEntry, target: Target) -> None:
    check_takes_predictions(entry, target)
    if target.study is None:
        check_is_no_benchmark(target.bank)


@transaction.atomic
def _store(result: PredictionsImported, records: KeptRecords, *, actor: User | None, at: datetime) -> None:
    entry, target = result.entry, result.target
    if entry._state.adding:
        entry = result.entry = enter_model({"name": entry.name, "version": entry.version}, actor=actor, at=at)
    lock_entry(entry)
    if target.study is not None:
        lock_study(target.study)
    _check_takes_file(entry, target)
    if _is_there(result):
        return
    if result.form != PredictionForm.RUN:  # who may run a model was asked when the run was planned
        check_may_store(actor, target.bank, target.study)
    runs = _runs(entry, target)
    run = result.run = _make_run(result, runs.count() + 1, not runs.filter(is_named=True).exists(), actor=actor, at=at)
    answers = in_order(result.matching)
    for start in range(0, len(answers), AT_ONCE):
        rows = [(run.pk, *kept_row(one, records)) for one in answers[start : start + AT_ONCE]]
        insert_rows(Prediction, ("run_id", *KEPT_COLUMNS), rows)
    analyze(len(answers), Prediction)
    result.stored = run.n_matched
    facts = {
        "run": run.public_id,
        "number": run.number,
        "on": target.name,
        "file": run.file_name,
        "sha256": run.file_sha256,
        "rule": RULE,
        "stored": run.n_matched,
        "failed": run.n_failed,
        "missing": run.n_missing,
        "unknown": run.n_unknown,
        "named": run.is_named,
    }
    record(IMPORTED, actor=actor, at=at, subject=entry, facts=facts)


def _runs(entry: ModelEntry, target: Target) -> QuerySet[PredictionRun]:
    return PredictionRun.objects.filter(entry=entry, study=target.study, bank=target.bank)


def _is_there(result: PredictionsImported) -> bool:
    """Whether this file is stored already, read by the same rules; the result names its run then."""
    if result.entry._state.adding:
        return False
    file = result.file
    same = {"file_sha256": file.sha256, "duplicates": file.duplicates, "rule": RULE, "withdrawn_at": None}
    result.run = _runs(result.entry, result.target).filter(**same).first()
    result.unchanged = result.run is not None
    return result.unchanged


def _make_run(
    result: PredictionsImported, number: int, is_named: bool, *, actor: User | None, at: datetime
) -> PredictionRun:
    found, file, target = result.matching, result.file, result.target
    return PredictionRun.objects.create(
        entry=result.entry,
        bank=target.bank,
        study=target.study,
        number=number,
        file_name=file.name[:200],
        file_sha256=file.sha256,
        form=result.form,
        rule=RULE,
        duplicates=file.duplicates,
        n_read=result.n_read,
        n_matched=len(found.answers),
        n_failed=len(found.failed),
        n_missing=len(result.missing_ids),
        n_duplicate=len(found.duplicate),
        n_unknown=len(found.unknown),
        report={
            "missing": list(result.missing_ids.values())[:MOST_KEPT],
            "duplicate": found.duplicate[:MOST_KEPT],
            "unknown": found.unknown[:MOST_KEPT],
            "other_order": len(found.other_order),
            "two_answers": len(found.two_answers),
            **({"read_from": result.read_from.public_id} if result.read_from else {}),
        },
        is_named=is_named,
        named_at=at if is_named else None,
        named_before_unblinding=is_named and is_before_unblinding(target.study),
        imported_by=actor,
        imported_at=at,
    )


def is_before_unblinding(study: ReaderStudy | None) -> bool:
    """Whether a choice that is made now is made blind, wherever the study was read."""
    return study is not None and study.unblinded_at is None


def in_order(matching: Matching) -> list[Answer]:
    """One answer for each question, in the order of the file."""
    return sorted(matching.answers, key=attrgetter("place"))


def kept_row(answer: Answer, records: KeptRecords) -> Row:
    """What is stored of an answer, as ``KEPT_COLUMNS``."""
    record = records[answer.place]
    state = PredictionState.ANSWERED if answer.option else PredictionState.FAILED
    return (
        *(answer.question.revision_id, state.value, answer.option),
        *(record.raw, record.explanation, record.row, record.confidence),
    )
