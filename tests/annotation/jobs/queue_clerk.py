"""In a process of its own with the home of a site: ``enqueue(_once) N STEPS SECONDS``, ``cancel``, ``told``."""

from __future__ import annotations

import json
import sys
from typing import Any

import django

django.setup()

from django.utils import timezone  # noqa: E402

from annotation.jobs.queueing import REHEARSAL, RehearsalParams, cancel, enqueue  # noqa: E402  # noqa: E402
from annotation.jobs.running import send  # noqa: E402
from annotation.models import Job, User, WorkerBeat  # noqa: E402
from annotation.site.logs import about  # noqa: E402

REQUEST = "asked-by-the-clerk"


def ask_for(n: int, steps: int, seconds: float) -> list[Job]:
    params = RehearsalParams(steps=steps, seconds_per_step=seconds)
    return [enqueue(REHEARSAL, f"Job {k}", params, actor=None, at=timezone.now()) for k in range(n)]


def told(word: str, *more: str) -> Any:
    if word == "enqueue":
        about.set({"request": REQUEST})
        for job in ask_for(int(more[0]), int(more[1]), float(more[2])):
            send(job)  # and so twice
    elif word == "enqueue_once":
        ask_for(int(more[0]), int(more[1]), float(more[2]))
    elif word == "cancel":
        cancel(Job.objects.latest("pk"), actor=User.objects.create(email="c@example.org"), at=timezone.now())
    return {
        "jobs": list(Job.objects.order_by("pk").values_list("state", "attempts", "error")),
        "workers": list(WorkerBeat.objects.exclude(queues="").values_list("name", "queues")),
    }


if __name__ == "__main__":
    print(json.dumps(told(*sys.argv[1:])))
