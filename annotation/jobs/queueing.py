"""Jobs come in, also for files that people send, are cancelled and tried again; whose jobs a person sees.

The kind of a job has a function that takes the progress and the parameters and returns the result; it is safe to run
twice: a job that was killed in the middle is run again from the start. A room declares the kinds of its jobs with the
type of their parameters, and ``apps.py`` names their handlers.

Every few seconds a worker looks for what was left behind: jobs of killed workers, lost messages, half imports.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypedDict, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Max, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.deleting import sweep_leftovers
from annotation.audit.recording import record
from annotation.contributions import contributing_apps
from annotation.enums import JobQueue, JobState
from annotation.models import Job, Upload, User, WorkerBeat
from annotation.models.fields import AsRead
from annotation.models.people import UNFINISHED_JOBS
from annotation.refusals import Refused
from annotation.site import home_files
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.site.sorted_tables import Columns


class Progress(Protocol):
    """How a handler says how far it is. Raises JobCancelled where a person asked for it."""

    def report(self, done: int, total: int, message: str = "") -> None: ...


Result = dict[str, Any]
Params = TypeVar("Params", bound=Mapping[str, Any])


SOON, USUAL, LATER = 9, 5, 1  # priorities


class JobKind(str, Generic[Params]):
    """The name of a kind of job, as its row holds it, with the type of the parameters: a TypedDict of plain values.

    ``priority``: 0 to 9, the highest is taken first of those that wait in one queue.
    """

    __slots__ = ("priority", "queue")
    queue: JobQueue
    priority: int

    def __new__(cls, name: str, queue: JobQueue = JobQueue.ANALYSIS, priority: int = USUAL) -> Self:
        kind = super().__new__(cls, name)
        kind.queue, kind.priority = queue, priority
        return kind


class NoParams(TypedDict):
    """Of a job that needs none."""


class JobHandler(Struct, Generic[Params], frozen=True):
    kind: JobKind[Params]
    run: Callable[[Progress, Params], Result]


class JobCancelled(Exception):
    """A person asked for the end of this job; raised inside its handler by Progress.report."""


class JobPostponed(Exception):
    """Cannot be done at present, as what it needs is used by another: it waits so many seconds and is begun again."""

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class JobRefused(Refused):
    """A job cannot be started, cancelled or tried again."""


@lru_cache
def _handlers(*, waiting: bool) -> dict[str, JobHandler[Any]]:
    work = (app.waiting_work() if waiting else app.background_work() for app in contributing_apps())
    return {str(one.kind): one for of_app in work for one in of_app.jobs}


def handler_for(kind: str) -> JobHandler[Any]:
    """Raises JobRefused for a kind that this version of the program does not know."""
    if kind in _handlers(waiting=True):
        return _handlers(waiting=True)[kind]
    if kind not in _handlers(waiting=False):
        raise JobRefused("unknown_kind", f"this program has no job of the kind {kind!r}")
    return _handlers(waiting=False)[kind]


class RehearsalParams(TypedDict, total=False):
    steps: int
    seconds_per_step: float


REHEARSAL: JobKind[RehearsalParams] = JobKind("rehearsal")


def rehearse(progress: Progress, params: RehearsalParams) -> Result:
    """Count to ``steps`` and change nothing: shows that queue, worker and pages work together."""
    steps, seconds = int(params.get("steps", 3)), float(params.get("seconds_per_step", 0))
    for step in range(steps):
        time.sleep(seconds)
        progress.report(step + 1, steps, f"step {step + 1}")
    return {"steps": steps}


log = logging.getLogger(__name__)


MAX_ATTEMPTS = 3
SWEEP, SECONDS_BETWEEN_SWEEPS = "sweep", 4  # their row among the workers; Celery's beat asks every five seconds
SECONDS_UNTIL_NEXT_NUDGE = 10


@transaction.atomic
def enqueue(kind: JobKind[Params], title: str, params: Params, *, actor: User | None, at: datetime) -> Job:
    """Store a job and, once that is committed, nudge a worker."""
    where = {"queue": kind.queue, "priority": kind.priority}
    job = Job.objects.create(kind=kind, title=title, params=params, created_by=actor, created_at=at, **where)
    transaction.on_commit(lambda: nudge(job))
    return job


@transaction.atomic
def enqueue_once(
    kind: JobKind[Params], title: str, params: Params, *, about: str, actor: User | None, at: datetime
) -> Job:
    """The same, unless a job of this kind with the same parameter ``about`` waits or runs already: then that one."""
    under_way = job_under_way(kind, **{about: params[about]})
    return under_way or enqueue(kind, title, params, actor=actor, at=at)


def jobs_about(kind: str, **params: object) -> QuerySet[Job]:
    """All of this kind with these parameters, the newest first."""
    return Job.objects.filter(kind=kind, **{f"params__{name}": value for name, value in params.items()}).order_by("-pk")


def job_under_way(kind: str, **params: object) -> Job | None:
    """The newest of them that waits or runs."""
    return jobs_about(kind, **params).filter(state__in=(JobState.QUEUED, JobState.RUNNING)).first()


def nudge(job: Job) -> None:
    """Tell a worker of its queue that a job waits. A broker that does not answer loses nothing: the sweep finds it."""
    from annotation.jobs.running import send  # loads Celery: not at every start

    try:
        send(job)
    except Exception as error:  # whatever is wrong with the broker, the row is stored
        log.warning("job %s waits for the next sweep, as the message queue refused it: %r", job.public_id, error)


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
        runner="",
        due_at=None,
        finished_at=None,
    )
    if not changed:
        raise JobRefused("not_failed", _("Only a failed or cancelled job can be tried again."))
    record("job.retried", actor=actor, at=at, subject=job)
    transaction.on_commit(lambda: nudge(job))


def beat(worker: str, queues: Iterable[str], *, at: datetime) -> None:
    """Note that this worker is alive and takes jobs of these queues."""
    WorkerBeat.objects.update_or_create(name=worker, defaults={"beat_at": at, "queues": " ".join(queues)})


def forget_worker(worker: str) -> None:
    """It ended by itself, with what it ran done: nobody is to look for it."""
    WorkerBeat.objects.filter(name=worker).delete()


def sweep(*, at: datetime) -> None:
    """Bring back what was lost, delete what is old, and run the sweeps of the rooms; one of several workers does it.

    What is left in a home every worker looks for, since each machine may have its own.
    """
    _try(sweep_leftovers, at)
    last, _is_first = WorkerBeat.objects.get_or_create(name=SWEEP, defaults={"beat_at": at - timedelta(hours=1)})
    before = at - timedelta(seconds=SECONDS_BETWEEN_SWEEPS)
    if not WorkerBeat.objects.filter(pk=last.pk, beat_at__lte=before).update(beat_at=at):
        return
    WorkerBeat.objects.filter(beat_at__lt=at - timedelta(days=1)).delete()
    of_rooms = (one for app in contributing_apps() for one in app.waiting_work().sweeps)
    for one in (nudge_forgotten, requeue_abandoned, delete_old, *of_rooms):
        _try(one, at)


def _try(one: Callable[[datetime], object], at: datetime) -> None:
    try:
        one(at)
    except Exception:
        log.exception("the sweep %s failed", one)


def requeue_abandoned(at: datetime) -> int:
    """Jobs whose worker stopped beating wait again; after three attempts they fail and say so."""
    silent = Q(state=JobState.RUNNING, heartbeat_at__lt=at - timedelta(seconds=settings.JOB_STALE_SECONDS))
    Job.objects.filter(silent, attempts__gte=MAX_ATTEMPTS).update(
        state=JobState.FAILED,
        error=f"This job was begun {MAX_ATTEMPTS} times, and its worker was stopped. Try again when it is well.",
        finished_at=at,
    )
    n_requeued = 0
    Job.objects.filter(silent, cancel_requested=True).update(state=JobState.CANCELLED, finished_at=at)
    for job in Job.objects.filter(silent):
        requeued = Job.objects.filter(silent, pk=job.pk, runner=job.runner).update(state=JobState.QUEUED, runner="")
        if requeued:
            n_requeued += 1
            nudge(job)
    return n_requeued


def delete_old(at: datetime) -> None:
    """What the site began by itself and every letter, REXVQA_JOB_DAYS after the end: nobody opens their pages any more.

    The newest that ended of each kind stays: rooms ask when that was. What a person began stays with its result.
    """
    if not settings.JOB_DAYS:
        return
    over = Job.objects.exclude(state__in=UNFINISHED_JOBS)
    newest = over.values("kind").annotate(newest=Max("pk")).values("newest")
    own = Q(created_by=None) | Q(queue=JobQueue.MAIL)
    over.filter(own, finished_at__lt=at - timedelta(days=settings.JOB_DAYS)).exclude(pk__in=newest).delete()


def nudge_forgotten(at: datetime) -> None:
    """Send the message again for jobs that wait long: it may be lost, or held by a worker that is busy, since each that
    is acknowledged as its job begins makes room for another.

    Only into queues that hold fewer messages than jobs wait, so that none pile up while all workers are busy.
    """
    from annotation.jobs.running import n_messages

    late = at - timedelta(seconds=SECONDS_UNTIL_NEXT_NUDGE)
    overdue = Q(nudged_at__lt=late) | Q(nudged_at=None, created_at__lt=late)
    due = Job.objects.due(at)
    n_due = due.order_by().values_list("queue").annotate(n=Count("pk"), n_late=Count("pk", filter=overdue))
    try:
        short = [queue for queue, n, n_late in n_due if n_late and n_messages(queue) < n]
    except Exception as error:  # as in nudge: the rows are stored
        log.warning("waiting jobs are told of by a later sweep, as the message queue does not answer: %r", error)
        return
    told_too_early = Q(due_at__gt=F("nudged_at"))
    waiting = list(due.filter(overdue & Q(queue__in=short) | told_too_early).order_by("-priority", "created_at")[:20])
    Job.objects.filter(pk__in=[job.pk for job in waiting]).update(nudged_at=at)
    for job in waiting:
        nudge(job)


JOBS_SORTED_BY: Columns = {
    "job": AsRead("title"),
    "state": "state",
    "who": AsRead("created_by__name"),
    "when": "created_at",
}


def jobs_of(person: User) -> QuerySet[Job]:
    """Coordinators and administrators see every job, others their own."""
    jobs = Job.objects.select_related("created_by")
    return jobs if is_coordinator(person) or is_administrator(person) else jobs.filter(created_by=person)


def may_manage(person: User, job: Job) -> bool:
    return job.created_by_id == person.pk or is_coordinator(person)


def check_may_manage(person: User, job: Job) -> None:
    """Raises JobRefused for somebody who may look at the job and no more."""
    if not may_manage(person, job):
        sentence = _("Only who started a job, or a coordinator, can stop it or try it again.")
        raise JobRefused("not_yours", sentence, status=403)


def facts_of_result(job: Job) -> dict[str, Any]:
    """The plain values of the result: counts, names."""
    result = job.result or {}
    return {name: value for name, value in result.items() if name != "page" and not isinstance(value, list | dict)}


def refusals_of(job: Job) -> list[Any]:
    """The files or records that were not taken, each with its reason."""
    result = job.result or {}
    return result.get("refused") or result.get("errors") or []


class SentThing(Protocol):
    """The row of what was sent."""

    @property
    def public_id(self) -> str: ...


class CheckedFiles(Struct, frozen=True):
    """One kind of such files: the folder of the home that keeps them, and the kinds of its two jobs.

    They are handed over before the first job begins, and read ``here``.
    """

    folder: str
    check: JobKind[Any]
    store: JobKind[Any]

    def folder_of(self, upload: SentThing) -> Path:
        return Path(settings.HOME) / self.folder / upload.public_id

    def hand_over(self, upload: SentThing) -> None:
        home_files.hand_over(self.folder_of(upload))

    def here(self, upload: SentThing, *, but: Collection[str] = ()) -> Path:
        return home_files.here(self.folder_of(upload), but=but)

    @contextmanager
    def received(self, upload: SentThing, files: Mapping[str, Iterable[bytes]]) -> Iterator[int]:
        """The number of bytes, once all files lie in the folder of the upload; nothing stays where the block fails."""
        folder = self.folder_of(upload)
        folder.mkdir(parents=True, mode=0o700)
        try:
            yield sum(_write(folder / name, content) for name, content in files.items())
        except BaseException:
            self.discard(upload)
            raise

    def discard(self, upload: SentThing) -> None:
        """Its files go."""
        home_files.drop(self.folder_of(upload))

    def store_job(self, upload: Upload) -> Job | None:
        """The newest job that stores this file."""
        return self.store_jobs([upload.public_id]).get(upload.public_id)

    def store_jobs(self, uploads: Iterable[str]) -> dict[str, Job]:
        """The newest job that stores each of these files, by the public id of the file: one query."""
        jobs = Job.objects.filter(kind=self.store, params__upload__in=list(uploads)).order_by("pk")
        return {job.params["upload"]: job for job in jobs}

    @transaction.atomic
    def store_checked(
        self, upload: Upload, title: str, may_store: Callable[[Job], bool], *, actor: User, at: datetime, **more: object
    ) -> Job:
        """Start the import of a file whose check was good; asking twice gives the same job.

        ``title`` is filled with the parameters of the check, which the second job gets as well, with ``more`` beside
        them. Refused (``not_checked``) before.
        """
        Upload.objects.select_for_update(no_key=True).get(pk=upload.pk)  # two at once would each see no job
        stored, check = self.store_job(upload), upload.job
        if stored is not None and stored.state not in (JobState.FAILED, JobState.CANCELLED):
            return stored
        if check is None or not may_store(check):
            sentence = _("The file must be checked and found good before it can be stored.")
            raise JobRefused("not_checked", sentence)
        return enqueue(self.store, (title % check.params)[:200], check.params | more, actor=actor, at=at)


def _write(path: Path, chunks: Iterable[bytes]) -> int:
    with path.open("xb") as file:
        return sum(file.write(chunk) for chunk in chunks)
