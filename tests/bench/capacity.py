"""From what one answer, one image and one reader cost: what a site for N readers needs, as docs/scale.md says it.

``python -m tests.bench.capacity 500 5000`` prints the lines of these numbers of readers for the costs of that page.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

from msgspec import Struct

from rexvqa_site.lanes import THREADS, Lane
from tests.bench.study_load import INTERVAL

IMAGES = 2  # of a case
HOURS = 8  # of reading in a day
SHARE = 0.5  # of its processors that a machine may use, so that an answer seldom waits for others
NODE_CORES = 2 * SHARE  # of a web server: two processes, each of which runs Python on one core at a time
# To PostgreSQL, at the most: one of each thread of two processes; passwords have a thread for every second processor.
NODE_CONNECTIONS = 2 * sum(n if lane is not Lane.PASSWORDS else 1 for lane, n in THREADS.items())
PARTS = ("web", "PostgreSQL", "nginx")


class Costs(Struct, frozen=True):
    """Processor time by part, in ms; memory in MB."""

    answer: dict[str, float]
    image: dict[str, float]
    image_bytes: float
    answer_bytes: float  # of the database
    node: float  # memory of one web server
    rest: float  # memory of everything else
    reader: float  # memory that each more reader takes
    connections: int  # to PostgreSQL, of everything but the web servers


class Needs(Struct, frozen=True):
    """``cores`` by part, as they are used."""

    cores: dict[str, float]
    nodes: int
    memory: float  # MB
    connections: int
    bandwidth: float  # MB/s
    disk: float  # MB of the database in a day


PAGE = Costs(
    answer={"web": 19.18, "PostgreSQL": 11.12, "nginx": 1.03},
    image={"web": 4.8, "PostgreSQL": 0.91, "nginx": 5.49},
    image_bytes=4258659,
    answer_bytes=4192,
    node=259,
    rest=642,
    reader=0.19,
    connections=3,
)  # as "make load" told it for docs/scale.md


def needs(costs: Costs, n_readers: int, *, nodes: int = 0, answers: float = 0.0, images: float | None = None) -> Needs:
    """Of so many readers, by the answers and images of a second; on so many web servers, or on as many as they need."""
    answers = answers or n_readers / INTERVAL
    images = answers * IMAGES if images is None else images
    cores = {part: (answers * costs.answer[part] + images * costs.image[part]) / 1000 for part in PARTS}
    nodes = nodes or max(2, math.ceil(cores["web"] / NODE_CORES))
    return Needs(
        cores,
        nodes,
        nodes * costs.node + costs.rest + n_readers * costs.reader,
        nodes * NODE_CONNECTIONS + costs.connections,
        images * costs.image_bytes / 1e6,
        answers * HOURS * 3600 * costs.answer_bytes / 1e6,
    )


HEADS = (
    "readers",
    "cores used: web, PostgreSQL, nginx",
    "cores",
    "web servers",
    "memory",
    "connections",
    "line",
    "disk",
)


def table(costs: Costs, numbers: Iterable[int]) -> str:
    """The table of the page."""
    rows = [HEADS, tuple("---" for _ in HEADS), *(_cells(n, needs(costs, n)) for n in numbers)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(n_readers: int, of: Needs) -> tuple[str, ...]:
    cores = ", ".join(f"{of.cores[part]:.2f}" for part in PARTS)
    most = max(2, math.ceil(sum(of.cores.values()) / SHARE))
    sizes = f"{of.memory / 1000:.1f} GB", f"{of.connections}", f"{of.bandwidth * 8 / 1000:.1f} Gbit/s"
    return f"{n_readers:,}", cores, f"{most}", f"{of.nodes}", *sizes, f"{of.disk / 1000:.1f} GB a day"


if __name__ == "__main__":
    print(table(PAGE, map(int, sys.argv[1:])))
