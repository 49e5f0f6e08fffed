"""Thirty-two readers at once while eight others load images on slow lines, on SQLite and on PostgreSQL.

The site is served as ``manage.py serve`` does it, by the same command; only the baseline is added, a view that inserts
one row. Clients are processes of their own with real connections. Two kinds of load: readers who make a step each
second, ten times as often as anybody reads, and clients who never pause.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from tests.bench.measuring import site_env
from tests.bench.rows import Row, on_both_databases, percentile
from tests.bench.under_load import Site, drive, fill, served
from tests.ways_in import cookies_of

N_READERS, N_SLOW = 32, 8
N_WARM, N_PACED, N_FLAT_OUT, N_BARE = 1, 3, 5, 12  # cases, and rows of the baseline, of each reader
BYTES_PER_SECOND = 10_000_000 / 8
GOAL = "p99 150 ms, no error"
STEPS = ("open", "answer", "submit")


def measure() -> list[Row]:
    return on_both_databases(_on, "bench_load")


def _on(name: str, database_url: str) -> list[Row]:
    with site_env(database_url) as env:
        way_in = fill("load", env, N_READERS + N_SLOW, N_WARM + N_PACED + N_FLAT_OUT)
        with served(env, is_sqlite=not database_url) as site, _slow_readers(site.port, way_in):
            review(site, way_in, slice(0, N_WARM))
            bare = review(site, way_in, slice(0), n_bare=N_BARE)
            paced = review(site, way_in, slice(N_WARM, N_WARM + N_PACED), pause=1.0)
            flat_out = review(site, way_in, slice(N_WARM + N_PACED, None))
    return [*_rows(f"{name}, {N_READERS} readers", paced, bare), *_rows(f"{name}, no pauses", flat_out, bare)]


def _rows(name: str, found: dict[str, Any], bare: dict[str, Any]) -> list[Row]:
    times = [one for step in STEPS for one in found["times"][step]]
    base = bare["times"]["bare"]
    against = "one-row insert, no pauses"
    errors = [*found["errors"], *bare["errors"]]
    return [
        Row(f"{name}, p50", percentile(times, 0.50), "ms", "", against, percentile(base, 0.50)),
        Row(f"{name}, p99", percentile(times, 0.99), "ms", GOAL, against, percentile(base, 0.99)),
        Row(f"{name}, errors", len(errors), "", "0"),
        Row(f"{name}, processor", found["work"] / len(times), "ms", "", against, bare["work"] / len(base)),
        Row(f"{name}, rate", len(times) / found["seconds"], "requests/s", "", against, len(base) / bare["seconds"]),
    ]


def review(
    site: Site, way_in: dict[str, Any], cases: slice, *, n: int = N_READERS, pause: float = 0.0, n_bare: int = 0
) -> dict[str, Any]:
    """What so many reviewers measured over these of their cases."""
    readers = [{"session": one["session"], "cases": one["cases"][cases]} for one in way_in["readers"][:n]]
    return drive(site, "review", readers, pause=pause, n_bare=n_bare)


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
