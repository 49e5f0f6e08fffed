"""The same readers on the site of docs/deploy.md: two web servers behind nginx, workers, PostgreSQL, Redis.

REXVQA_LOAD_READERS="100 50 200" are the numbers of readers, each for REXVQA_LOAD_SECONDS. With the first number answers
are measured without images as well: from these two runs come the costs, and from the costs what is predicted for the
others. With REXVQA_LOAD_POOLER=1 web servers ask PostgreSQL through pgbouncer. Where nginx is not installed, nothing.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg2

from tests.bench.capacity import PARTS, Costs, needs, table
from tests.bench.meter import CLIENTS, MACHINE, Meter
from tests.bench.rows import Row, percentile
from tests.bench.study_load import GOAL, asked_turns, n_lost, read
from tests.bench.under_load import Site
from tests.processes import printed_by
from tests.stack.parts import Stack

READERS = "100 50 200"
NODES = 2
SIZE = "SELECT pg_database_size(current_database())"
CONNECTIONS = "SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"  # but for the asker
Run = dict[str, Any]


def measure() -> list[Row]:
    if not shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"):
        print("nginx is not installed: nothing was measured behind it.")
        return []
    numbers = [int(word) for word in os.environ.get("REXVQA_LOAD_READERS", READERS).split()]
    n_turns = asked_turns()
    with stacked() as stack:
        env = site_env(stack)
        way_in = printed_by("tests.bench.sites", "study_load", max(numbers), (len(numbers) + 1) * n_turns + 4, env=env)
        bare = _run(stack, way_in, numbers[0], n_turns, images=False)
        runs = [_run(stack, way_in, n, n_turns) for n in numbers]
        n_answers = sum(len(run["times"].get("submit", ())) for run in (bare, *runs))
        lost = n_lost(env, n_answers)
    costs = _costs(bare, runs[0])
    print(msgspec.json.encode(costs).decode(), table(costs, (50, 200, 1000, 3000)), sep="\n")
    rows = [row for run in (bare, *runs) for row in _rows(run, costs)]
    return [*rows, Row(f"acknowledged answers not in the database, of {n_answers:,}", lost, "", "0")]


@contextmanager
def stacked() -> Iterator[Stack]:
    with tempfile.TemporaryDirectory(prefix="reading-room-stack-") as folder:
        stack = Stack(Path(folder), is_pooled=bool(os.environ.get("REXVQA_LOAD_POOLER")))
        try:
            stack.start()
            yield stack
        finally:
            stack.stop()


def site_env(stack: Stack) -> dict[str, str]:
    return {**os.environ, **stack.site_env, "DJANGO_SETTINGS_MODULE": "rexvqa_site.settings", "PYTHONPYCACHEPREFIX": ""}


def processes(stack: Stack) -> dict[str, int]:
    """The first process of each part."""
    found = {name: part.process for name, part in stack.parts.items()} | {"PostgreSQL": stack.database.process}
    return {name: process.pid for name, process in found.items() if process is not None}


def read_stack(stack: Stack, way_in: dict[str, Any], n_turns: int, **more: Any) -> Run:
    """What the readers measured, and what each part used meanwhile."""
    site = Site(stack.ports["https"], processes(stack)["web 1"])
    certificate = f"{stack.home}/etc/fullchain.pem"
    with closing(psycopg2.connect(stack.database.url)) as line, Meter(processes(stack)) as meter:
        line.autocommit = True  # each look is a transaction of its own
        size, before = _asked(line, SIZE), _asked(line, CONNECTIONS)
        found = read(site, way_in, n_turns, certificate=certificate, bare=False, **more)
        connections, grown = _asked(line, CONNECTIONS), _asked(line, SIZE) - size
    used, memory = _by_part(meter.seconds), _by_part(meter.megabytes)
    held = {"connections_before": before, "connections": connections, "grown": grown}
    return {**found, **held, "used": used, "memory": memory}


def _run(stack: Stack, way_in: dict[str, Any], n_readers: int, n_turns: int, *, images: bool = True) -> Run:
    some = {**way_in, "sessions": way_in["sessions"][:n_readers]}
    return {**read_stack(stack, some, n_turns, images=images), "n": n_readers, "images": images}


def _asked(line: Any, sql: str) -> int:
    with line.cursor() as cursor:
        cursor.execute(sql)
        number: int = cursor.fetchone()[0]
    return number


def _by_part(figures: Mapping[str, float]) -> dict[str, float]:
    """Web servers together, and workers; under their first words."""
    found: dict[str, float] = {}
    for name, figure in figures.items():
        found[name.split()[0]] = found.get(name.split()[0], 0.0) + figure
    return found


def _costs(bare: Run, whole: Run) -> Costs:
    """What images cost is what the second run took beyond its answers."""
    n_bare, n_whole = (len(run["times"]["submit"]) for run in (bare, whole))
    answer = {part: bare["used"][part] / n_bare * 1000 for part in PARTS}
    image = {part: (whole["used"][part] * 1000 - n_whole * answer[part]) / whole["n_images"] for part in PARTS}
    memory, before = whole["memory"], bare["memory"]
    reader = sum(memory[part] - before[part] for part in ("nginx", "PostgreSQL")) / whole["n"]
    rest = sum(memory.values()) - memory["web"] - whole["n"] * max(0.0, reader)
    return Costs(
        answer={part: round(ms, 2) for part, ms in answer.items()},
        image={part: round(ms, 2) for part, ms in image.items()},
        image_bytes=round(whole["n_bytes"] / whole["n_images"]),
        answer_bytes=round(bare["grown"] / n_bare),
        node=round(memory["web"] / NODES),
        rest=round(rest),
        reader=round(max(0.0, reader), 2),
        connections=bare["connections_before"],
    )


def _rows(run: Run, costs: Costs) -> list[Row]:
    name = f"{run['n']} readers{'' if run['images'] else ', no images'}"
    submit, seconds = run["times"].get("submit") or [math.nan], run["seconds"]
    rates = {"answers": len(submit) / seconds, "images": run["n_images"] / seconds}
    of = needs(costs, run["n"], nodes=NODES, **rates)
    rows = [
        Row(f"{name}: submit, p50 of {len(submit):,}", percentile(submit, 0.50), "ms"),
        Row(f"{name}: submit, p95", percentile(submit, 0.95), "ms", GOAL),
        Row(f"{name}: submit, longest", max(submit), "ms"),
        Row(f"{name}: errors", len(run["errors"]), "", "0"),
        Row(f"{name}: answers after their time, p95", percentile(run["late_by"] or [0.0], 0.95), "s"),
        Row(f"{name}: images of a case, p95", percentile(run["image_seconds"] or [math.nan], 0.95), "s"),
        *(Row(f"{name}: {part}", ms / len(submit) * 1000, "ms an answer") for part, ms in run["used"].items()),
        *(Row(f"{name}: memory of {part}", mb, "MB") for part, mb in run["memory"].items()),
        Row(f"{name}: the machine", run["used"][MACHINE] / seconds * 100, "% of a core"),
        Row(f"{name}: its clients", run["used"][CLIENTS] / seconds * 100, "% of a core"),
    ]
    found = {part: run["used"][part] / seconds for part in PARTS}
    rows += [
        Row(f"{name}: cores of {part}", found[part] * 100, "%", f"predicted {of.cores[part]:.0%}") for part in PARTS
    ]
    memory = sum(run["memory"].values())
    return [
        *rows,
        Row(f"{name}: memory", memory, "MB", f"predicted {of.memory:,.0f}"),
        Row(f"{name}: images at full depth", run["n_bytes"] / seconds / 1e6, "MB/s"),
        Row(f"{name}: connections to PostgreSQL", run["connections"], "", f"predicted {of.connections} at the most"),
        Row(f"{name}: the database, for an answer", run["grown"] / len(submit), "bytes"),
    ]
