"""``make torture``: on SQLite and on a PostgreSQL of its own, until so many kills and answers have been.

TORTURE_KILLS and TORTURE_ANSWERS are for the answers of readers, on both together; TORTURE_SEED draws who is killed
when. TORTURE_FOREIGN is the share of requests to which something else answers 200 in place of the site.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.torture.calls import CallsOutcome, torture_calls
from tests.torture.database import Postgres, binaries
from tests.torture.run import Outcome, torture

N_READERS = 20
N_CALLS, CALL_KILLS = 5_000, 50


def main() -> int:
    kinds = ["SQLite", *(["PostgreSQL"] if binaries() is not None else [])]
    n_kills = -(-int(os.environ.get("TORTURE_KILLS", "200")) // len(kinds))
    n_cases = -(-int(os.environ.get("TORTURE_ANSWERS", "20000")) // (len(kinds) * N_READERS))
    seed, foreign = int(os.environ.get("TORTURE_SEED", "1")), float(os.environ.get("TORTURE_FOREIGN", "0.1"))
    if len(kinds) == 1:
        print("PostgreSQL is not installed: everything runs on SQLite")
    outcomes = [_on(kind, n_kills, n_cases, seed, foreign) for kind in kinds]
    calls = [_calls_on(kind, seed) for kind in kinds]
    is_whole = all(outcome.n_kills == n_kills for outcome in outcomes) and all(
        one.n_kills == CALL_KILLS for one in calls
    )
    is_clean = all(outcome.is_clean for outcome in outcomes) and all(one.is_clean for one in calls)
    return 0 if is_whole and is_clean else 1


def _on(kind: str, n_kills: int, n_cases: int, seed: int, foreign: float) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="reading-room-torture-") as home:
        database = Postgres() if kind == "PostgreSQL" else None
        try:
            outcome = torture(
                Path(home),
                n_kills=n_kills,
                n_readers=N_READERS,
                n_cases=n_cases,
                seed=seed,
                foreign=foreign,
                database=database,
            )
        finally:
            if database is not None:
                database.stop()
    print(f"{kind}: {outcome}", flush=True)
    return outcome


def _calls_on(kind: str, seed: int) -> CallsOutcome:
    with tempfile.TemporaryDirectory(prefix="reading-room-torture-") as home:
        database = Postgres() if kind == "PostgreSQL" else None
        try:
            outcome = torture_calls(Path(home), n_calls=N_CALLS, n_kills=CALL_KILLS, seed=seed, database=database)
        finally:
            if database is not None:
                database.stop()
    print(f"{kind}, calls of a model: {outcome}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
