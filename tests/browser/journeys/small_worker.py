"""A worker that a journey starts as a process and may kill: asks one endpoint and runs jobs, again and again.

``python -m tests.browser.journeys.small_worker ENDPOINT``, in the environment of a site.
"""

from __future__ import annotations

import sys
import time

import django


def work(endpoint: str) -> None:
    from django.utils import timezone

    from annotation.enums import JobState
    from annotation.jobs import running
    from annotation.model_calls.asking import ask_endpoint
    from annotation.models import Job

    while True:
        for public_id in Job.objects.filter(state=JobState.QUEUED).order_by("pk").values_list("public_id", flat=True):
            running.run(public_id, clock=timezone.now)
        ask_endpoint(endpoint)
        time.sleep(0.05)


if __name__ == "__main__":
    django.setup()
    work(sys.argv[1])
