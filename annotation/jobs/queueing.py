"""Jobs come in, are cancelled and tried again; the row is the truth, the message is only a nudge.

Every few seconds a worker looks for what was left behind: jobs of killed workers, lost messages, half imports.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.contributions import contributing_apps
from annotation.enums import JobState
from annotation.jobs.handlers import JobKind, JobRefused, Params
from annotation.models import Job, User, WorkerBeat

log = logging.getLogger(__name__)


MAX_ATTEMPTS = 3
SECONDS_UNTIL_NEXT_NUDGE = 15


@transaction.atomic
def enqueue(kind: JobKind[Params], title: str, params: Params, *, actor: User | None, at: datetime) -> Job:
    """Store a job and, once that is committed, nudge a worker."""
    job = Job.objects.create(kind=kind, title=title, params=params, created_by=actor, created_at=at)
    transaction.on_commit(lambda: nudge(job.public_id))
    return job


@transaction.atomic
def enqueue_once(
    kind: JobKind[Params], title: str, params: Params, *, about: str, actor: User | None, at: datetime
) -> Job:
    """The same, unless a job of this kind with the same parameter ``about`` waits or runs already: then that one."""
    under_way = job_under_way(kind, **{about: params[about]})
    return under_way or enqueue(kind, title, params, actor=actor, at=at)


def job_under_way(kind: str, **params: object) -> Job | None:
    """The newest job of this kind that waits or runs, with these parameters."""
    asked = {f"params__{name}": value for name, value in params.items()}
    return Job.objects.unfinished().filter(kind=kind, **asked).order_by("-pk").first()


def nudge(public_id: str) -> None:
    """Tell a worker that a job waits. A queue that cannot be reached loses nothing: the sweep finds the row."""
    from kombu.exceptions import OperationalError  # loads Celery: not at every start

    from annotation.jobs.running import run_job

    try:
        run_job.delay(public_id)
    except (OperationalError, OSError):
        log.warning("job %s waits for the next sweep: the message queue did not answer", public_id)


@transaction.atomic
def cancel(job: Job, *, actor: User, at: datetime) -> None:
    """A waiting job ends at once; a running one at its next report. Raises JobRefused."""
    waiting = Job.objects.filter(pk=job.pk, state=JobState.QUEUED).update(
        state=JobState.CANCELLED, cancel_requested=True, finished_at=at
    )
    running = 0
    if not waiting:
        running = Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(cancel_requested=True)
    if not waiting and not running:
        raise JobRefused("over", _("This job was over already."))
    record("job.cancelled", actor=actor, at=at, subject=job)


@transaction.atomic
def retry(job: Job, *, actor: User, at: datetime) -> None:
    """Run a failed or cancelled job again from the start. Raises JobRefused."""
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
        raise JobRefused("not_failed", _("Only a failed or cancelled job can be tried again."))
    record("job.retried", actor=actor, at=at, subject=job)
    transaction.on_commit(lambda: nudge(job.public_id))


def sweep(worker: str, *, at: datetime) -> None:
    """Note that this worker is alive, bring back what was lost, and run the sweeps of the rooms."""
    WorkerBeat.objects.update_or_create(name=worker, defaults={"beat_at": at})
    WorkerBeat.objects.filter(beat_at__lt=at - timedelta(days=1)).delete()
    nudge_forgotten(at=at)
    requeue_abandoned(at=at)
    for room_sweep in (one for app in contributing_apps() for one in app.background_work().sweeps):
        try:
            room_sweep(at)
        except Exception:
            log.exception("the sweep %s failed", room_sweep)


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
    """Send the message again for jobs that wait long: it may be lost.

    While other jobs run, waiting is nothing unusual, so that a message is sent again more rarely.
    """
    is_busy = Job.objects.filter(state=JobState.RUNNING).exists()
    late = at - timedelta(seconds=SECONDS_UNTIL_NEXT_NUDGE * (8 if is_busy else 1))
    overdue = Q(nudged_at__lt=late) | Q(nudged_at=None, created_at__lt=late)
    waiting = list(Job.objects.filter(overdue, state=JobState.QUEUED).order_by("created_at")[:20])
    Job.objects.filter(pk__in=[job.pk for job in waiting]).update(nudged_at=at)
    for job in waiting:
        nudge(job.public_id)
