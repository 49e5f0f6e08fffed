"""Start a web server and a worker as two children, watch them, and stop both together."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType

from rexvqa_site.lanes import WAITING_THREADS

PR_SET_PDEATHSIG = 1
SECONDS_TO_START = 60
SECONDS_OF_A_START = 3  # what ends sooner would end again
SECONDS_TO_STOP = 15


class HomeInUse(Exception):
    """Another server, or a restore, works in this home directory."""


class ServerDidNotStart(Exception):
    pass


class StopRequested(Exception):
    """Ctrl-C, or a SIGTERM from whoever supervises us."""


@contextlib.contextmanager
def home_lock(home: Path) -> Iterator[None]:
    """One server or one restore at a time works in a home directory. Raises HomeInUse."""
    with (home / "in-use.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HomeInUse(f"a server is running in {home}; stop it first") from None
        yield


def tree_sha256(root: Path, *, salt: str) -> str:
    """Hash over names, sizes and times of the files below ``root``; equal hashes need no collecting again."""
    digest = hashlib.sha256(salt.encode())
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        facts = path.stat()
        digest.update(f"{path.relative_to(root)}\n{facts.st_size}\n{facts.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def web_workers(*, is_sqlite: bool) -> int:
    """Processes of the web server."""
    return 1 if is_sqlite else 2


def web_command(host: str, port: int, *, workers: int) -> list[str]:
    """Granian: its own threads feed slow clients, so a download costs no worker, and many wait for slow senders."""
    return [
        *(sys.executable, "-m", "granian", "--interface", "wsgi", "--no-ws", "--http", "1"),
        *("--host", host, "--port", str(port), "--workers", str(workers), "--blocking-threads", str(WAITING_THREADS)),
        *("--respawn-failed-workers", "--log-level", "error"),
        "rexvqa_site.wsgi:application",
    ]


def worker_command(manage: Path) -> list[str]:
    return [sys.executable, str(manage), "work"]


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Children:
    """The processes of one site. When one ends by itself, it is started again, unless it never lived long."""

    def __init__(self, commands: Mapping[str, list[str]], environment: Mapping[str, str]) -> None:
        self.commands, self.environment = dict(commands), dict(environment)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.started: dict[str, float] = {}

    def start(self, name: str) -> None:
        self.started[name] = time.monotonic()
        self.running[name] = subprocess.Popen(  # noqa: S603
            self.commands[name], env=self.environment, start_new_session=True, preexec_fn=_die_with_parent
        )

    def revive(self) -> None:
        """Raises ServerDidNotStart when a child ends within SECONDS_OF_A_START of its start."""
        for name, child in self.running.items():
            if child.poll() is None:
                continue
            if time.monotonic() - self.started[name] < SECONDS_OF_A_START:
                raise ServerDidNotStart(f"the {name} ended at once with status {child.returncode}; see the lines above")
            self.start(name)

    def stop(self) -> None:
        for child in self.running.values():
            if child.poll() is None:
                child.terminate()
        deadline = time.monotonic() + SECONDS_TO_STOP
        for child in self.running.values():
            try:
                child.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


@contextlib.contextmanager
def stop_signals() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into StopRequested inside the block."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise StopRequested

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_until_healthy(address: str, children: Children) -> None:
    """Return when /healthz answers 200. Raises ServerDidNotStart after a minute."""
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        children.revive()
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=2) as response:  # noqa: S310
                if response.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.1)
    raise ServerDidNotStart(f"{address}/healthz did not answer within {SECONDS_TO_START} s")
