"""``manage.py serve`` as a user runs it: first start, one-time link, health, a killed worker, Ctrl-C."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from annotation.site.home_files import SiteRefused
from rexvqa_site import serving
from rexvqa_site.lanes import MOST_AWAITED
from rexvqa_site.management.commands.serve import environment_of_children
from tests.processes import PATIENCE, ROOT, Server, environment, free_port, is_running, manage, migrated_home

SLOW_CLIENTS = 200
BEGINNING = len("HTTP/1.1 200")
REST_OF_A_FORM = b"x" * 991
HALF_A_FORM = (
    b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\nusername="
)


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.1)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Where programs write that were not told better: the home of the person, and the place of temporary files."""
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


@pytest.fixture
def server(home: Path, elsewhere: Path) -> Iterator[Server]:
    others = {"HOME": str(elsewhere), "TMPDIR": str(elsewhere)}
    server = Server(environment(home, REXVQA_JOB_STALE_SECONDS="6", **others))
    try:
        yield server
    finally:
        server.stop()


class SlowClients:
    """Connections that begin a request and do not end it: its head, or the body that its head announces."""

    def __init__(self) -> None:
        self.half_heads: list[socket.socket] = []
        self.half_bodies: list[socket.socket] = []

    def begin(self, port: int, n: int) -> None:
        half_a_head = HALF_A_FORM.split(b"Content-Type")[0]
        for held, begun in ((self.half_heads, half_a_head), (self.half_bodies, HALF_A_FORM)):
            for _ in range(n):
                held.append(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
                held[-1].sendall(begun)

    def sent_away(self) -> Counter[bytes]:
        """How what those heard begins who sent half a body."""
        heard = [one for one in self.half_bodies if select.select([one], [], [], 0)[0]]
        self.half_bodies = [one for one in self.half_bodies if one not in heard]
        return Counter(one.recv(BEGINNING) for one in heard)

    def end(self) -> Counter[bytes]:
        """Send what is left of each body; how the answers begin."""
        for one in self.half_bodies:
            one.sendall(REST_OF_A_FORM)
        return Counter(one.recv(BEGINNING) for one in self.half_bodies)

    def close(self) -> None:
        for one in (*self.half_heads, *self.half_bodies):
            one.close()


@pytest.fixture
def slow_clients() -> Iterator[SlowClients]:
    clients = SlowClients()
    yield clients
    clients.close()


def children_named(word: str, parent: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,comm=,args=", "--ppid", str(parent)], capture_output=True, text=True, check=False
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if word in line]


def stored(home: Path, job: str) -> tuple[str, int]:
    """State and attempts of a job, without the seconds that the program takes to start."""
    with closing(sqlite3.connect(f"file:{home / 'db.sqlite3'}?mode=ro", uri=True, timeout=PATIENCE)) as database:
        found: tuple[str, int] = database.execute(
            "SELECT state, attempts FROM annotation_job WHERE public_id = ?", [job]
        ).fetchone()
    return found


def test_a_site_from_its_first_start_to_its_second(
    server: Server, home: Path, elsewhere: Path, slow_clients: SlowClients
) -> None:
    server.wait_until_greeted()
    slow_clients.begin(server.port, SLOW_CLIENTS)  # whoever is slow to ask holds up nobody in what follows
    link = re.search(r"http://127\.0\.0\.1:\d+(/\S+)", server.output.split("works once", 1)[1])
    assert link, server.output
    assert "<form" in server.get(link.group(1))
    eventually(server.is_well, "the worker never reported")
    assert slow_clients.sent_away() == {b"HTTP/1.1 503": SLOW_CLIENTS - MOST_AWAITED}
    assert slow_clients.end() == {b"HTTP/1.1 403": MOST_AWAITED}  # a form without its token

    # A worker that is killed in the middle of a job comes back, and so does the job.
    env = environment(home)
    queued = manage("shell", "-c", LONG_JOB, env=env)
    assert queued.returncode == 0, queued.stderr
    job = queued.stdout.strip().splitlines()[-1]
    eventually(lambda: stored(home, job)[0] == "running", "the job never started, or was over before it was seen")
    _running, attempts = stored(home, job)  # a busy machine may take a run for dead
    (worker,) = children_named(" worker ", server.process.pid)
    os.kill(worker, signal.SIGKILL)
    again = [("succeeded", attempts + more) for more in (1, 2)]
    eventually(lambda: stored(home, job) in again, "the job was not run again")
    assert " succeeded " in manage("jobs", env=env).stdout

    # So does a web server, which does not leave its port to a process that it had started.
    (web,) = children_named("granian", server.process.pid)
    served_by = children_named("", web)
    assert served_by
    os.kill(web, signal.SIGKILL)
    eventually(lambda: bool(set(children_named("granian", server.process.pid)) - {web}), "no other web server came")
    eventually(server.is_well, "the other web server never answered")
    assert not any(is_running(pid) for pid in served_by)

    # Another server in the same home is refused; Ctrl-C stops all children.
    second = manage("serve", env={**env, "PORT": str(free_port())})
    assert second.returncode == 2
    assert "stop it first" in second.stderr
    children = children_named("", server.process.pid)
    assert len(children) == 3  # web server and two workers; simulated models are of a demonstration alone
    assert server.stop() == 0
    assert not any(is_running(pid) for pid in children)
    written = {path.name for path in home.iterdir()}
    assert {"db.sqlite3", "secret_key", "media", "tmp"} <= written
    assert list(elsewhere.iterdir()) == []


@pytest.mark.check
def test_a_server_that_is_killed_leaves_nobody_at_work(home: Path) -> None:
    """Not even whoever is in the middle of a job: that process would keep the next server out of the home."""
    server = Server(env := environment(home))
    try:
        server.wait_until_greeted()
        eventually(server.is_well, "the worker never reported")
        longer = LONG_JOB.replace('"steps": 40', '"steps": 400')
        job = manage("shell", "-c", longer, env=env).stdout.strip().splitlines()[-1]
        eventually(lambda: stored(home, job)[0] == "running", "the job never started")
        workers = children_named("", server.process.pid)
        everybody = [*workers, *(pid for one in workers for pid in children_named("", one))]
        assert len(everybody) > len(workers)
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        eventually(lambda: not any(map(is_running, everybody)), "a process outlived the server")
        assert stored(home, job)[0] == "running"
        with serving.home_lock(home):
            pass
    finally:
        server.stop()


@pytest.mark.parametrize("shared", [True, False])
def test_servers_share_a_home_and_a_restore_has_it_alone(tmp_path: Path, *, shared: bool) -> None:
    with serving.home_lock(tmp_path, shared=shared), ExitStack() as others:
        if shared:
            others.enter_context(serving.home_lock(tmp_path, shared=True))
        with pytest.raises(SiteRefused, match="stop it first"):
            others.enter_context(serving.home_lock(tmp_path, shared=not shared))


# Long enough to be caught in the middle.
LONG_JOB = """
from django.db import transaction
from django.utils import timezone
from annotation.jobs.queueing import REHEARSAL
from annotation.jobs.queueing import enqueue
with transaction.atomic():
    job = enqueue(REHEARSAL, "Rehearsal", {"steps": 40, "seconds_per_step": 0.25}, actor=None, at=timezone.now())
print(job.public_id)
"""


@pytest.mark.check
def test_a_second_start_finds_the_bytecode_of_the_first(home: Path) -> None:
    """Also in a container whose image says that Python writes none: compiling everything again takes seconds."""
    env = environment(home, PYTHONDONTWRITEBYTECODE="1")
    command = ["make", "-n", "--no-print-directory", "serve"]  # the tests may be run by make themselves
    told = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    flags = "-c 'import sys; print(sys.flags, sys.pycache_prefix)'"
    program = told.stdout.splitlines()[-1].replace("manage.py serve", flags)
    said = subprocess.run(program, shell=True, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    assert "dont_write_bytecode=0" in said
    assert f"{home}/cache/python" in said


@pytest.mark.check
def test_what_is_served_keeps_its_bytecode_where_the_environment_asks_for_none(
    home: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.HOME = home
    home.mkdir()
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    command = [sys.executable, "-c", "import sys; print(sys.flags.dont_write_bytecode, sys.pycache_prefix)"]
    child = subprocess.run(command, env=environment_of_children(), capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["0", str(home / "cache" / "python")]


@pytest.mark.check
def test_a_port_in_use_is_refused_with_what_to_do(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = manage("serve", env=environment(home, PORT=str(taken.getsockname()[1])))
    assert refused.returncode == 2
    assert "another port" in refused.stderr
    assert not (home / "db.sqlite3").exists()


@pytest.mark.check
def test_the_demonstration_serves_only_this_machine(home: Path) -> None:
    env = environment(home, REXVQA_BIND="0.0.0.0", PORT=str(free_port()))
    assert manage("mark_demonstration", env=env).returncode == 0
    refused = manage("serve", env=env)
    assert refused.returncode == 2
    assert "127.0.0.1" in refused.stderr


# As if it had been built, which takes minutes.
BUILT = """
from django.db import transaction
from django.utils import timezone
from annotation.audit.recording import record
from annotation.demonstration.building import add_people
from annotation.demonstration.registry import BUILT
with transaction.atomic():
    record(BUILT, actor=add_people(at=timezone.now())[0][0], at=timezone.now())
"""


PROBED = """
from django.utils import timezone
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.model_calls.probing import counts_of, probe
made = probe(endpoint_named("simulated"), "", actor=None, at=timezone.now())
print(made.model, counts_of(made)["unknown"])
"""


@pytest.mark.check
def test_a_demonstration_serves_its_simulated_models_on_any_port(home: Path) -> None:
    """To every process of the home, again after they were killed, and no longer than it is served itself."""
    shutil.copytree(migrated_home(), home)
    env = environment(home)
    made = manage("shell", "-v0", "-c", BUILT, env=env)
    assert made.returncode == 0, made.stderr
    (home / "DEMONSTRATION").write_text("")
    noted = home / "stand_in_port"
    noted.write_text("1")  # of a server that was killed
    server = Server(env)
    try:
        server.wait_until_greeted()
        assert "the endpoint “simulated” has no model behind it" in server.output
        asked = manage("shell", "-v0", "-c", PROBED, env=env)
        assert asked.returncode == 0, asked.stderr
        assert asked.stdout.split() == ["stand-in-json", "0"]
        (stand_in,) = children_named("simulated_endpoint", server.process.pid)
        before = noted.stat().st_mtime_ns
        os.kill(stand_in, signal.SIGKILL)
        eventually(lambda: noted.stat().st_mtime_ns != before, "the simulated models did not come back")
        assert len(children_named("", server.process.pid)) == 4
    finally:
        server.stop()
    assert not noted.exists()


@pytest.mark.check
def test_a_site_with_an_address_of_https_starts_and_says_whether_it_serves(home: Path) -> None:
    shutil.copytree(migrated_home(), home)
    server = Server(environment(home, REXVQA_URL="https://reading.example.org", REXVQA_BEHIND_PROXY="1"))
    try:
        server.wait_until_greeted()
        assert "The reading room is at https://reading.example.org" in server.output
        eventually(server.is_well, "its health, asked without TLS, was not told")
    finally:
        server.stop()


@pytest.mark.check
def test_a_site_does_not_become_a_demonstration(home: Path) -> None:
    shutil.copytree(migrated_home(), home)
    env = environment(home)
    refused = manage("mark_demonstration", env=env)
    assert refused.returncode == 2
    assert manage("delete_demonstration", env=env).returncode == 2
    assert (home / "db.sqlite3").exists()


@pytest.mark.check
def test_a_demonstration_is_deleted_whole(home: Path) -> None:
    assert manage("mark_demonstration", env=environment(home)).returncode == 0
    assert (home / "DEMONSTRATION").exists()
    env = environment(home, PYTHONPYCACHEPREFIX=str(home / "cache" / "python"), PYTHONDONTWRITEBYTECODE="")
    deleted = manage("delete_demonstration", env=env)
    assert deleted.returncode == 0, deleted.stderr
    assert not home.exists()
