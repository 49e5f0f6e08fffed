"""An endpoint outside that wants a key, and a worker of its own process that asks it: for journeys with models."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as site
from django.db import connection
from pytest_django.fixtures import Settings

from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.jobs import queueing
from annotation.model_calls.versions import store_shipped
from tests.annotation.endpoints.stand_in import StandIn
from tests.annotation.review.cases import NOON
from tests.browser.journeys.steps import ENDPOINT, KEY
from tests.processes import ROOT, environment


class Worker:
    """Its process; ``kill`` is kill -9."""

    def __init__(self, server: StandIn) -> None:
        self.env = environment(
            Path(site.HOME),
            database_url(),
            DJANGO_SETTINGS_MODULE="rexvqa_site.settings",
            REXVQA_MODEL_ENDPOINTS=f"{ENDPOINT}={server.url} place=outside connections=4",
            REXVQA_MODEL_KEY_STAND_IN=KEY,
            REXVQA_JOB_STALE_SECONDS="2",
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.browser.journeys.small_worker", ENDPOINT]
        self.process = subprocess.Popen(command, env=self.env, cwd=ROOT)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(timeout=20)


def database_url() -> str:
    """Of the database of this test, for another process."""
    named = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{named['NAME']}"
    who = f"{named['USER']}:{named['PASSWORD']}@" if named["PASSWORD"] else f"{named['USER']}@" if named["USER"] else ""
    return f"postgres://{who}{named['HOST']}:{named['PORT']}/{named['NAME']}"


@pytest.fixture
def server(transactional_db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setattr(queueing, "nudge", lambda _public_id: None)  # the worker looks for itself
    monkeypatch.setenv("REXVQA_MODEL_KEY_STAND_IN", KEY)
    store_shipped(at=NOON)
    with StandIn(seed=1, seconds=0.15) as server:
        settings.MODEL_ENDPOINTS = (Endpoint(ENDPOINT, server.url, connections=4),)
        yield server


@pytest.fixture
def worker(server: StandIn) -> Iterator[Worker]:
    made = Worker(server)
    made.start()
    yield made
    made.kill()
