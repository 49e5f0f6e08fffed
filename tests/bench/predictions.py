"""Import of the predictions of one model for 41,007 questions, beside ``bulk_create`` of the same rows in the same run.

Each database is measured by a process of its own (``python -m tests.bench.predictions FILE``), which prints one JSON
object.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench.import_questions import prepared_file
from tests.bench.measuring import told_by
from tests.bench.rows import Row, median, on_both_databases

N_QUESTIONS = 41_007
TIMES = 3
DATABASE = "rexvqa_bench_predictions"
SAID = (  # what models say, the letter in place of {0}
    *("{0}", "{0}.", "Answer: {0}", "({0})", "**{0}**", "{0}. The lungs are clear", "The answer is {0}."),
    *("Based on the images, the best option is {0}.", "I cannot tell from these images.", "<answer>{0}</answer>"),
)


def measure() -> list[Row]:
    path = prepared_file(N_QUESTIONS)
    return on_both_databases(lambda name, url: _measured(name, path, url), DATABASE)


def _measured(name: str, path: Path, url: str) -> list[Row]:
    told = told_by("predictions", path, database_url=url)
    title = f"{name}: import of {told['n']:,} predictions, {told['mb']:.0f} MB"
    return [Row(title, told["seconds"], "s", "3", "storing alone, Django bulk_create", told["baseline"])]


def run(path: Path) -> dict[str, Any]:
    """The measurements of the database that the environment names, which is empty and stays behind filled."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.utils import timezone

    from annotation.models import QuestionBank
    from annotation.questionbank.importing import import_questions, locate

    call_command("migrate", verbosity=0)
    import_questions(locate(path), bank_name="Benchmark", actor=None, clock=timezone.now)
    bank = QuestionBank.objects.get()
    contents = [_predictions(path, turn) for turn in range(TIMES)]
    seconds = [_imported(bank, content) for content in contents]
    return {
        "n": N_QUESTIONS,
        "mb": len(contents[0]) / 1e6,
        "seconds": median(seconds),
        "baseline": _bulk_created(),
    }


def _predictions(path: Path, turn: int) -> bytes:
    """A results file for every question of the file: the record of the question with an answer, one in a line."""
    records = json.loads(path.read_bytes())
    names = ("question", "options", "correct_answer", "task_name", "category")
    lines = []
    for number, (key, record) in enumerate(records.items()):
        said = SAID[(number + turn) % len(SAID)].format("ABCD"[number * 7 % 4])
        lines.append(json.dumps({"id": key, **{name: record.get(name) for name in names}, "model_response": said}))
    return "\n".join(lines).encode()


def _imported(bank: Any, content: bytes) -> float:
    """Seconds of the import as people run it: read, matched, extracted, stored as a new run of the model."""
    from django.utils import timezone

    from readerstudy.models import ModelEntry
    from readerstudy.predictions.entries import find_entry
    from readerstudy.predictions.importing import SentFile, import_predictions
    from readerstudy.predictions.listing import Target

    begun = time.perf_counter()
    entry = find_entry("Model", None) or ModelEntry(name="Model")
    file = SentFile("answers.jsonl", content)
    result = import_predictions(entry, Target(bank), file, actor=None, at=timezone.now())
    seconds = time.perf_counter() - begun
    if result.stored != N_QUESTIONS:
        raise RuntimeError(f"{result.stored} of {N_QUESTIONS} predictions were stored: {result.problems[:3]}")
    return seconds


def _bulk_created() -> float:
    """Seconds in which Django stores the rows of one run again, as those of another one."""
    from django.db import transaction

    from readerstudy.models import Prediction, PredictionRun

    run = PredictionRun.objects.order_by("number")[0]
    copied = PredictionRun.objects.create(
        **{
            field.attname: getattr(run, field.attname)
            for field in PredictionRun._meta.concrete_fields
            if field.attname not in {"id", "public_id", "number", "is_named"}
        },
        number=TIMES + 1,
    )
    names = ("revision_id", "state", "option", "raw", "explanation", "row")
    rows = [Prediction(run=copied, **row) for row in run.predictions.values(*names)]
    begun = time.perf_counter()
    with transaction.atomic():
        Prediction.objects.bulk_create(rows)
    return time.perf_counter() - begun


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]))))
