"""A site with something of every kind, served by the web server of the program in a process of its own."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexvqa_site import serving
from tests.processes import ROOT, free_port, migrated_site, printed_by

PATIENCE = 60


@dataclass(frozen=True)
class FuzzedSite:
    address: str
    env: Mapping[str, str]
    ways_in: Mapping[str, Mapping[str, str]]  # headers of who asks, by a word for each
    names: Mapping[str, Sequence[Any]]  # see fuzzed_rows
    values: Mapping[str, Sequence[Any]]
    log: Path

    def counted(self) -> dict[str, Any]:
        """The rows of every table, and what is wrong with the audit log."""
        return _told(self.env, "count")

    def said(self) -> str:
        """The end of what the server wrote."""
        return self.log.read_text(errors="replace")[-4_000:]


@contextmanager
def fuzzed_site(place: Path) -> Iterator[FuzzedSite]:
    with migrated_site(place / "home") as made:
        env = {**made, "DJANGO_SETTINGS_MODULE": "rexvqa_site.settings", "PYTHONPATH": str(ROOT)}
        env["REXVQA_API_REQUESTS_PER_MINUTE"] = "1000000"
        env["REXVQA_MODEL_ENDPOINTS"] = "stand-in=http://127.0.0.1:9/v1"  # no worker asks it
        port, log = free_port(), place / "server.log"
        furnishing = {**env, "DJANGO_SETTINGS_MODULE": "tests.settings", "PORT": str(port)}  # to furnish it takes pages
        told = _told(furnishing)
        command = serving.web_command("127.0.0.1", port, workers=serving.web_workers(is_sqlite=True))
        with log.open("wb") as output:
            server = subprocess.Popen(
                command, env={**env, "PORT": str(port)}, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT
            )
        site = FuzzedSite(f"http://127.0.0.1:{port}", env, told["ways_in"], told["names"], told["values"], log)
        try:
            _wait_until_it_answers(site)
            yield site
        finally:
            server.terminate()
            server.wait(timeout=PATIENCE)


def _told(env: Mapping[str, str], *words: str) -> dict[str, Any]:
    told: dict[str, Any] = printed_by("tests.fuzzing.fuzzed_rows", *words, env=env)
    return told


def _wait_until_it_answers(site: FuzzedSite) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if serving.is_healthy(site.address):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the web server did not come up: {site.said()}")
