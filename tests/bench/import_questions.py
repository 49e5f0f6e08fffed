"""Import speed: a synthetic question file into the bank, beside ``bulk_create`` of the same rows in the same run.

Each database is measured by a process of its own (``python -m tests.bench.import_questions FILE``), which prints one
JSON object; a further process writes one row every 50 ms meanwhile and tells how long it waited. 60,000 questions, or
as many as REXVQA_BENCH_QUESTIONS says (572419 is the whole size: 1.3 GB, minutes).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.question_file import write_question_file
from tests.bench.rows import Row, percentile
from tests.processes import ROOT, environment, postgres_url, temporary_database

if TYPE_CHECKING:
    from annotation.models import Image, Question, QuestionBank, SourceIdentifier
    from annotation.questionbank.kernels.batches import Batch

N_QUESTIONS = 60_000
BASELINE_QUESTIONS = 20_000
WRITES_APART = 0.05  # seconds
DATABASE = "rexvqa_bench_import"


def measure() -> list[Row]:
    """Rows for the table, for SQLite and for PostgreSQL when one answers."""
    path = prepared_file(int(os.environ.get("REXVQA_BENCH_QUESTIONS", N_QUESTIONS)))
    rows = _measured("SQLite", path, "")
    server = postgres_url()
    if server is None:
        print("No PostgreSQL answers: the import into it was not measured.")
        return rows
    with temporary_database(server, DATABASE) as url:
        return rows + _measured("PostgreSQL", path, url)


def _measured(name: str, path: Path, url: str) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="import-bench-") as home:
        env = environment(Path(home), url, DJANGO_SETTINGS_MODULE="rexvqa_site.settings")
        command = [sys.executable, "-m", "tests.bench.import_questions", str(path)]
        done = subprocess.run(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    told = json.loads(done.stdout)
    waits, written = told["waits"], told["written"]
    return [
        Row(
            *(f"{name}: import of {told['n_questions']:,} questions", told["rate"], "rows/s", "20,000"),
            *("checked, Django bulk_create", told["baseline_rate"]),
        ),
        Row(
            f"{name}: rows of tables, {sum(written.values()) / told['n_questions']:.2f} in {len(written)} a question",
            told["rate"] * sum(written.values()) / told["n_questions"],
            "rows/s",
        ),
        Row(f"{name}: memory, writing and reading process", told["peak_mb"], "MB", "400"),
        Row(f"{name}: wait of another writer, p99 of {len(waits):,}", percentile(waits, 0.99), "ms", "300"),
        Row(f"{name}: wait of another writer, longest", max(waits), "ms", "300"),
    ]


def prepared_file(n_questions: int = N_QUESTIONS, folder: Path | None = None) -> Path:
    """The synthetic file, made once: 1.3 GB and about a minute for the whole size."""
    path = (
        (folder or Path(tempfile.gettempdir()) / "rexvqa-bench") / str(n_questions) / "metadata" / "train_vqa_data.json"
    )
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        write_question_file(partial, n_questions)
        partial.rename(path)
    return path


def run(path: Path) -> dict[str, Any]:
    """The measurements of the database that the environment names, which is empty and stays behind filled."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    n_baseline, baseline_seconds = _bulk_created(path)
    command = [sys.executable, "-m", "tests.bench.import_questions"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        before = _rows_of_tables()
        n_questions, seconds = _imported(path)
        written = {name: n - before[name] for name, n in _rows_of_tables().items()}
        waits = json.loads(writer.communicate()[0])  # its standard input ends, and so does it
    return {
        "n_questions": n_questions,
        "rate": n_questions / seconds,
        "baseline_rate": n_baseline / baseline_seconds,
        "peak_mb": _peak_mb(),
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
    from annotation.questionbank.kernels.batches import read_batches
    from annotation.questionbank.kernels.records import RecordRules

    now = timezone.now()
    bank = QuestionBank.objects.create(name="Baseline", slug="baseline", created_at=now)
    imported = BankImport.objects.create(bank=bank, file_name=path.name, started_at=now, heartbeat_at=now)
    begun = time.perf_counter()
    n_read = 0
    with path.open("rb") as stream:
        for batch in islice(read_batches(stream, RecordRules("metadata"), "/bench"), BASELINE_QUESTIONS // 2_000):
            with transaction.atomic():
                _bulk_create(batch, bank, imported, n_read)
            n_read += batch.n_read
    return n_read, time.perf_counter() - begun


def write_beside() -> list[float]:
    """Milliseconds that each write of one row takes, until standard input ends."""
    import select

    import django

    django.setup()
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


def _bulk_create(batch: Batch, bank: QuestionBank, imported: Any, n_before: int) -> None:
    from annotation.models import AnswerKey, Exam, Image, Question, Report, Revision, SourceIdentifier
    from annotation.questionbank.writing_batches import pseudonym

    exams = Exam.objects.bulk_create(
        Exam(
            bank=bank,
            bank_import=imported,
            pseudonym=pseudonym("exam", row.key),
            patient_pseudonym=pseudonym("patient", row.patient),
            age_years=row.age_years,
            sex=row.sex,
        )
        for row in batch.exams
    )
    pairs = list(zip(batch.exams, exams, strict=True))
    reports = Report.objects.bulk_create(
        Report(
            exam=exam,
            indication=row.report[0],
            comparison=row.report[1],
            findings=row.report[2],
            impression=row.report[3],
            content_sha256=row.report_sha256,
        )
        for row, exam in pairs
    )
    images = Image.objects.bulk_create(
        Image(exam=exam, position=position, view_position=image.view_position)
        for row, exam in pairs
        for position, image in enumerate(row.images)
    )
    questions = Question.objects.bulk_create(
        Question(bank=bank, number=n_before + place, exam=exams[row.exam])
        for place, row in enumerate(batch.questions, start=1)
    )
    revisions = Revision.objects.bulk_create(
        Revision(question=question, bank=bank, bank_import=imported, **_wording(row._asdict()))
        for row, question in zip(batch.questions, questions, strict=True)
    )
    AnswerKey.objects.bulk_create(
        AnswerKey(
            revision=revision,
            key=row.answer,
            explanation=row.explanation,
            report=reports[row.exam],
            extra=row.extra,
        )
        for row, revision in zip(batch.questions, revisions, strict=True)
    )
    SourceIdentifier.objects.bulk_create(_identifiers(batch, bank, pairs, images, questions))


def _wording(row: dict[str, Any]) -> dict[str, Any]:
    names = ("stem", "task", "category", "subcategory", "question_class", "difficulty", "content_sha256")
    return {"options": json.loads(row["options"]), **{name: row[name] for name in names}}


def _identifiers(
    batch: Batch, bank: QuestionBank, pairs: list[Any], images: list[Image], questions: list[Question]
) -> list[SourceIdentifier]:
    from annotation.models import SourceIdentifier

    paths = [image for row in batch.exams for image in row.images]
    return [
        *(
            SourceIdentifier(digest=row.key_digest, kind="question_key", value=row.key, bank=bank, question_id=one.pk)
            for row, one in zip(batch.questions, questions, strict=True)
        ),
        *(
            SourceIdentifier(digest=digest, kind=kind, value=value, numbers=numbers, bank=bank, exam_id=exam.pk)
            for row, exam in pairs
            for kind, value, digest, numbers in (
                ("exam_key", row.key, row.key_digest, json.loads(row.numbers)),
                ("study_uid", row.study_uid, row.study_digest, None),
            )
        ),
        *(
            SourceIdentifier(
                digest=path.path_digest,
                kind="image_path",
                value=path.path,
                root="/bench",
                bank=bank,
                exam_id=image.exam_id,
                image_id=image.pk,
            )
            for path, image in zip(paths, images, strict=True)
        ),
    ]


def _peak_mb() -> int:
    """Of this process and the largest of its children, which reads the file, at their largest, together."""
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1])) if len(sys.argv) > 1 else write_beside()))
