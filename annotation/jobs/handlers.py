"""What a job does: its kind has a function that takes the progress and the parameters and returns the result.

Every handler is safe to run twice: a job that was killed in the middle is run again from the start. A room declares the
kinds of its jobs with the type of their parameters, and ``apps.py`` names their handlers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Generic, Protocol, Self, TypedDict, TypeVar

from msgspec import Struct

from annotation.contributions import contributing_apps
from annotation.enums import JobQueue
from annotation.refusals import Refused


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
