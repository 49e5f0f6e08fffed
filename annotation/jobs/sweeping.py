"""Every few seconds a worker looks for what was left behind: jobs of killed workers, lost messages, half imports."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.utils.module_loading import import_string

from annotation.enums import JobState
from annotation.jobs.queueing import nudge
from annotation.models import Job, WorkerBeat

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
SECONDS_UNTIL_NEXT_NUDGE = 15

# Further sweeps, each a function of ``at`` that is safe to run at any time and by several workers at once.
SWEEPS: list[str] = [
    "annotation.questionbank.failed_imports.sweep_imports",
    "annotation.ingest.searching.begin_search",
    "annotation.bin.deleting.empty_bin",
    "annotation.bin.leftovers.sweep_leftovers",
]


def register_sweep(path: str) -> None:
    """Add a sweep by its dotted name. Apps call this when they start; twice changes nothing."""
    if path not in SWEEPS:
        SWEEPS.append(path)


def sweep(worker: str, *, at: datetime) -> None:
    """Note that this worker is alive, bring back what was lost, and run the sweeps of the rooms."""
    WorkerBeat.objects.update_or_create(name=worker, defaults={"beat_at": at})
    WorkerBeat.objects.filter(beat_at__lt=at - timedelta(days=1)).delete()
    nudge_forgotten(at=at)
    requeue_abandoned(at=at)
    for path in SWEEPS:
        room_sweep: Callable[[datetime], object] = import_string(path)
        try:
            room_sweep(at)
        except Exception:
            log.exception("the sweep %s failed", path)


def requeue_abandoned(*, at: datetime) -> int:
    """Jobs whose worker stopped beating wait again; after three attempts they fail and say so."""
    silent = Q(state=JobState.RUNNING, heartbeat_at__lt=at - timedelta(seconds=settings.JOB_STALE_SECONDS))
    Job.objects.filter(silent, attempts__gte=MAX_ATTEMPTS).update(
        state=JobState.FAILED,
        error=f"The worker was stopped {MAX_ATTEMPTS} times in the middle of this job. Try again when it is well.",
        finished_at=at,
    )
    n_requeued = 0
    for job in Job.objects.filter(silent):
        requeued = Job.objects.filter(silent, pk=job.pk, runner=job.runner).update(state=JobState.QUEUED, runner="")
        if requeued:
            n_requeued += 1
            nudge(job.public_id)
    return n_requeued


def nudge_forgotten(*, at: datetime) -> None:
    """Send the message again for jobs that wait although nothing runs: their message may be lost."""
    if Job.objects.filter(state=JobState.RUNNING).exists():
        return
    late = at - timedelta(seconds=SECONDS_UNTIL_NEXT_NUDGE)
    waiting = Job.objects.filter(state=JobState.QUEUED, created_at__lt=late)
    for public_id in waiting.order_by("created_at").values_list("public_id", flat=True)[:20]:
        nudge(public_id)
