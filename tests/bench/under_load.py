"""A site served as ``manage.py serve`` does it, with one view more, and clients of it in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexvqa_site import serving
from rexvqa_site.serving import Children
from tests.bench.measuring import filled
from tests.processes import ROOT, free_port, manage, worker_commands

N_PROCESSES = 4


def fill(site: str, env: dict[str, str], n_people: int, n_cases: int) -> Any:
    """The way into a new site, as ``filled`` gives it; its static files are there."""
    way_in = filled(site, env, n_people, n_cases)
    manage("collectstatic", "--verbosity", "0", "--no-input", env=env).check_returncode()
    return way_in


@dataclass(frozen=True)
class Site:
    port: int
    pid: int  # of the web server

    def work(self) -> float:
        """Milliseconds of processor time that the web server has used, its child processes included."""
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.pid)], capture_output=True, text=True, check=True
        )
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in listed.stdout.split()]
        return sum(int(used[11]) + int(used[12]) for used in fields) * 1000 / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def served(env: dict[str, str], *, is_sqlite: bool) -> Iterator[Site]:
    """The web server with the baseline added, and the worker, as the site starts them."""
    port = free_port()
    command = serving.web_command("127.0.0.1", port, workers=serving.web_workers(is_sqlite=is_sqlite))
    command[-1] = "tests.bench.load_application:application"
    children = Children(
        {"web server": command, **worker_commands()},
        {**env, "PYTHONPATH": str(ROOT), "PORT": str(port)},
        yields=serving.YIELDS,
    )
    try:
        for name in children.commands:
            children.start(name)
        serving.wait_until_healthy(f"http://127.0.0.1:{port}", children)
        yield Site(port, children.lives["web server"].process.pid)
    finally:
        children.stop()


class Helper:
    """A process that has its orders: ``python -m tests.bench.MODULE WORDS``."""

    def __init__(self, orders: dict[str, Any], module: str, *words: str) -> None:
        command = [sys.executable, "-m", f"tests.bench.{module}", *words]
        self.process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.tell(json.dumps(orders))

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ended(self) -> str:
        """What it says when its standard input is at its end."""
        return self.process.communicate()[0]


def drive(site: Site, kind: str, readers: list[dict[str, Any]], **orders: Any) -> dict[str, Any]:
    """What all clients of this kind measured together, with the seconds that it took and the work of the web server."""
    numbered = [{"number": n, **own} for n, own in enumerate(readers)]
    orders |= {"port": site.port, "n_readers": len(readers)}
    shares = (numbered[n::N_PROCESSES] for n in range(N_PROCESSES))
    helpers = [Helper({**orders, "readers": share}, "clients", kind) for share in shares]
    for helper in helpers:
        helper.hear()
    start, work = time.perf_counter(), site.work()
    for helper in helpers:
        helper.tell("go")
    answers = [json.loads(helper.ended()) for helper in helpers]
    found: dict[str, Any] = {"seconds": time.perf_counter() - start, "work": site.work() - work, "times": {}}
    for answer in answers:
        for name, times in answer.pop("times").items():
            found["times"].setdefault(name, []).extend(times)
        for name, told in answer.items():
            found[name] = found[name] + told if name in found else told
    for error in found["errors"][:3]:
        print(error, file=sys.stderr)
    return found
