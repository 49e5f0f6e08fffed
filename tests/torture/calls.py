"""Workers, and a database of their own, are killed while a model is asked: every call comes to exactly one outcome."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.annotation.endpoints.stand_in import StandIn
from tests.processes import ROOT, environment, manage, printed_by, worker_commands
from tests.torture.database import Postgres

CONNECTIONS = 8
SECONDS_UNTIL_THOUGHT_DEAD = 2
PATIENCE = 120.0


@dataclass(frozen=True)
class CallsOutcome:
    """``n_repeated``: requests that the server of the model was sent once more. ``n_counted``: as the page says."""

    n_calls: int
    n_answered: int
    n_kills: int
    n_repeated: int
    n_counted: int
    most_under_way: int
    is_as_stored: bool
    audit_whole: bool
    seconds: float

    @property
    def is_clean(self) -> bool:
        is_bound = self.n_repeated <= self.n_counted <= self.n_kills * self.most_under_way
        return self.n_answered == self.n_calls and is_bound and self.is_as_stored and self.audit_whole

    def __str__(self) -> str:
        return (
            f"{self.n_kills} kills in {self.seconds:.0f} s: {self.n_answered} of {self.n_calls} calls answered once, "
            f"{self.n_repeated} requests repeated, {self.n_counted} counted as asked twice; "
            + ("clean" if self.is_clean else "NOT CLEAN")
        )


def torture_calls(
    home: Path, *, n_calls: int, n_kills: int, seed: int, database: Postgres | None = None
) -> CallsOutcome:
    """Kills are spread over the run by how much the stand-in was asked; who is killed is drawn by the seed."""
    chance = random.Random(seed)
    with StandIn(seed=1) as server:
        site = _Site(home, server, database)
        try:
            site.told("fill", n_calls)
            start = time.monotonic()
            site.start()
            n_killed = 0
            for number in range(n_kills):
                if not _wait_for(server, (number + 1) * n_calls // (n_kills + 1)):
                    break
                site.kill(chance)
                n_killed += 1
            site.wait_until_complete()
            seconds = time.monotonic() - start
        finally:
            site.stop()
        stored: dict[str, Any] = site.told("stored")
        asked = Counter(entry.sha256 for entry in server.ledger)
    return CallsOutcome(
        n_calls=n_calls,
        n_answered=stored["answered"],
        n_kills=n_killed,
        n_repeated=sum(asked.values()) - len(asked),
        n_counted=stored["asked_twice"],
        most_under_way=CONNECTIONS,
        is_as_stored=set(asked) == set(stored["requests"])
        and all(asked[sha256] <= n_sent for sha256, n_sent in stored["requests"].items()),
        audit_whole=stored["audit_whole"],
        seconds=seconds,
    )


def _wait_for(server: StandIn, n_asked: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while len(server.ledger) < n_asked:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class _Site:
    """A worker as the site starts it."""

    def __init__(self, home: Path, server: StandIn, database: Postgres | None) -> None:
        self.database = database
        more = {
            "DJANGO_SETTINGS_MODULE": "rexvqa_site.settings",
            "PYTHONPATH": str(ROOT),
            "REXVQA_MODEL_ENDPOINTS": f"stand-in={server.url} connections={CONNECTIONS}",
            "REXVQA_JOB_STALE_SECONDS": str(SECONDS_UNTIL_THOUGHT_DEAD),
        }
        self.env = environment(home, database.url if database is not None else "", **more)
        manage("migrate", "--verbosity", "0", env=self.env).check_returncode()
        self.worker: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def told(self, *words: object) -> Any:
        """What a process of the site prints as JSON."""
        return printed_by("tests.torture.call_rows", *words, env=self.env)

    def start(self) -> None:
        self.worker = subprocess.Popen(
            worker_commands()["mail and sweeps"],  # whose sweeps ask models
            env=self.env,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self, chance: random.Random) -> None:
        """With SIGKILL; whatever was killed is started again."""
        if self.database is not None and chance.random() < 0.5:
            self.database.kill()
            self.database.start()
        else:
            self.stop()
            self.start()

    def stop(self) -> None:
        if self.worker is not None and self.worker.poll() is None:
            self.worker.send_signal(signal.SIGKILL)
            self.worker.wait(timeout=PATIENCE)

    def wait_until_complete(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.told("state")["state"] != "complete":
            if time.monotonic() > deadline:
                raise RuntimeError(f"the batch did not end: {self.told('state')}")
            time.sleep(0.5)
