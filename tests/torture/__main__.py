"""``make torture``: on SQLite and on a PostgreSQL of its own, until so many kills and answers have been.

TORTURE_KILLS and TORTURE_ANSWERS are for both together; TORTURE_SEED draws who is killed when.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.torture.database import Postgres, binaries
from tests.torture.run import Outcome, torture

N_READERS = 20


def main() -> int:
    kinds = ["SQLite", *(["PostgreSQL"] if binaries() is not None else [])]
    n_kills = -(-int(os.environ.get("TORTURE_KILLS", "200")) // len(kinds))
    n_cases = -(-int(os.environ.get("TORTURE_ANSWERS", "20000")) // (len(kinds) * N_READERS))
    seed = int(os.environ.get("TORTURE_SEED", "1"))
    if len(kinds) == 1:
        print("PostgreSQL is not installed: everything runs on SQLite")
    outcomes = [_on(kind, n_kills, n_cases, seed) for kind in kinds]
    return 0 if all(outcome.is_clean and outcome.n_kills == n_kills for outcome in outcomes) else 1


def _on(kind: str, n_kills: int, n_cases: int, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="reading-room-torture-") as home:
        database = Postgres() if kind == "PostgreSQL" else None
        try:
            outcome = torture(
                Path(home), n_kills=n_kills, n_readers=N_READERS, n_cases=n_cases, seed=seed, database=database
            )
        finally:
            if database is not None:
                database.stop()
    print(f"{kind}: {outcome}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
