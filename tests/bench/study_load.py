"""A study read by many at once: 200 readers on PostgreSQL, 30 on SQLite, an answer each ten seconds.

Nobody's browser has an image yet: all are fetched at full depth, as fast as one machine can feed them. ``make bench``
takes a minute for each database, ``make load`` five; REXVQA_LOAD_SECONDS says how many seconds instead. With
REXVQA_LOAD_BESIDE=1 each is measured twice: alone, and with a program beside it that lists and exports all the time.
"""

from __future__ import annotations

import json
import math
import os
from functools import partial
from typing import Any

from tests.bench.measuring import site_env
from tests.bench.rows import Row, on_both_databases, percentile
from tests.bench.under_load import Helper, Site, drive, fill, served
from tests.processes import manage

INTERVAL = 10.0  # seconds between two answers of a reader
RAMP = 3 * INTERVAL  # seconds in which all of them have come: the first cases are three at once
SECONDS = 60
READERS_SQLITE, READERS_POSTGRES = 30, 200
GOAL = "p95 100 ms, no error"


def measure() -> list[Row]:
    turns = (False, True) if os.environ.get("REXVQA_LOAD_BESIDE") else (False,)
    return [row for turn in turns for row in on_both_databases(partial(_on, is_beside=turn), "bench_study_load")]


def asked_turns() -> int:
    return math.ceil(int(os.environ.get("REXVQA_LOAD_SECONDS", SECONDS)) / INTERVAL)


def _on(name: str, database_url: str, *, is_beside: bool) -> list[Row]:
    n_readers = READERS_POSTGRES if database_url else READERS_SQLITE
    n_turns = asked_turns()
    with site_env(database_url, REXVQA_API_REQUESTS_PER_MINUTE="1000000") as env:
        way_in = fill("study_load", env, n_readers, n_turns + 4)
        with served(env, is_sqlite=not database_url) as site:
            orders = {**way_in, "port": site.port, "readers": [{}] * is_beside}
            program = Helper(orders, "clients", "program")
            program.hear()
            found = read(site, way_in, n_turns)
            answered = json.loads(program.ended())["times"]
            lost = n_lost(env, len(found["times"].get("submit", ())))
    rows = _rows(f"{name}, {n_readers} readers{' and a program' if is_beside else ''}", found, lost)
    return rows + [
        Row(f"{name}: requests of the program answered {status}", len(times) / found["seconds"], "/s")
        for status, times in answered.items()
    ]


def read(site: Site, way_in: dict[str, Any], n_turns: int, *, kind: str = "read", **more: Any) -> dict[str, Any]:
    """What all readers measured together. ``more``: other orders for them."""
    readers = [{"session": session} for session in way_in["sessions"]]
    orders = {"study": way_in["study"], "n_turns": n_turns, "interval": INTERVAL, "ramp": RAMP, **more}
    return drive(site, kind, readers, **orders)


def n_lost(env: dict[str, str], n_acknowledged: int) -> int:
    """Acknowledged answers that the database does not hold."""
    asked = "from readerstudy.models import Response; print(Response.objects.filter(is_confirmed=True).count())"
    done = manage("shell", "--command", asked, env=env)
    return n_acknowledged - int(done.stdout.split()[-1])


def _rows(name: str, found: dict[str, Any], lost: int) -> list[Row]:
    submit, bare = (found["times"].get(kind) or [math.nan] for kind in ("submit", "bare"))
    images = found["image_seconds"] or [math.nan]
    against = "one-row insert by the same readers"
    return [
        *(
            Row(f"{name}: submit, {what}", percentile(submit, share), "ms", goal, against, percentile(bare, share))
            for what, share, goal in ((f"p50 of {len(submit):,}", 0.50, ""), ("p95", 0.95, GOAL))
        ),
        Row(f"{name}: submit, longest", max(submit), "ms"),
        Row(f"{name}: errors", len(found["errors"]), "", "0"),
        Row(f"{name}: acknowledged answers not in the database", lost, "", "0"),
        Row(f"{name}: images at full depth", found["n_bytes"] / found["seconds"] / 1e6, "MB/s"),
        Row(f"{name}: images of a case here, p95", percentile(images, 0.95), "s"),
        Row(f"{name}: answers after their time, p95", percentile(found["late_by"] or [0.0], 0.95), "s"),
        Row(f"{name}: processor of the web server", found["work"] / found["seconds"] / 10, "% of a core"),
    ]
