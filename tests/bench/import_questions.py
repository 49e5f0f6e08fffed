"""Import speed: a synthetic question file into the bank, beside ``bulk_create`` of the same rows in the same run.

A further process writes one row every 50 ms meanwhile and tells how long it waited. 60,000 questions, or as many as
REXVQA_BENCH_QUESTIONS says (572419 is the whole size: 1.3 GB, minutes).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.measuring import peak_mb, told_by
from tests.bench.question_file import write_question_file
from tests.bench.rows import Row, on_both_databases, percentile

if TYPE_CHECKING:
    from annotation.models import QuestionBank, SourceIdentifier
    from annotation.questionbank.kernels.records import QuestionRecord

N_QUESTIONS = 60_000
BASELINE_QUESTIONS, BASELINE_BATCH = 20_000, 2_000
WRITES_APART = 0.05  # seconds
DATABASE = "rexvqa_bench_import"


def measure() -> list[Row]:
    path = prepared_file(int(os.environ.get("REXVQA_BENCH_QUESTIONS", N_QUESTIONS)))
    return on_both_databases(lambda name, url: _measured(name, path, url), DATABASE)


def _measured(name: str, path: Path, url: str) -> list[Row]:
    told = told_by(run, str(path), database_url=url)
    n, rate, waits, written = told["n_questions"], told["rate"], told["waits"], told["written"]
    each, beside = sum(written.values()) / n, ("checked, Django bulk_create", told["baseline_rate"])
    return [
        Row(f"{name}: import of {n:,} questions", rate, "rows/s", "6,000", *beside),
        Row(f"{name}: rows of tables, {each:.2f} in {len(written)} a question", rate * each, "rows/s"),
        Row(f"{name}: memory", told["peak_mb"], "MB", "400"),
        Row(f"{name}: wait of another writer, p99 of {len(waits):,}", percentile(waits, 0.99), "ms", "300"),
        Row(f"{name}: wait of another writer, longest", max(waits), "ms", "300"),
    ]


def prepared_file(n_questions: int = N_QUESTIONS) -> Path:
    """The synthetic file, made once: 1.3 GB and about a minute for the whole size."""
    path = Path(tempfile.gettempdir(), "rexvqa-bench", str(n_questions), "metadata", "train_vqa_data.json")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        write_question_file(partial, n_questions)
        partial.rename(path)
    return path


def run(file: str) -> dict[str, Any]:
    """The measurements of the database that the environment names, which is empty and stays behind filled."""
    path = Path(file)
    n_baseline, baseline_seconds = _bulk_created(path)
    command = [sys.executable, "-m", "tests.bench.child", "set-up", __name__, write_beside.__name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        before = _rows_of_tables()
        n_questions, seconds = _imported(path)
        written = {name: n - before[name] for name, n in _rows_of_tables().items()}
        waits = json.loads(writer.communicate()[0])  # its standard input ends, and so does it
    return {
        "n_questions": n_questions,
        "rate": n_questions / seconds,
        "baseline_rate": n_baseline / baseline_seconds,
        "peak_mb": peak_mb(),
        "written": written,
        "waits": waits,
    }


def _imported(path: Path) -> tuple[int, float]:
    """Questions and seconds of the import as people run it: read, checked, matched, stored, published."""
    from django.utils import timezone

    from annotation.questionbank.importing import import_questions, locate

    begun = time.perf_counter()
    result = import_questions(locate(path), bank_name="Benchmark", actor=None, clock=timezone.now)
    seconds = time.perf_counter() - begun
    if not result.stored:
        raise RuntimeError(f"the import refused {result.rejected} records")
    return result.read, seconds


def _rows_of_tables() -> dict[str, int]:
    """How many rows each table holds that an import fills, one or more rows for each question or exam."""
    from annotation.models import AnswerKey, Exam, Image, Question, Report, Revision, SourceIdentifier

    models = (Exam, Report, Image, Question, Revision, AnswerKey, SourceIdentifier)
    return {model._meta.db_table: model._default_manager.count() for model in models}


def _bulk_created(path: Path) -> tuple[int, float]:
    """The same rows through Django's bulk_create, without matching; read and checked in this process."""
    from django.db import transaction
    from django.utils import timezone

    from annotation.models import BankImport, QuestionBank
    from annotation.questionbank.kernels.records import RecordRules, read_batches

    now = timezone.now()
    bank = QuestionBank.objects.create(name="Baseline", slug="baseline", created_at=now)
    imported = BankImport.objects.create(bank=bank, file_name=path.name, started_at=now, heartbeat_at=now)
    begun = time.perf_counter()
    n_read = 0
    with path.open("rb") as stream:
        batches = read_batches(stream, RecordRules("metadata"), size=BASELINE_BATCH)
        for batch in islice(batches, BASELINE_QUESTIONS // BASELINE_BATCH):
            with transaction.atomic():
                _bulk_create(batch.questions, bank, imported, n_read)
            n_read += batch.n_read
    return n_read, time.perf_counter() - begun


def write_beside() -> list[float]:
    """Milliseconds that each write of one row takes, until standard input ends."""
    import select

    from django.db import transaction
    from django.utils import timezone

    from annotation.audit.recording import record

    times = []
    while not select.select([sys.stdin], [], [], WRITES_APART)[0]:
        begun = time.perf_counter()
        with transaction.atomic():
            record("bench.wrote", actor=None, at=timezone.now())
        times.append((time.perf_counter() - begun) * 1000)
    return times


def _bulk_create(records: list[QuestionRecord], bank: QuestionBank, imported: Any, n_before: int) -> None:
    from django.conf import settings

    from annotation.hashes import keyed_pseudonym
    from annotation.models import AnswerKey, Exam, Image, Question, Report, Revision, SourceIdentifier

    key = settings.PSEUDONYM_KEY.encode()
    read = list({record.exam.key: record.exam for record in records}.values())
    made = Exam.objects.bulk_create(
        Exam(
            bank=bank,
            bank_import=imported,
            pseudonym=keyed_pseudonym(key, "exam", exam.key),
            patient_pseudonym=keyed_pseudonym(key, "patient", exam.patient_number),
            age_years=exam.age_years,
            sex=exam.sex,
        )
        for exam in read
    )
    exams = {exam.key: one for exam, one in zip(read, made, strict=True)}
    parts = ("indication", "comparison", "findings", "impression")
    reports = Report.objects.bulk_create(
        Report(exam=exams[exam.key], content_sha256=exam.report_sha256, **dict(zip(parts, exam.report, strict=True)))
        for exam in read
    )
    report_of = {report.exam_id: report for report in reports}
    named = [(exam, position, image) for exam in read for position, image in enumerate(exam.images)]
    images = Image.objects.bulk_create(
        Image(exam=exams[exam.key], position=position, view_position=image.view_position)
        for exam, position, image in named
    )
    questions = Question.objects.bulk_create(
        Question(bank=bank, number=number, exam=exams[record.exam.key])
        for number, record in enumerate(records, start=n_before + 1)
    )
    wording = ("stem", "options", "task", "category", "subcategory", "question_class", "difficulty", "content_sha256")
    revisions = Revision.objects.bulk_create(
        Revision(question=one, bank=bank, bank_import=imported, **{name: getattr(row, name) for name in wording})
        for row, one in zip(records, questions, strict=True)
    )
    AnswerKey.objects.bulk_create(
        AnswerKey(
            revision=revision,
            key=record.answer,
            explanation=record.explanation,
            report=report_of[question.exam_id],
            extra=record.extra,
        )
        for record, question, revision in zip(records, questions, revisions, strict=True)
    )
    names = [
        _identifier("question_key", row.key, question_id=one.pk) for row, one in zip(records, questions, strict=True)
    ]
    for exam in read:
        numbers = {"patient": exam.patient_number, "accession": exam.accession_number}
        names.append(_identifier("exam_key", exam.key, exam_id=exams[exam.key].pk, numbers=numbers))
        names.append(_identifier("study_uid", exam.study_uid, exam_id=exams[exam.key].pk))
    for (_exam, _at, image), one in zip(named, images, strict=True):
        names.append(_identifier("image_path", image.path, root="/bench", exam_id=one.exam_id, image_id=one.pk))
    for name in names:
        name.bank = bank
    SourceIdentifier.objects.bulk_create(names)


def _identifier(kind: str, value: str, **more: Any) -> SourceIdentifier:
    from annotation.hashes import identifier_digest
    from annotation.models import SourceIdentifier

    return SourceIdentifier(digest=identifier_digest(kind, value), kind=kind, value=value, **more)
