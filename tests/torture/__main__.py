"""``make torture``: on SQLite and on a PostgreSQL of its own, until so many kills and answers have been.

TORTURE_KILLS and TORTURE_ANSWERS are for the answers of readers, on both together; TORTURE_SEED draws who is killed
when. TORTURE_FOREIGN is the share of requests to which something else answers 200 in place of the site.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.torture.calls import torture_calls
from tests.torture.database import Postgres, binaries
from tests.torture.run import torture

N_READERS = 20
N_CALLS, CALL_KILLS = 5_000, 50


def main() -> int:
    kinds = ["SQLite", *(["PostgreSQL"] if binaries() is not None else [])]
    n_kills = -(-int(os.environ.get("TORTURE_KILLS", "200")) // len(kinds))
    n_cases = -(-int(os.environ.get("TORTURE_ANSWERS", "20000")) // (len(kinds) * N_READERS))
    seed, foreign = int(os.environ.get("TORTURE_SEED", "1")), float(os.environ.get("TORTURE_FOREIGN", "0.1"))
    if len(kinds) == 1:
        print("PostgreSQL is not installed: everything runs on SQLite")
    is_clean = True
    for kind in kinds:
        with _site_on(kind) as (home, database):
            more: dict[str, Any] = {"n_readers": N_READERS, "n_cases": n_cases, "seed": seed, "foreign": foreign}
            read = torture(home, n_kills=n_kills, database=database, **more)
        print(f"{kind}: {read}", flush=True)
        is_clean &= read.is_clean and read.n_kills == n_kills
    for kind in kinds:
        with _site_on(kind) as (home, database):
            asked = torture_calls(home, n_calls=N_CALLS, n_kills=CALL_KILLS, seed=seed, database=database)
        print(f"{kind}, calls of a model: {asked}", flush=True)
        is_clean &= asked.is_clean and asked.n_kills == CALL_KILLS
    return 0 if is_clean else 1


@contextmanager
def _site_on(kind: str) -> Iterator[tuple[Path, Postgres | None]]:
    """A new home, and the server of PostgreSQL where it is one."""
    with tempfile.TemporaryDirectory(prefix="reading-room-torture-") as home:
        database = Postgres() if kind == "PostgreSQL" else None
        try:
            yield Path(home), database
        finally:
            if database is not None:
                database.stop()


if __name__ == "__main__":
    sys.exit(main())
