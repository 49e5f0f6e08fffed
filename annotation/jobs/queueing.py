"""Jobs come in, are cancelled and tried again. The row is the truth; the message is only a nudge."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from kombu.exceptions import OperationalError

from annotation.audit.recording import record
from annotation.enums import JobState
from annotation.jobs.handlers import Params, handler_for
from annotation.jobs.tasks import run_job
from annotation.models import Job, User

log = logging.getLogger(__name__)


class JobStillRunning(Exception):
    pass


class JobAlreadyOver(Exception):
    pass


@transaction.atomic
def enqueue(kind: str, title: str, params: Params, *, actor: User | None, at: datetime) -> Job:
    """Store a job and, once that is committed, nudge a worker. Raises UnknownJobKind."""
    handler_for(kind)
    job = Job.objects.create(kind=kind, title=title, params=params, created_by=actor, created_at=at)
    transaction.on_commit(lambda: nudge(job.public_id))
    return job


def nudge(public_id: str) -> None:
    """Tell a worker that a job waits. A queue that cannot be reached loses nothing: the sweep finds the row."""
    try:
        run_job.delay(public_id)
    except (OperationalError, OSError):
        log.warning("job %s waits for the next sweep: the message queue did not answer", public_id)


@transaction.atomic
def cancel(job: Job, *, actor: User, at: datetime) -> None:
    """A waiting job ends at once; a running one at its next report. Raises JobAlreadyOver."""
    waiting = Job.objects.filter(pk=job.pk, state=JobState.QUEUED).update(
        state=JobState.CANCELLED, cancel_requested=True, finished_at=at
    )
    running = 0
    if not waiting:
        running = Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(cancel_requested=True)
    if not waiting and not running:
        raise JobAlreadyOver("this job is over")
    record("job.cancelled", actor=actor, at=at, subject=job)


@transaction.atomic
def retry(job: Job, *, actor: User, at: datetime) -> None:
    """Run a failed or cancelled job again from the start. Raises JobStillRunning."""
    changed = Job.objects.filter(pk=job.pk, state__in=[JobState.FAILED, JobState.CANCELLED]).update(
        state=JobState.QUEUED,
        cancel_requested=False,
        error="",
        message="",
        attempts=0,
        progress_done=0,
        progress_total=0,
        finished_at=None,
    )
    if not changed:
        raise JobStillRunning("only a failed or cancelled job can be tried again")
    record("job.retried", actor=actor, at=at, subject=job)
    transaction.on_commit(lambda: nudge(job.public_id))
