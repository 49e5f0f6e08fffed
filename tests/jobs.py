"""What a worker does: the tests run its jobs themselves."""

from __future__ import annotations

from django.utils import timezone

from annotation.enums import JobState
from annotation.jobs import running
from annotation.models import Job


def work() -> None:
    """Every job that waits, in its turn."""
    for job in Job.objects.filter(state=JobState.QUEUED).order_by("pk"):
        running.run(job.public_id, clock=timezone.now)
