"""What follows by itself in a run that makes questions: each time that a batch of its calls is complete, the next step.

A job does it, so that no transaction of the calls waits for an import; it is safe to run twice.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TypedDict

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.generation.generation_plans import ask_about
from annotation.generation.making import Clock, import_made, is_over, lock_run, take_bullets
from annotation.jobs.handlers import JobKind, Progress, Result
from annotation.jobs.queueing import enqueue_once
from annotation.model_calls.call_batches import start
from annotation.model_calls.campaigns import Asking, CallPlan, store_batch
from annotation.model_calls.tallies import tally
from annotation.models import CallBatch, GenerationReport, GenerationRun
from annotation.refusals import Refused


class ContinuingParams(TypedDict):
    run: int
    batch: int


KIND: JobKind[ContinuingParams] = JobKind("make_questions")
LEAST_CAP = Decimal("0.0001")


def continue_later(batch: CallBatch, at: datetime) -> None:
    """Called in the transaction that completes a batch of calls, whatever it is for."""
    run = GenerationRun.objects.filter(Q(bullets_batch=batch) | Q(questions_batch=batch)).first()
    if run is not None:
        title = _("Make questions for “%(bank)s”") % {"bank": run.bank.name}
        enqueue_once(
            KIND, title, ContinuingParams(run=run.pk, batch=batch.pk), about="batch", actor=run.created_by, at=at
        )


def run_continuing(progress: Progress, params: ContinuingParams) -> Result:
    """The job."""
    run = GenerationRun.objects.select_related("bank", "bullets_batch", "questions_batch").get(pk=params["run"])
    progress.report(0, 1)
    continue_run(run)
    progress.report(1, 1)
    return {"run": run.public_id, "made": run.n_made, "finished": run.finished_at is not None}


def continue_run(run: GenerationRun, *, clock: Clock = timezone.now) -> None:
    """As far as the answers that are there allow: findings are stored and questions asked for, or these imported."""
    if run.finished_at is None and is_over(run.bullets_batch) and run.questions_batch is None:
        _ask_for_questions(run, clock)
    if run.finished_at is None and is_over(run.questions_batch):
        import_made(run, clock=clock)


def _ask_for_questions(run: GenerationRun, clock: Clock) -> None:
    at = clock()
    with transaction.atomic():
        reports = take_bullets(run, at=at)
        lock_run(run)
        if run.questions_batch is None and reports:
            run.questions_batch = _plan_questions(run, reports, at)
            run.save(update_fields=["questions_batch"])
    if run.questions_batch is None:
        import_made(run, clock=clock)  # no report has a finding that can be used: nothing is asked
        return
    try:
        start(run.questions_batch, actor=None, at=at)
    except Refused as refusal:  # the permission is over, or the endpoint is gone: a person starts it again
        CallBatch.objects.filter(pk=run.questions_batch.pk).update(paused_because=str(refusal))


def _plan_questions(run: GenerationRun, reports: list[GenerationReport], at: datetime) -> CallBatch:
    """The same endpoint, model, permission and price; the cap is what the findings left of it."""
    before = run.bullets_batch
    cap = None if before.cap is None else max(LEAST_CAP, before.cap - tally(before).cost)
    asking = Asking(endpoint=before.endpoint, model=before.model, chat=ChatSettings(**before.chat_settings), cap=cap)
    plan = CallPlan[Asking, GenerationRun](asking, before.permission, before.price)
    batch = store_batch(
        plan, run.bank, run.questions_prompt, n_calls=len(reports), seed=run.seed, actor=run.created_by, at=at
    )
    ask_about(batch, reports)
    return batch
