"""A worker takes a job, reports on it, and ends it; whoever lost the job in the meantime changes nothing."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from smtplib import SMTPServerDisconnected
from typing import Any

from billiard.exceptions import SoftTimeLimitExceeded, TimeLimitExceeded
from billiard.pool import SIG_SOFT_TIMEOUT
from celery import current_app, current_task, shared_task
from celery.signals import task_failure
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.enums import JobQueue, JobState
from annotation.jobs.queueing import JobCancelled, JobPostponed, Result, handler_for, sweep
from annotation.models import Job
from annotation.refusals import Refused
from annotation.site.logs import about, request_id

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
SECONDS_BETWEEN_WRITES = 0.4
PASSES = (ConnectionError, TimeoutError, SMTPServerDisconnected, OperationalError, InterfaceError)
MOST_TRIES = 5  # of a job that met network, lock or database in a bad moment
FIRST_WAIT = 5  # seconds, each time four times as long
SECONDS_OF_A_LATE_MESSAGE = 25 * 60
SECONDS_TO_TIDY = 60  # after the soft limit, until the process is killed
BEATS_UNTIL_INTERRUPTED = 3
ASKED_BY = "asked_by"  # in the head of a message: which request the job was stored by


class JobLost(Exception):
    """Another worker runs the job by now: this one was thought dead."""


class StoredProgress:
    """Progress of a running job, written to its row a few times a second at the most."""

    def __init__(self, job: Job, clock: Clock) -> None:
        self.job, self.clock = job, clock
        self._next_write, self._message = 0.0, ""

    def report(self, done: int, total: int, message: str = "") -> None:
        """Raises JobCancelled where a person asked for the end, JobLost where another worker took over."""
        now = time.monotonic()
        if now < self._next_write and done < total and message == self._message:
            return
        self._next_write, self._message = now + SECONDS_BETWEEN_WRITES, message
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
    about.set({**(about.get() or {}), "kind": job.kind})
    with _heartbeat(job, clock):
        try:
            result = handler_for(job.kind).run(StoredProgress(job, clock), job.params)
            _end(job, JobState.SUCCEEDED, result=result, at=clock())
        except JobCancelled:
            _end(job, JobState.CANCELLED, at=clock())
        except JobLost:
            log.warning("job %s is run by another worker by now", job.public_id)
        except JobPostponed as wait:
            _postpone(job, str(wait), seconds=wait.seconds, n_attempts=job.attempts - 1, at=clock())
        except SoftTimeLimitExceeded:
            _end_by_force(job, at=clock())
        except PASSES as error:
            if job.attempts >= MOST_TRIES:
                _fail(job, error, at=clock())
            else:
                seconds = FIRST_WAIT * 4 ** (job.attempts - 1)
                _postpone(job, _problem(error), seconds=seconds, n_attempts=job.attempts, at=clock())
        except Exception as error:
            _fail(job, error, at=clock())
    return True


# --- The tasks of Celery: they carry the number of a job and nothing else ------------------------
def _run(public_id: str) -> None:
    asked_by = getattr(current_task.request, ASKED_BY, "")  # nothing, of a program before this one
    about.set({"request": asked_by, "job": public_id} if asked_by else {"job": public_id})
    began = time.time_ns()
    if run(public_id, clock=timezone.now) and settings.OTEL_ENDPOINT:
        from annotation.site.telemetry import tell_job

        tell_job(began, state=Job.objects.get(public_id=public_id).state)


@shared_task(name="annotation.tasks.run_job")
def run_job(public_id: str) -> None:
    _run(public_id)


@shared_task(name="annotation.tasks.run_long_job", acks_late=False)
def run_long_job(public_id: str) -> None:
    """Acknowledged as it begins, since RabbitMQ closes the channel of who keeps a message for 30 minutes.

    Nothing depends on it: the row brings back a job whose worker was killed.
    """
    _run(public_id)


@shared_task(name="annotation.tasks.sweep")
def run_sweep() -> None:
    about.set(None)  # of the job that this thread ran before
    sweep(at=timezone.now())


def send(job: Job) -> None:
    """Put its number into its queue. Raises what the broker raises."""
    limit = _minutes(job) * 60
    is_reversed = settings.CELERY_BROKER_URL.startswith("redis")  # where 0 is taken first
    task = run_job if limit < SECONDS_OF_A_LATE_MESSAGE else run_long_job
    task.apply_async(
        (job.public_id,),
        queue=job.queue,
        headers={ASKED_BY: request_id()},
        priority=9 - job.priority if is_reversed else job.priority,
        soft_time_limit=limit,
        time_limit=limit + SECONDS_TO_TIDY,
    )


def n_messages(queue: str) -> int:
    """How many wait in it for a worker. Raises what the broker raises."""
    with current_app.connection_for_write() as connection, connection.channel() as channel:
        declared: Any = current_app.amqp.queues[queue].bind(channel).queue_declare()
        n: int = declared.message_count
        return n


@task_failure.connect
def _over_the_limit(exception: object = None, args: Sequence[str] = (), **_more: object) -> None:
    """In the parent of a process that had to be killed, as it did not end by itself."""
    at = timezone.now()
    job = Job.objects.filter(public_id=args[0]).first() if isinstance(exception, TimeLimitExceeded) else None
    if job and job.started_at and at - job.started_at >= timedelta(minutes=_minutes(job)):  # else another worker's run
        _end_by_force(job, at=at)


def _minutes(job: Job) -> int:
    """That of analysis for a queue of another version."""
    return settings.JOB_MINUTES.get(job.queue) or settings.JOB_MINUTES[JobQueue.ANALYSIS]


def _take(public_id: str, *, at: datetime) -> Job | None:
    runner = secrets.token_hex(8)
    taken = (
        Job.objects.due(at)
        .filter(public_id=public_id)
        .update(state=JobState.RUNNING, runner=runner, started_at=at, heartbeat_at=at, attempts=F("attempts") + 1)
    )
    return Job.objects.get(public_id=public_id, runner=runner) if taken else None


def _end(job: Job, state: JobState, *, at: datetime, result: Result | None = None, error: str = "") -> None:
    Job.objects.filter(pk=job.pk, runner=job.runner, state=JobState.RUNNING).update(
        state=state, result=result, error=error[:4000], finished_at=at
    )


def _postpone(job: Job, message: str, *, seconds: float, n_attempts: int, at: datetime) -> None:
    Job.objects.filter(pk=job.pk, runner=job.runner, state=JobState.RUNNING).update(
        state=JobState.QUEUED,
        runner="",
        attempts=n_attempts,
        message=message[:300],
        due_at=at + timedelta(seconds=seconds),
        nudged_at=at,
    )
    Job.objects.filter(pk=job.pk, state=JobState.QUEUED, cancel_requested=True).update(
        state=JobState.CANCELLED, finished_at=at
    )


def _problem(error: Exception) -> str:
    return f"{error or type(error).__name__}"


def _fail(job: Job, error: Exception, *, at: datetime) -> None:
    level = logging.WARNING if isinstance(error, Refused) else logging.ERROR
    told = (job.public_id, job.kind, type(error).__name__)
    log.log(level, "job %s of kind %s failed: %s", *told, extra={"failure": error})  # without its traceback
    _end(job, JobState.FAILED, error=_problem(error), at=at)


def _end_by_force(job: Job, *, at: datetime) -> None:
    """It took too long, or did not heed that a person cancelled it."""
    if Job.objects.filter(pk=job.pk, cancel_requested=True).exists():
        _end(job, JobState.CANCELLED, at=at)
        return
    words = {"n": _minutes(job), "queue": job.queue}
    error = (
        _("This job was ended after %(n)d minutes, the limit of its queue (“%(queue)s” in REXVQA_JOB_MINUTES).") % words
    )
    _end(job, JobState.FAILED, error=error, at=at)


@contextlib.contextmanager
def _heartbeat(job: Job, clock: Clock) -> Iterator[None]:
    """Say every few seconds, from a thread of its own, that the process that runs the job is alive.

    A handler that does not report is interrupted once a person has cancelled the job, and its process is ended if it
    goes on nevertheless. In a thread, which cannot be ended, its row is: then, and after the limit of its queue.
    """
    stop, n_ignored, began = threading.Event(), 0, time.monotonic()
    is_alone = threading.current_thread() is threading.main_thread() and callable(signal.getsignal(SIG_SOFT_TIMEOUT))

    def beat() -> None:
        nonlocal n_ignored
        own = Job.objects.filter(pk=job.pk, runner=job.runner)
        try:
            while not stop.wait(settings.JOB_HEARTBEAT_SECONDS):
                with contextlib.suppress(OperationalError, InterfaceError):  # the database is away for a moment
                    own.update(heartbeat_at=clock())
                    n_ignored += own.filter(cancel_requested=True).exists()
                if n_ignored == BEATS_UNTIL_INTERRUPTED and is_alone:
                    os.kill(os.getpid(), SIG_SOFT_TIMEOUT)
                elif n_ignored > 2 * BEATS_UNTIL_INTERRUPTED:
                    _end_by_force(job, at=clock())
                    if is_alone:
                        os.kill(os.getpid(), signal.SIGKILL)
                elif not is_alone and time.monotonic() - began > _minutes(job) * 60:
                    _end_by_force(job, at=clock())
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name=f"heartbeat of {job.public_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
