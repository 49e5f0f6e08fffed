from __future__ import annotations

import gc
import logging
import os
import secrets
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from celery.beat import Scheduler, Service
from celery.exceptions import SecurityWarning
from django.conf import settings
from django.core.management.base import CommandParser
from django.db import connection
from django.utils import timezone

from annotation.audit.belonging import check_keys, check_media, check_program
from annotation.contributions import contributed
from annotation.enums import SWEEPS
from annotation.jobs.queueing import beat, forget_worker
from annotation.management.base import ActCommand
from annotation.model_calls.asking import stop_asking
from annotation.site.health import fault_of_clock
from annotation.site.home_files import make_private
from rexvqa_site import serving
from rexvqa_site.celery import app
from rexvqa_site.celery_settings import QUEUES
from rexvqa_site.serving import Children

log = logging.getLogger(__name__)
SECONDS_BETWEEN_BEATS = 5
SECONDS_FOR_CALLS = 10  # for answers of models that are still awaited when the worker ends


class Command(ActCommand):
    unchanged = ""
    help = (
        "Run background jobs until stopped. Several may run at once, also on other machines, when CELERY_BROKER_URL "
        "names a server. Without --queues two workers start: one for long jobs, one for mail, sweeps and models."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--queues", nargs="+", choices=QUEUES, default=[], help="whose jobs are taken (all)")
        parser.add_argument("--at-once", type=int, default=2, help="jobs at the same time (2)")

    def handle(self, *args: Any, **options: Any) -> None:
        make_private(settings.HOME)
        check_program(will_migrate=False)
        check_keys(at=timezone.now())
        check_media()
        if fault := fault_of_clock(at=timezone.now()):
            self.stderr.write(fault)
        connection.close()  # before processes are forked
        if options["queues"]:
            _work(options["queues"], options["at_once"])
        else:
            self._work_on_all()

    def _work_on_all(self) -> None:
        children = Children(workers(), os.environ)
        with serving.stop_signals():
            try:
                for name in children.commands:
                    children.start(name)
                children.watch()
            except serving.StopRequested:
                self.stdout.write("stopping")
            finally:
                children.stop()


def workers() -> dict[str, Callable[[], None]]:
    """The workers of a site by name, each to be run in a process that is forked from this one.

    What both need is loaded here, once. See docs/decisions/0009-speed-of-the-server.md for what that saves.
    """
    app.loader.import_default_modules()
    app.finalize()
    contributed()
    return {name: partial(_work, queues, at_once) for name, (queues, at_once) in serving.WORKERS.items()}


def _work(queues: Sequence[str], at_once: int) -> None:
    """Long jobs get processes, which can be ended; what waits for others, such as sweeps and mail, gets threads."""
    name = f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(2)}"  # unique, also in containers
    stop, sweeps = threading.Event(), SWEEPS in queues
    beats = threading.Thread(target=_beat_until, args=(stop, name, queues), name="heartbeat of the worker", daemon=True)
    beats.start()
    if sweeps:
        clock = Service(app, max_interval=1, scheduler_cls=Scheduler)
        threading.Thread(target=clock.start, name="beat", daemon=True).start()
    # Messages are JSON and carry the name of a job, so that Celery's warning about root and pickle does not apply.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    gc.freeze()  # the processes for jobs share what is loaded here
    worker = app.Worker(
        hostname=f"reading-room@{name}",
        queues=list(queues),
        pool="threads" if set(queues) <= set(serving.WAITING) else "prefork",
        concurrency=at_once,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        loglevel=settings.LOG_LEVEL,
        quiet=True,
    )
    try:
        worker.start()
    finally:
        stop.set()
        stop_asking(SECONDS_FOR_CALLS)
        beats.join(SECONDS_BETWEEN_BEATS)
    if worker.exitcode:  # such as a queue that was made otherwise before: whoever watches the worker is to know
        sys.exit(worker.exitcode)


def _beat_until(stop: threading.Event, name: str, queues: Sequence[str]) -> None:
    is_over = False
    while not is_over:
        is_over = stop.is_set()
        try:
            if is_over:
                forget_worker(name)
            else:
                beat(name, queues, at=timezone.now())
        except Exception:
            log.exception("the database did not take the heartbeat; the next follows in %s s", SECONDS_BETWEEN_BEATS)
        finally:
            connection.close()
        stop.wait(SECONDS_BETWEEN_BEATS)
