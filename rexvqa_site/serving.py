"""The processes of one site: started, watched, started again when they end, and never left behind.

What serving needs: the home to itself, the commands of its children, and a sign that it answers.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import hashlib
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from annotation.enums import SWEEPS
from annotation.site.home_files import SiteRefused
from rexvqa_site.lanes import WAITING_THREADS

PR_SET_NAME = 15  # of Linux; its first 15 letters
PR_SET_PDEATHSIG = 1  # the same; elsewhere a child that outlives its parent is ended by whoever starts the next one
AUTOGROUP = Path("/proc/self/autogroup")  # man 7 sched
SECONDS_OF_A_SHORT_LIFE = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 15.0
SHORT_LIVES_IN_A_ROW = 8  # about a minute, in which a database may come back
SECONDS_TO_STOP = 15
SECONDS_BETWEEN_LOOKS = 0.5


def pause_before_start(n_short_lives: int) -> float:
    """Seconds until a child is started again that ended soon after its start so many times in a row."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (n_short_lives - 1)) if n_short_lives else 0.0


class Forked:
    """A child that runs an act of this program, and shares the memory of what is loaded here.

    As much of Popen as is needed. Whoever forks has no threads and no open connections.
    """

    def __init__(self, name: str, begin: Callable[[], None], act: Callable[[], object]) -> None:
        gc.freeze()  # a collection of the child would write to, and so copy, all that it shares
        self._process = multiprocessing.get_context("fork").Process(name=name, target=_run, args=(begin, act))
        self._process.start()
        self.pid = self._process.pid or 0
        self.terminate, self.kill = self._process.terminate, self._process.kill

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Raises TimeoutExpired."""
        self._process.join(timeout)
        if (status := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired("a forked child", timeout or 0)
        return status


@dataclass
class Life:
    """One child from its start; ``n_short`` counts the short lives in a row up to now."""

    process: subprocess.Popen[bytes] | Forked
    started: float
    n_short: int = 0
    start_again_at: float | None = None  # None while it runs


class Children:
    """Each is the leader of a process group, which ends with it. ``yields``: the niceness of some, by name.

    A command is a program with its arguments, or an act of this one.
    """

    def __init__(
        self,
        commands: Mapping[str, list[str] | Callable[[], object]],
        environment: Mapping[str, str],
        *,
        yields: Mapping[str, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.commands, self.environment, self.clock = dict(commands), dict(environment), clock
        self.yields = dict(yields or {})
        self.lives: dict[str, Life] = {}

    def start(self, name: str, *, n_short: int = 0) -> None:
        command, begin = self.commands[name], partial(_begin, os.getpid(), self.yields.get(name, 0))
        process = (
            Forked(name, partial(_begin_here, begin, name, self.environment), command)
            if callable(command)
            else subprocess.Popen(command, env=self.environment, preexec_fn=begin)  # noqa: S603
        )
        self.lives[name] = Life(process, self.clock(), n_short)

    def watch(self) -> NoReturn:
        """Until something is raised: by revive, or by a signal."""
        while True:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            self.revive()

    def revive(self) -> None:
        """Start again what has ended and whose pause is over.

        Raises SiteRefused when a child has ended SHORT_LIVES_IN_A_ROW times soon after its start.
        """
        for name, life in list(self.lives.items()):
            if life.start_again_at is None and life.process.poll() is not None:
                self._bury(name, life)
            if life.start_again_at is not None and self.clock() >= life.start_again_at:
                self.start(name, n_short=life.n_short)

    def _bury(self, name: str, life: Life) -> None:
        _kill_group(life.process)  # what it left behind would keep its port
        is_short = self.clock() - life.started < SECONDS_OF_A_SHORT_LIFE
        life.n_short = life.n_short + 1 if is_short else 0
        if life.n_short >= SHORT_LIVES_IN_A_ROW:
            raise SiteRefused(
                "did_not_start",
                f"the {name} ended {life.n_short} times in a row as soon as it was started, "
                f"at last with status {life.process.poll()}; see the lines above",
            )
        life.start_again_at = self.clock() + pause_before_start(life.n_short)

    def stop(self) -> None:
        """Ask each to end, and end what does not, with everything that it started."""
        processes = [life.process for life in self.lives.values()]
        for process in processes:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + SECONDS_TO_STOP
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            _kill_group(process)
            process.wait()


def _begin(parent: int, niceness: int) -> None:
    os.setsid()
    end_with_parent(parent)
    os.nice(niceness)
    if niceness:  # Linux may weigh sessions against each other as groups, whatever their processes are
        with contextlib.suppress(OSError):
            AUTOGROUP.write_text(str(niceness))


def _run(begin: Callable[[], None], act: Callable[[], object]) -> None:
    """At its end it does what a program does then, which multiprocessing leaves out; nothing of its parent's."""
    atexit._clear()
    begin()
    try:
        act()
    finally:
        atexit._run_exitfuncs()
        logging.shutdown()


def _begin_here(begin: Callable[[], None], name: str, environment: Mapping[str, str]) -> None:
    """As a program that is started anew finds it, under its own name in the list of processes."""
    _ask_linux(PR_SET_NAME, name.encode())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    begin()
    os.environ.update(environment)
    sys.pycache_prefix = environment.get("PYTHONPYCACHEPREFIX") or sys.pycache_prefix
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    tempfile.tempdir = None


def _kill_group(leader: subprocess.Popen[bytes] | Forked) -> None:
    leader.kill()  # one that was just forked may lead no group yet
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)


def _ask_linux(what: int, value: int | bytes) -> None:
    with contextlib.suppress(AttributeError):  # others do not know it
        ctypes.CDLL(None).prctl(what, value)


def end_with_parent(parent: int) -> None:
    """Have this process end when its parent ends, also when that has just happened.

    It ends at once, so that its port is free for the next start: what was acknowledged is stored, and jobs come back.
    """
    _ask_linux(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def end_with_server() -> None:
    """For a process in which the web server runs the program: it shares the port with the one that started it."""
    server = multiprocessing.parent_process()
    if server is not None and server.pid is not None:
        end_with_parent(server.pid)


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
