"""Thirty-two readers at once while eight others load images on slow lines, on SQLite and on PostgreSQL.

The site is served as ``manage.py serve`` does it, by the same command; only the baseline is added, a view that inserts
one row. Clients are processes of their own with real connections. Two kinds of load: readers who make a step each
second, ten times as often as anybody reads, and clients who never pause.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexvqa_site import serving
from rexvqa_site.serving import Children
from tests.bench.measuring import filled, site_env
from tests.bench.rows import Row, on_both_databases, percentile
from tests.processes import ROOT, free_port, manage, worker_commands
from tests.ways_in import cookies_of

N_READERS, N_PROCESSES, N_SLOW = 32, 4, 8
N_WARM, N_PACED, N_FLAT_OUT, N_BARE = 1, 3, 5, 12  # cases, and rows of the baseline, of each reader
BYTES_PER_SECOND = 10_000_000 / 8
GOAL = "p99 150 ms, no error"
STEPS = ("open", "answer", "submit")


def measure() -> list[Row]:
    return on_both_databases(_on, "bench_load")


def _on(name: str, database_url: str) -> list[Row]:
    with site_env(database_url) as env:
        way_in = _fill(env, N_READERS + N_SLOW, N_WARM + N_PACED + N_FLAT_OUT)
        with _served(env, is_sqlite=not database_url) as site, _slow_readers(site.port, way_in):
            _load(site, way_in, slice(0, N_WARM))
            bare = _load(site, way_in, slice(0), n_bare=N_BARE)
            paced = _load(site, way_in, slice(N_WARM, N_WARM + N_PACED), pause=1.0)
            flat_out = _load(site, way_in, slice(N_WARM + N_PACED, None))
    return [*_rows(f"{name}, {N_READERS} readers", paced, bare), *_rows(f"{name}, no pauses", flat_out, bare)]


def _rows(name: str, found: dict[str, Any], bare: dict[str, Any]) -> list[Row]:
    times = [one for step in STEPS for one in found["measured"][step]]
    base = bare["measured"]["bare"]
    against = "one-row insert, no pauses"
    errors = [*found["errors"], *bare["errors"]]
    for error in errors[:3]:
        print(error, file=sys.stderr)
    return [
        Row(f"{name}, p50", percentile(times, 0.50), "ms", "", against, percentile(base, 0.50)),
        Row(f"{name}, p99", percentile(times, 0.99), "ms", GOAL, against, percentile(base, 0.99)),
        Row(f"{name}, errors", len(errors), "", "0"),
        Row(f"{name}, processor", found["work"] / len(times), "ms", "", against, bare["work"] / len(base)),
        Row(f"{name}, rate", len(times) / found["seconds"], "requests/s", "", against, len(base) / bare["seconds"]),
    ]


# --- the site -------------------------------------------------------------------------------------
def _fill(env: dict[str, str], n_readers: int, n_cases: int) -> Any:
    way_in = filled("load", env, n_readers, n_cases)
    manage("collectstatic", "--verbosity", "0", "--no-input", env=env).check_returncode()
    return way_in


@dataclass(frozen=True)
class Site:
    port: int
    pid: int  # of the web server

    def work(self) -> float:
        """Milliseconds of processor time that the web server has used, its child processes included."""
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.pid)], capture_output=True, text=True, check=True
        )
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in listed.stdout.split()]
        return sum(int(used[11]) + int(used[12]) for used in fields) * 1000 / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def _served(env: dict[str, str], *, is_sqlite: bool) -> Iterator[Site]:
    """The web server with the baseline added, and the worker, as the site starts them."""
    port = free_port()
    command = serving.web_command("127.0.0.1", port, workers=serving.web_workers(is_sqlite=is_sqlite))
    command[-1] = "tests.bench.load_application:application"
    children = Children(
        {"web server": command, **worker_commands()},
        {**env, "PYTHONPATH": str(ROOT), "PORT": str(port)},
        yields=serving.YIELDS,
    )
    try:
        for name in children.commands:
            children.start(name)
        serving.wait_until_healthy(f"http://127.0.0.1:{port}", children)
        yield Site(port, children.lives["web server"].process.pid)
    finally:
        children.stop()


# --- the load -------------------------------------------------------------------------------------
def _load(site: Site, way_in: dict[str, Any], cases: slice, *, pause: float = 0.0, n_bare: int = 0) -> dict[str, Any]:
    """What all clients measured together, by kind of request, with errors, the seconds that it took, and the work."""
    readers = [
        {"number": number, "session": one["session"], "cases": one["cases"][cases]}
        for number, one in enumerate(way_in["readers"][:N_READERS])
    ]
    clients = []
    for n in range(N_PROCESSES):
        orders = {"port": site.port, "readers": readers[n::N_PROCESSES], "n_readers": N_READERS, "pause": pause}
        command = [sys.executable, "-m", "tests.bench.load_client"]
        client = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        _tell(client, json.dumps({**orders, "n_bare": n_bare}))
        clients.append(client)
    for client in clients:
        assert client.stdout is not None
        client.stdout.readline()
    start, work = time.perf_counter(), site.work()
    for client in clients:
        _tell(client, "go")
    answers = [json.loads(client.communicate()[0]) for client in clients]
    measured: dict[str, list[float]] = {}
    for answer in answers:
        for kind, times in answer["measured"].items():
            measured.setdefault(kind, []).extend(times)
    errors = [error for answer in answers for error in answer["errors"]]
    seconds = time.perf_counter() - start
    return {"measured": measured, "errors": errors, "seconds": seconds, "work": site.work() - work}


def _tell(client: subprocess.Popen[str], line: str) -> None:
    assert client.stdin is not None
    client.stdin.write(line + "\n")
    client.stdin.flush()


@contextlib.contextmanager
def _slow_readers(port: int, way_in: dict[str, Any]) -> Iterator[None]:
    """People who load images at full depth, one after the other, each on a line of 10 Mbit/s."""
    stop = threading.Event()
    sessions = [one["session"] for one in way_in["readers"][N_READERS:]]
    threads = [
        threading.Thread(target=_load_images, args=(port, way_in["image"], session, stop), daemon=True)
        for session in sessions
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _load_images(port: int, image: str, session: str, stop: threading.Event) -> None:
    cookies = cookies_of(session, port)
    request = f"GET {image} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: zstd\r\nCookie: {cookies}\r\n"
    while not stop.is_set():
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            line.sendall(f"{request}Connection: close\r\n\r\n".encode())
            got, start = 0, time.perf_counter()
            while not stop.is_set() and (part := line.recv(65536)):
                got += len(part)
                stop.wait(max(0.0, start + got / BYTES_PER_SECOND - time.perf_counter()))
