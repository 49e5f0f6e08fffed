from __future__ import annotations

import logging
import os
import socket
import threading
import warnings
from typing import Any

from celery.exceptions import SecurityWarning
from django.conf import settings
from django.core.management.base import CommandParser
from django.db import connection
from django.utils import timezone

from annotation.jobs.queueing import sweep
from annotation.management.base import ActCommand
from annotation.model_calls.asking import stop_asking
from annotation.site.privacy import make_private
from rexvqa_site.celery import app

log = logging.getLogger(__name__)
SECONDS_BETWEEN_SWEEPS = 5
SECONDS_FOR_CALLS = 10  # for answers of models that are still awaited when the worker ends


class Command(ActCommand):
    unchanged = ""
    help = "Run background jobs until stopped. Several may run at once when CELERY_BROKER_URL names a server."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--threads", type=int, default=2, help="jobs at the same time (2)")

    def handle(self, *args: Any, **options: Any) -> None:
        make_private(settings.HOME)
        stop = threading.Event()
        sweeper = threading.Thread(target=_sweep_until, args=(stop,), name="sweeper", daemon=True)
        sweeper.start()
        # Messages are JSON and carry the name of a job, so that Celery's warning about root and pickle does not apply.
        warnings.filterwarnings("ignore", category=SecurityWarning)
        worker = app.Worker(
            pool="threads",
            concurrency=options["threads"],
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            loglevel="WARNING",
            quiet=True,
        )
        try:
            worker.start()
        finally:
            stop.set()
            sweeper.join(timeout=5)
            stop_asking(SECONDS_FOR_CALLS)


def _sweep_until(stop: threading.Event) -> None:
    name = f"{socket.gethostname()[:24]}-{os.getpid()}"
    while True:
        try:
            sweep(name, at=timezone.now())
        except Exception:
            log.exception("a sweep failed; the next one follows in %s s", SECONDS_BETWEEN_SWEEPS)
        finally:
            connection.close()
        if stop.wait(SECONDS_BETWEEN_SWEEPS):
            return
