"""Readers whose lines are slow: the images come beside the reading, case by case, first what is seen at once.

Each reads a case for ten seconds once it is there at full depth. Kept are the seconds from asking for a case
(beginning, or sending the answer before it) until its previews, and its full depth, are there.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from tests.bench.study_load_client import Reader, main

KINDS = ("preview", "full")
PATIENCE = 600.0


class FarReader(Reader):
    def __init__(self, orders: dict[str, Any], own: dict[str, Any], tally: Any) -> None:
        super().__init__(orders, own, tally)
        self.asked_for: queue.Queue[dict[str, Any]] = queue.Queue()
        self.there: dict[tuple[str, str], threading.Event] = {}
        self.there_at: dict[tuple[str, str], float] = {}
        self.sent_at = 0.0

    def post(self, kind: str, path: str, fields: dict[str, Any]) -> dict[str, Any]:
        self.sent_at = time.perf_counter()
        return super().post(kind, path, fields)

    def fetch(self, state: dict[str, Any]) -> None:
        for case in state["cases"]:
            if (case["id"], KINDS[0]) not in self.there:
                self.there |= {(case["id"], kind): threading.Event() for kind in KINDS}
                self.asked_for.put(case)

    def load_all(self) -> None:
        try:
            while True:
                case = self.asked_for.get()
                for kind in KINDS:
                    for view in case["views"]:
                        self.load(view[kind])
                    self.there_at[case["id"], kind] = time.perf_counter()
                    self.there[case["id"], kind].set()
        except Exception as error:
            self.tally.errors.append(f"images of reader {self.number}: {error!r}")

    def run(self, go: threading.Event) -> None:
        go.wait()
        end = time.perf_counter() + self.orders["n_turns"] * self.orders["interval"]
        time.sleep(self.orders["ramp"] * self.number / self.orders["n_readers"])
        threading.Thread(target=self.load_all, daemon=True).start()
        try:
            state, step, turn = self.begin(), "first", 0
            while time.perf_counter() < end:
                self.see(state, step)
                time.sleep(self.orders["interval"])
                state, step, turn = self.commit(state["cases"][0], turn), "next", turn + 1
        except Exception as error:
            self.tally.errors.append(f"reader {self.number}: {error!r}")

    def see(self, state: dict[str, Any], step: str) -> None:
        """Wait for the first of these cases."""
        told_at, case = time.perf_counter(), state["cases"][0]["id"]
        self.fetch(state)
        for kind in KINDS:
            if not self.there[case, kind].wait(PATIENCE):
                raise TimeoutError(f"{kind} of {case}")
            seen_at = max(told_at, self.there_at[case, kind])
            self.tally.add(f"{self.orders['classes'][self.number]} {step} {kind}", seen_at - self.sent_at)


if __name__ == "__main__":
    main(FarReader)
