"""What serving a site needs: its home to itself, the commands of its two children, and a sign that it answers."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from annotation.enums import SWEEPS
from annotation.site.privacy import SiteRefused
from rexvqa_site.children import Children
from rexvqa_site.lanes import WAITING_THREADS

SECONDS_TO_START = 60
SECONDS_FOR_SLOW_CLIENTS = 10  # when the web server is asked to end, less than Children.stop waits

WAITING = ("mail", SWEEPS)  # queues whose jobs wait most of their time
# One worker for jobs that use a processor, and one, by threads, for what waits for other programs and for time: queues,
# and jobs at the same time. One that hangs keeps sweeps from none of the others.
WORKERS: dict[str, tuple[tuple[str, ...], int]] = {
    "worker": (("images", "imports", "analysis", "models"), 2),
    "mail and sweeps": (WAITING, 4),
}
STOPS = (signal.SIGINT, signal.SIGTERM)
YIELDS = dict.fromkeys(WORKERS, 10)  # whoever waits for a page comes before jobs and questions to models


class StopRequested(Exception):
    """Ctrl-C, or a SIGTERM from whoever supervises us."""


@contextlib.contextmanager
def home_lock(home: Path, *, shared: bool = False) -> Iterator[None]:
    """One server or one restore at a time works in a home directory, or several servers (``shared``).

    Raises SiteRefused.
    """
    with (home / "in-use.lock").open("a+") as file:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SiteRefused("home_in_use", f"a server is running in {home}; stop it first") from None
        yield


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """One process at a time is here; the others wait."""
    with place.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
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
        *("--respawn-failed-workers", "--workers-kill-timeout", str(SECONDS_FOR_SLOW_CLIENTS), "--log-level", "error"),
        "rexvqa_site.wsgi:application",
    ]


def simulation_command(port_file: Path) -> list[str]:
    """The simulated models of a demonstration, on any port that is free."""
    return [sys.executable, "-m", "annotation.endpoints.simulated_endpoint", str(port_file)]


@contextlib.contextmanager
def stop_signals() -> Iterator[None]:
    """Turn the first SIGINT or SIGTERM into StopRequested inside the block; further ones change nothing."""

    def stop(signum: int, frame: FrameType | None) -> None:
        for number in STOPS:  # a second one would break off the stop, and leave children behind
            signal.signal(number, signal.SIG_IGN)
        raise StopRequested

    before = {number: signal.signal(number, stop) for number in STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_until_healthy(address: str, children: Children) -> None:
    """Return when /healthz says that answers can be stored; workers come later. Raises SiteRefused after a minute."""
    _wait_until(lambda: is_healthy(address), children, f"{address}/healthz did not answer")


def wait_until_there(path: Path, children: Children) -> None:
    """Return when a child has written this file. Raises SiteRefused after a minute."""
    _wait_until(path.exists, children, f"{path} was not written")


def is_healthy(address: str) -> bool:
    """Whether it can store answers, with a worker or without."""
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=2) as response:  # noqa: S310
            return bool(response.status == 200)
    except urllib.error.HTTPError as answer:
        return b'"degraded"' in answer.read()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _wait_until(condition: Callable[[], bool], children: Children, otherwise: str) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while not condition():
        if time.monotonic() > deadline:
            raise SiteRefused("did_not_start", f"{otherwise} within {SECONDS_TO_START} s")
        children.revive()
        time.sleep(0.1)
