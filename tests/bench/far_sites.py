"""A hundred sites with lines of their own at the site of docs/deploy.md: when the first and the next case are there.

One reader at each, for REXVQA_LOAD_SECONDS. On a slow line images come later than a reader could read.
"""

from __future__ import annotations

import json
import math

from tests.bench.clients import KINDS
from tests.bench.meter import CLIENTS, MACHINE
from tests.bench.rows import Row, percentile
from tests.bench.study_load import asked_turns, n_lost
from tests.bench.study_load_stack import read_stack, site_env, stacked
from tests.bench.under_load import Helper
from tests.processes import printed_by

N_SITES = 100
LINES = ((5, 100), (20, 50), (60, 20), (150, 8), (300, 2))  # milliseconds there and back, Mbit/s


def measure() -> list[Row]:
    n_turns = asked_turns()
    classes = [n % len(LINES) for n in range(N_SITES)]
    with stacked() as stack:
        orders = {"port": stack.ports["https"], "lines": [LINES[one] for one in classes]}
        lines = Helper(orders, "slow_lines")
        ports = json.loads(lines.hear())
        env = site_env(stack)
        way_in = printed_by("tests.bench.sites", "study_load", N_SITES, n_turns + 4, env=env)
        found = read_stack(stack, way_in, n_turns, kind="far", lines=ports, classes=classes)
        submits = found["times"]["submit"]
        lines.ended()
        lost = n_lost(env, len(submits))
    print("\n".join([*found["errors"][:3], _table(found["times"])]))
    return [
        Row(f"{N_SITES} sites: acknowledged answers not in the database, of {len(submits):,}", lost, "", "0"),
        Row(f"{N_SITES} sites: errors", len(found["errors"]), "", "0"),
        Row(f"{N_SITES} sites: images", found["n_bytes"] / found["seconds"] / 1e6, "MB/s"),
        Row(f"{N_SITES} sites: clients", found["used"][CLIENTS] / found["seconds"] * 100, "% of a core"),
        Row(f"{N_SITES} sites: the machine", found["used"][MACHINE] / found["seconds"] * 100, "% of a core"),
    ]


def _table(times: dict[str, list[float]]) -> str:
    """Of docs/scale.md: seconds, p50 and p95."""
    shown = ("first case, preview", "first case, full depth", "next case, preview", "next case, full depth")
    lines = [f"| line | answers | {' | '.join(shown)} |", "| --- | --- | --- | --- | --- | --- |"]
    for number, (ms, mbit) in enumerate(LINES):
        cells = [times.get(f"{number} {step} {kind}") or [math.nan] for step in ("first", "next") for kind in KINDS]
        words = [f"{percentile(one, 0.5) / 1000:.2f}, {percentile(one, 0.95) / 1000:.2f}" for one in cells]
        lines.append(f"| {mbit} Mbit/s, {ms} ms | {len(cells[-1])} | {' | '.join(words)} |")
    return "\n".join(lines)
