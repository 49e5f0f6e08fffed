"""A worker takes a job, reports on it, and ends it; whoever lost the job in the meantime changes nothing."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime

from celery import shared_task
from django.conf import settings
from django.db import connection
from django.db.models import F
from django.utils import timezone

from annotation.enums import JobState
from annotation.jobs.handlers import JobCancelled, Result, handler_for
from annotation.models import Job

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
SECONDS_BETWEEN_WRITES = 0.4


class JobLost(Exception):
    """Another worker runs the job by now: this one was thought dead."""


class StoredProgress:
    """Progress of a running job, written to its row a few times a second at the most."""

    def __init__(self, job: Job, clock: Clock) -> None:
        self.job, self.clock = job, clock
        self._next_write = 0.0

    def report(self, done: int, total: int, message: str = "") -> None:
        """Raises JobCancelled where a person asked for the end, JobLost where another worker took over."""
        now = time.monotonic()
        if now < self._next_write and done < total:
            return
        self._next_write = now + SECONDS_BETWEEN_WRITES
        own = Job.objects.filter(pk=self.job.pk, state=JobState.RUNNING, runner=self.job.runner)
        if not own.update(progress_done=done, progress_total=total, message=message[:300], heartbeat_at=self.clock()):
            raise JobLost
        if own.filter(cancel_requested=True).exists():
            raise JobCancelled


def run(public_id: str, *, clock: Clock) -> bool:
    """Run a waiting job to its end. False when it was not waiting: a second message changes nothing."""
    job = _take(public_id, at=clock())
    if job is None:
        return False
    with _heartbeat(job, clock):
        try:
            result = handler_for(job.kind).run(StoredProgress(job, clock), job.params)
        except JobCancelled:
            _end(job, JobState.CANCELLED, at=clock())
        except JobLost:
            log.warning("job %s is run by another worker by now", job.public_id)
        except Exception as error:
            log.warning("job %s of kind %s failed: %s", job.public_id, job.kind, type(error).__name__)
            _end(job, JobState.FAILED, error=f"{error or type(error).__name__}", at=clock())
        else:
            _end(job, JobState.SUCCEEDED, result=result, at=clock())
    return True


@shared_task(name="annotation.tasks.run_job")  # queues may hold this name
def run_job(public_id: str) -> None:
    """The task of Celery: it carries the number of a job and nothing else."""
    run(public_id, clock=timezone.now)


def _take(public_id: str, *, at: datetime) -> Job | None:
    runner = secrets.token_hex(8)
    taken = Job.objects.filter(public_id=public_id, state=JobState.QUEUED).update(
        state=JobState.RUNNING, runner=runner, started_at=at, heartbeat_at=at, attempts=F("attempts") + 1
    )
    return Job.objects.get(public_id=public_id, runner=runner) if taken else None


def _end(job: Job, state: JobState, *, at: datetime, result: Result | None = None, error: str = "") -> None:
    Job.objects.filter(pk=job.pk, runner=job.runner).update(
        state=state, result=result, error=error[:4000], finished_at=at
    )


@contextlib.contextmanager
def _heartbeat(job: Job, clock: Clock) -> Iterator[None]:
    """Say every few seconds, from a thread of its own, that the process that runs the job is alive."""
    stop = threading.Event()

    def beat() -> None:
        try:
            while not stop.wait(settings.JOB_HEARTBEAT_SECONDS):
                Job.objects.filter(pk=job.pk, runner=job.runner).update(heartbeat_at=clock())
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name=f"heartbeat of {job.public_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
