"""One run: readers read, processes are killed, the ledger is compared with the database."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from tests.torture.clients import PATIENCE, TOKEN, Reader
from tests.torture.database import Postgres
from tests.torture.ledger import Ledger, Verdict
from tests.torture.line import Line
from tests.torture.site import Site
from tests.ways_in import cookies_of


@dataclass(frozen=True)
class Outcome:
    """What came of a run; ``problems`` are what clients could not make sense of."""

    verdict: Verdict
    n_kills: int
    n_foreign: int
    seconds: float
    audit_whole: bool
    problems: list[str]

    @property
    def is_clean(self) -> bool:
        return self.verdict.is_clean and self.audit_whole and not self.problems

    def __str__(self) -> str:
        audit = "audit log whole" if self.audit_whole else "AUDIT LOG BROKEN"
        struck = f"{self.n_kills} kills and {self.n_foreign} answers in place of the site in {self.seconds:.0f} s"
        lines = [f"{struck}: {self.verdict}; {audit}"]
        return "\n".join([*lines, *(f"  {problem}" for problem in self.problems)])


def torture(
    home: Path,
    *,
    n_kills: int,
    n_readers: int,
    n_cases: int,
    seed: int,
    foreign: float = 0.0,
    database: Postgres | None = None,
) -> Outcome:
    """Kills are spread over the run by how many answers are acknowledged; who is killed is drawn by the seed.

    ``foreign``: of which share of the requests something else answers 200 in place of the site.
    """
    chance, ledger = random.Random(seed), Ledger()
    site = Site(home, database, n_readers=n_readers, n_cases=n_cases)
    line = Line(site.port, foreign, seed)
    try:
        start = time.monotonic()
        port = line.port if foreign else site.port
        cookies = [cookies_of(session, site.port, TOKEN) for session in site.way_in["sessions"]]
        readers = [
            Reader(port, site.way_in["slug"], cookie, ledger, seed * 1_000 + n) for n, cookie in enumerate(cookies)
        ]
        for reader in readers:
            reader.start()
        n_killed = 0
        for number in range(n_kills):
            if not ledger.wait_for((number + 1) * n_readers * n_cases // (n_kills + 1), PATIENCE):
                break  # the readers stand still; their problems say why
            while not site.kill(chance.choice(site.victims()), chance):
                pass  # only what struck is counted
            n_killed += 1
        for reader in readers:
            reader.join()
        seconds = time.monotonic() - start
        verdict = ledger.compare(site.stored())
        problems = sorted({reader.problem for reader in readers if reader.problem})
        return Outcome(verdict, n_killed, line.n_foreign, seconds, site.is_audit_whole(), problems)
    finally:
        line.stop()
        site.stop()
