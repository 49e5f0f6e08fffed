"""The site under torture: its rows, and the processes of it that are killed by their ids."""

from __future__ import annotations

import random
import subprocess
import threading
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rexvqa_site import serving
from tests.processes import ROOT, environment, free_port, manage, printed_by, worker_commands
from tests.torture.database import Postgres, children_of, kill, kill_whole
from tests.torture.ledger import Entry

PATIENCE = 120.0


class Site:
    """Web server and worker as the site starts them, and the database where it is a server of its own."""

    def __init__(self, home: Path, database: Postgres | None, *, n_readers: int, n_cases: int) -> None:
        self.database = database
        url = database.url if database is not None else ""
        self.env = environment(home, url, DJANGO_SETTINGS_MODULE="rexvqa_site.settings", PYTHONPATH=str(ROOT))
        manage("migrate", "--verbosity", "0", env=self.env).check_returncode()
        self.way_in = self.told("fill", n_readers, n_cases)
        self.port = free_port()
        self.env["PORT"] = str(self.port)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.lock, self.stopping = threading.Lock(), threading.Event()
        for name in ("web", "worker", "mail and sweeps"):
            self.start(name)
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.keeper.start()
        try:
            self.wait_until_it_answers()
        except RuntimeError:
            self.stop()
            raise

    def told(self, *words: object) -> Any:
        """What a process of the site prints as JSON."""
        return printed_by("tests.torture.rows", *words, env=self.env)

    def stored(self) -> list[Entry]:
        return [Entry(*row) for row in self.told("stored")["answers"]]

    def is_audit_whole(self) -> bool:
        return bool(self.told("stored")["audit_whole"])

    # --- processes ------------------------------------------------------------------------------
    def start(self, name: str) -> None:
        workers = serving.web_workers(is_sqlite=self.database is None)
        commands: Mapping[str, list[str]] = {
            "web": serving.web_command("127.0.0.1", self.port, workers=workers),
            **worker_commands(),
        }
        self.processes[name] = subprocess.Popen(
            commands[name],
            env=self.env,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def keep(self) -> None:
        """What ends by itself is started again, as ``manage.py serve`` does.

        The web server gives up when a child of its dies within seconds of being started again.
        """
        while not self.stopping.wait(0.2):
            with self.lock:
                for name, process in self.processes.items():
                    if process.poll() is not None:
                        self.start(name)

    def victims(self) -> list[str]:
        return ["web", "web child", "worker", "mail and sweeps", *(["database"] if self.database is not None else [])]

    def kill(self, victim: str, chance: random.Random) -> bool:
        """With SIGKILL, by the ids of processes that this object started; whatever does not revive itself is started.

        False when no such process lived: the web server has no child in the moments after it was started again.
        A killed child of the web server is started again by its parent, or the parent by keep().
        """
        if victim == "database":
            assert self.database is not None
            self.database.kill()
            self.database.start()
            return True
        with self.lock:
            process = self.processes[victim.removesuffix(" child")]
            children = children_of(process.pid)
            if victim == "web child":
                return bool(children) and kill(chance.choice(children))
            struck = process.poll() is None
            kill_whole(process)
            self.start(victim)
            return struck

    def wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5):
                return
            time.sleep(0.1)
        raise RuntimeError("the web server did not come up")

    def stop(self) -> None:
        self.stopping.set()
        self.keeper.join()
        for process in self.processes.values():
            kill_whole(process)
