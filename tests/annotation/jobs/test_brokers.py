"""Whole jobs through every kind of broker: messages twice, two workers on one host, one of them killed."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT, environment, migrated_home, worker_commands

pytestmark = [pytest.mark.check, pytest.mark.services]
PATIENCE = 180.0
MOST_SECONDS_WITHOUT_WORK = 60.0  # of a job beside a worker that is free, its start included
JOBS = next(iter(worker_commands().values()))
SWEEPS = list(worker_commands().values())[1]


@contextmanager
def rabbitmq() -> Iterator[str]:
    name = f"test-{secrets.token_hex(4)}"
    control = shutil.which("rabbitmqctl")
    if (
        control is None
        or subprocess.run([control, "-q", "add_vhost", name], capture_output=True, check=False).returncode
    ):
        pytest.skip("RabbitMQ does not run here, or this user may not make a virtual host in it")
    try:
        permitted = [control, "-q", "set_permissions", "-p", name, "guest", ".*", ".*", ".*"]
        subprocess.run(permitted, check=True, capture_output=True)
        yield f"amqp://guest:guest@127.0.0.1:5672/{name}"
    finally:
        subprocess.run([control, "-q", "delete_vhost", name], check=False, capture_output=True)


@contextmanager
def redis_server() -> Iterator[str]:
    import redis

    client = redis.Redis(db=9)
    try:
        client.flushdb()
    except redis.ConnectionError:
        pytest.skip("Redis does not run on 127.0.0.1:6379")
    yield "redis://127.0.0.1:6379/9"
    client.flushdb()


@contextmanager
def files() -> Iterator[str]:
    yield ""


class Workers:
    """The processes of a site that take jobs, and what its rows say."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env, self.processes = env, list[subprocess.Popen[bytes]]()
        self.log = Path(env["REXVQA_HOME"]) / "workers.log"

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("a") as log:
            process = subprocess.Popen(command, env=self.env, cwd=ROOT, start_new_session=True, stderr=log)
        self.processes.append(process)
        return process

    def told(self, *words: object) -> Any:
        command = [sys.executable, "-m", "tests.annotation.jobs.queue_clerk", *map(str, words)]
        done = subprocess.run(command, env=self.env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])

    def wait_for(self, condition: Callable[[Any], bool], what: str, patience: float = PATIENCE) -> Any:
        deadline = time.monotonic() + patience
        while not condition(found := self.told("told")):
            assert time.monotonic() < deadline, f"{what} did not come within {patience:.0f} s: {found}"
        return found

    def states(self) -> Counter[str]:
        return Counter(state for state, _attempts, _error in self.told("told")["jobs"])

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Callable[..., Workers]]:
    made: list[Workers] = []

    def make(broker: str, **more: str) -> Workers:
        shutil.copytree(migrated_home(), tmp_path / "home", dirs_exist_ok=True)
        env = environment(tmp_path / "home", DJANGO_SETTINGS_MODULE="rexvqa_site.settings", PYTHONPATH=str(ROOT))
        made.append(Workers({**env, "CELERY_BROKER_URL": broker, "REXVQA_JOB_STALE_SECONDS": "12", **more}))
        return made[-1]

    yield make
    for workers in made:
        workers.stop()


@pytest.mark.parametrize("broker", [rabbitmq, redis_server, files])
def test_none_is_lost_and_none_done_twice_when_one_of_two_workers_is_killed(
    broker: Callable[[], Any], site: Callable[..., Workers]
) -> None:
    with broker() as address:
        workers = site(address, REXVQA_LOG_LEVEL="INFO", REXVQA_LOG_FORMAT="json")
        killed = workers.start(JOBS)
        for command in (JOBS, SWEEPS):
            ends_well = workers.start(command)
        n_known = len({"two of one host": 2, "and sweeps": 1})
        workers.wait_for(lambda found: len(found["workers"]) > n_known, "three workers with names of their own")
        workers.told("enqueue", 12, 10, 0.3)
        workers.wait_for(lambda found: sum(one[0] == "running" for one in found["jobs"]) >= 4, "four at once")
        os.killpg(killed.pid, signal.SIGKILL)
        found = workers.wait_for(lambda found: all(one[0] == "succeeded" for one in found["jobs"]), "the end of all")
        ends_well.terminate()
        workers.wait_for(lambda found: len(found["workers"]) == n_known, "the killed one and one more")
    attempts = Counter(attempts for _state, attempts, _error in found["jobs"])
    assert sum(attempts.values()) == 12
    assert 1 <= attempts[2] <= 2, f"what the killed worker ran, and nothing else, is begun twice: {attempts}"
    lines = [json.loads(line) for line in workers.log.read_text().splitlines() if line.startswith("{")]
    of_jobs = {line["job"] for line in lines if line.get("request") == "asked-by-the-clerk"}
    assert of_jobs, "the log names the request by which a job was asked for, unless a sweep announced it again"


@pytest.mark.parametrize("broker", [rabbitmq, redis_server, files])
def test_a_job_whose_messages_a_busy_worker_holds_is_begun_by_one_that_is_free(
    broker: Callable[[], Any], site: Callable[..., Workers]
) -> None:
    with broker() as address:
        workers = site(address)
        for command in (JOBS, SWEEPS):
            workers.start(command)
        workers.told("enqueue_once", 2, 1, 600)
        workers.wait_for(lambda found: all(one[0] == "running" for one in found["jobs"]), "both at work")
        workers.told("enqueue_once", 1, 1, 0)
        workers.start(JOBS)
        workers.wait_for(lambda found: found["jobs"][2][0] == "succeeded", "the third", MOST_SECONDS_WITHOUT_WORK)


@pytest.mark.parametrize("address", ["redis://127.0.0.1:{}/0", "amqp://guest:guest@127.0.0.1:{}//"])
def test_a_broker_that_says_nothing_holds_up_no_page(site: Callable[..., Workers], address: str) -> None:
    """As one that is frozen, or behind a network that swallows: the job is stored, and waits for the sweep."""
    ask = "from tests.annotation.jobs.queue_clerk import told, ask_for; ask_for(1, 1, 0); print(told('told')['jobs'])"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        workers = site(address.format(silent.getsockname()[1]))
        command = [sys.executable, "-c", ask]
        done = subprocess.run(
            command, env=workers.env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=40
        )
    assert done.stdout == "[('queued', 0, '')]\n"


def test_a_job_that_does_not_return_is_cancelled_or_ended_by_its_limit_with_a_sentence(
    site: Callable[..., Workers],
) -> None:
    workers = site("", REXVQA_JOB_MINUTES="analysis=1")
    for command in (JOBS, SWEEPS):
        workers.start(command)
    workers.told("enqueue", 1, 1, 600)
    workers.told("enqueue", 1, 1, 601)
    workers.wait_for(lambda found: all(one[0] == "running" for one in found["jobs"]), "both at work")
    workers.told("cancel")
    workers.wait_for(lambda found: found["jobs"][1][0] == "cancelled", "the end of what was cancelled")
    found = workers.wait_for(lambda found: found["jobs"][0][0] == "failed", "the end by the limit")
    assert "ended after 1 minutes" in found["jobs"][0][2]
    workers.told("enqueue", 2, 1, 0)
    workers.wait_for(lambda found: sum(one[0] == "succeeded" for one in found["jobs"]) == 2, "work after that")
