"""What a worker does: the tests run its jobs themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from annotation.enums import JobState
from annotation.jobs import running
from annotation.models import Job


def work() -> None:
    """Every job that waits, in its turn."""
    for job in Job.objects.filter(state=JobState.QUEUED).order_by("pk"):
        running.run(job.public_id, clock=timezone.now)


def worked(job: Job, *, at: datetime | None = None) -> Job:
    """The same after a worker has run it."""
    running.run(job.public_id, clock=lambda: at or timezone.now())
    job.refresh_from_db()
    return job


def result_of(job: Job, *, at: datetime | None = None) -> dict[str, Any]:
    """What it tells after a worker has run it."""
    result: dict[str, Any] | None = worked(job, at=at).result
    assert result is not None
    return result
