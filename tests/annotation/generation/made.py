"""A bank of exams with reports, and a run on them whose calls the stand-in answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.test import override_settings

from annotation.call_enums import EndpointPlace
from annotation.generation.generation_plans import GenerationWanted, begin_generation, plan_generation
from annotation.generation.making import continue_run
from annotation.model_calls.asking import ask_endpoint
from annotation.models import GenerationRun, QuestionBank, SendingPermission
from tests.annotation.endpoints.simulated_models import OBEYS_SCHEMA, chat_answer
from tests.annotation.model_calls.simulated_calls import (
    ENDPOINT,
    HERE,
    NOON,
    answer_calls,
    asked_server,
    make_permission,
)
from tests.annotation.questionbank.files import make_record, run_import, write_file

FINDINGS = (
    "The heart is enlarged. A nodule lies in the right upper lobe. The left hilum is prominent. "
    "A venous catheter ends in the superior vena cava. No pleural effusion. No pneumothorax. No rib fracture. No mass."
)
IMPRESSION = "Cardiomegaly and a nodule of the right upper lobe."


def bank_with_reports(folder: Path, n_exams: int = 4, **changes: Any) -> QuestionBank:
    """One question for each exam, imported from a file, with a permission to send reports."""
    records = {
        f"q_{exam}": make_record(exam, exam, Findings=FINDINGS, Impression=IMPRESSION, **changes)
        for exam in range(1, n_exams + 1)
    }
    run_import(write_file(folder, records), bank="Reports")
    bank = QuestionBank.objects.get(name="Reports")
    permit(bank)
    return bank


def permit(bank: QuestionBank) -> SendingPermission:
    return make_permission(bank, reports=True, images=False)


def wanted_of(bank: QuestionBank, **fields: Any) -> GenerationWanted:
    given: dict[str, Any] = {"n_exams": None if "reports" in fields else 3, "per_exam": 3, "seed": 7}
    return GenerationWanted(bank=bank, endpoint=ENDPOINT, model=OBEYS_SCHEMA, **given | fields)


def begun_run(bank: QuestionBank, **fields: Any) -> GenerationRun:
    return begin_generation(plan_generation(wanted_of(bank, **fields), at=NOON), actor=None, at=NOON).stored_run


def finished_run(bank: QuestionBank, *, server_seed: int = 3, **fields: Any) -> GenerationRun:
    """Both batches asked of the stand-in, and the questions imported, as the worker does it."""
    with asked_server(seed=server_seed, place=EndpointPlace.MACHINE):
        run = begun_run(bank, **fields)
        for _batch in ("findings", "questions"):
            ask_endpoint(ENDPOINT, clock=lambda: NOON)
            run = GenerationRun.objects.get(pk=run.pk)
            continue_run(run, clock=lambda: NOON)
    return GenerationRun.objects.get(pk=run.pk)


def written_run(bank: QuestionBank, *, server_seed: int = 1, **fields: Any) -> GenerationRun:
    """The same without a server and its threads: the answers of the simulated model are stored as they come."""
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        run = begun_run(bank, **fields)
        for step in ("bullets_batch", "questions_batch"):
            run = GenerationRun.objects.get(pk=run.pk)
            answer_calls(getattr(run, step), lambda _place, sent: chat_answer(json.loads(sent), seed=server_seed))
            continue_run(GenerationRun.objects.get(pk=run.pk), clock=lambda: NOON)
    return GenerationRun.objects.get(pk=run.pk)
