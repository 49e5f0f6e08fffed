"""A study read by many at once: 200 readers on PostgreSQL, 30 on SQLite, an answer each ten seconds.

Nobody's browser has an image yet: all are fetched at full depth, as fast as one machine can feed them. ``make bench``
takes a minute for each database, ``make load`` five; REXVQA_LOAD_SECONDS says how many seconds instead. With
REXVQA_LOAD_BESIDE=1 each is measured twice: alone, and with a program beside it that lists and exports all the time.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.bench.load import Site, _served, _tell
from tests.bench.measuring import filled, site_env
from tests.bench.rows import Row, on_both_databases, percentile
from tests.processes import ROOT, manage

INTERVAL = 10.0  # seconds between two answers of a reader
RAMP = 3 * INTERVAL  # seconds in which all of them have come: the first cases are three at once
SECONDS = 60
READERS_SQLITE, READERS_POSTGRES = 30, 200
N_PROCESSES = 4
GOAL = "p95 100 ms, no error"


def measure() -> list[Row]:
    turns = (False, True) if os.environ.get("REXVQA_LOAD_BESIDE") else (False,)
    return [row for turn in turns for row in on_both_databases(partial(_on, is_beside=turn), "bench_study_load")]


def _on(name: str, database_url: str, *, is_beside: bool) -> list[Row]:
    n_readers = READERS_POSTGRES if database_url else READERS_SQLITE
    n_turns = math.ceil(int(os.environ.get("REXVQA_LOAD_SECONDS", SECONDS)) / INTERVAL)
    with site_env(database_url, REXVQA_API_REQUESTS_PER_MINUTE="1000000") as env:
        way_in = _fill(env, n_readers, n_turns + 4)
        with _served(env, is_sqlite=not database_url) as site:
            with _program(site, way_in, is_beside) as program:
                found = _read(site, way_in, n_turns)
            lost = _lost(env, len(found["times"].get("submit", ())))
    rows = _rows(f"{name}, {n_readers} readers{' and a program' if is_beside else ''}", found, lost)
    if is_beside:
        if program["refused"]:
            print(f"the program was answered {program['refused']}", file=sys.stderr)
        rows.append(Row(f"{name}: requests of the program answered", program["n"] / found["seconds"], "/s"))
    return rows


@contextlib.contextmanager
def _program(site: Site, way_in: dict[str, Any], is_beside: bool) -> Iterator[dict[str, Any]]:
    """It runs inside; afterwards what it was answered is in the dictionary."""
    told: dict[str, Any] = {}
    if not is_beside:
        yield told
        return
    command = [sys.executable, "-m", "tests.bench.study_load_program"]
    program = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    _tell(program, json.dumps({"port": site.port, **{name: way_in[name] for name in ("study", "bank", "token")}}))
    try:
        yield told
    finally:
        told |= json.loads(program.communicate()[0])


def _fill(env: dict[str, str], n_readers: int, n_cases: int) -> Any:
    way_in = filled("study_load", env, n_readers, n_cases)
    manage("collectstatic", "--verbosity", "0", "--no-input", env=env).check_returncode()
    return way_in


def _read(
    site: Site, way_in: dict[str, Any], n_turns: int, *, client: str = "tests.bench.study_load_client", **more: Any
) -> dict[str, Any]:
    """What all readers measured together. ``client``: their module; ``more``: other orders for them."""
    readers = [{"number": n, "session": session} for n, session in enumerate(way_in["sessions"])]
    orders = {"port": site.port, "study": way_in["study"], "n_readers": len(readers)}
    orders |= {"n_turns": n_turns, "interval": INTERVAL, "ramp": RAMP, **more}
    clients = []
    for n in range(N_PROCESSES):
        command = [sys.executable, "-m", client]
        process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        _tell(process, json.dumps({**orders, "readers": readers[n::N_PROCESSES]}))
        clients.append(process)
    for process in clients:
        assert process.stdout is not None
        process.stdout.readline()
    start, work = time.perf_counter(), site.work()
    for process in clients:
        _tell(process, "go")
    answers = [json.loads(process.communicate()[0]) for process in clients]
    found: dict[str, Any] = {"seconds": time.perf_counter() - start, "work": site.work() - work, "times": {}}
    for answer in answers:
        for kind, times in answer["times"].items():
            found["times"].setdefault(kind, []).extend(times)
    for name in ("n_bytes", "n_images"):
        found[name] = sum(answer[name] for answer in answers)
    for name in ("image_seconds", "late_by", "errors"):
        found[name] = [one for answer in answers for one in answer[name]]
    return found


def _lost(env: dict[str, str], n_acknowledged: int) -> int:
    """Acknowledged answers that the database does not hold."""
    asked = "from readerstudy.models import Response; print(Response.objects.filter(is_confirmed=True).count())"
    done = manage("shell", "--command", asked, env=env)
    return n_acknowledged - int(done.stdout.split()[-1])


def _rows(name: str, found: dict[str, Any], lost: int) -> list[Row]:
    for error in found["errors"][:3]:
        print(error, file=sys.stderr)
    submit, bare = (found["times"].get(kind) or [math.nan] for kind in ("submit", "bare"))
    images = found["image_seconds"] or [math.nan]
    against = "one-row insert by the same readers"
    return [
        Row(
            f"{name}: submit, p50 of {len(submit):,}",
            percentile(submit, 0.50),
            "ms",
            "",
            against,
            percentile(bare, 0.50),
        ),
        Row(f"{name}: submit, p95", percentile(submit, 0.95), "ms", GOAL, against, percentile(bare, 0.95)),
        Row(f"{name}: submit, longest", max(submit), "ms"),
        Row(f"{name}: errors", len(found["errors"]), "", "0"),
        Row(f"{name}: acknowledged answers not in the database", lost, "", "0"),
        Row(f"{name}: images at full depth", found["n_bytes"] / found["seconds"] / 1e6, "MB/s"),
        Row(f"{name}: images of a case here, p95", percentile(images, 0.95), "s"),
        Row(f"{name}: answers after their time, p95", percentile(found["late_by"] or [0.0], 0.95), "s"),
        Row(f"{name}: processor of the web server", found["work"] / found["seconds"] / 10, "% of a core"),
    ]
