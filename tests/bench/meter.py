"""What each part of a site uses while it is measured: processor time and memory, of its children as well."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.torture.database import children_of

TICK = os.sysconf("SC_CLK_TCK")
PAUSE = 5.0  # seconds between two looks at memory
CLIENTS, MACHINE = "clients", "machine"


class Meter:
    """Within ``with``: afterwards ``seconds`` of processor time and the most ``megabytes``, by name of the part.

    Among them those of the clients (processes of this one that have ended) and of the whole machine, for time alone.
    Memory that several processes share is counted once (PSS).
    """

    def __init__(self, roots: Mapping[str, int]) -> None:
        self.roots, self.over = roots, threading.Event()
        self.seconds: dict[str, float] = {}
        self.megabytes: dict[str, float] = {}

    def __enter__(self) -> Self:
        self.before = self._used()
        self.watch = threading.Thread(target=self._watch, daemon=True)
        self.watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.watch.join()
        self.seconds = {name: used - self.before[name] for name, used in self._used().items()}

    def _used(self) -> dict[str, float]:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        whole = (sum(busy[:8]) - busy[3] - busy[4]) / TICK
        own = {name: sum(map(_seconds, _family(root))) for name, root in self.roots.items()}
        return {**own, CLIENTS: ended.ru_utime + ended.ru_stime, MACHINE: whole}

    def _watch(self) -> None:
        while True:
            for name, root in self.roots.items():
                now = sum(map(_megabytes, _family(root)))
                self.megabytes[name] = max(now, self.megabytes.get(name, 0.0))
            if self.over.wait(PAUSE):
                return


def _family(pid: int) -> list[int]:
    return [pid, *(one for child in children_of(pid) for one in _family(child))]


def _seconds(pid: int) -> float:
    """With those of children that have ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICK
    return 0.0


def _megabytes(pid: int) -> float:
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1000
    return 0.0
