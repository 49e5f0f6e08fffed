"""Readers of the load test, some in each of a few processes: real connections, kept alive, a thread for each reader.

Takes its orders as JSON on standard input, says when it is ready, starts at the next line, and prints what it measured.
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from tests.ways_in import cookies_of

TOKEN = "load" * 8
JUDGEMENT = {
    **dict.fromkeys(("clinical_quality", "factual_correctness", "explanation_clarity", "image_alignment"), "4"),
    "needs_image": "yes",
    "relevant": "yes",
    "verdict": "accept",
    "comment": "The sign is named, its place is not.",
    "reasoning": "No pleural line on either view.",
}
BLIND = {"best": "B", "defensible": ["B"], "difficulty": "easy"}
Measured = dict[str, list[float]]


class Reader:
    """One person with one connection; keeps the milliseconds of each request by its kind."""

    def __init__(self, port: int, session: str, measured: Measured, errors: list[str]) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        cookie = cookies_of(session, port, TOKEN)
        self.headers = {"Cookie": cookie, "X-CSRFToken": TOKEN, "HX-Request": "true"}
        self.measured, self.errors = measured, errors

    def ask(self, kind: str, method: str, path: str, fields: dict[str, Any] | None = None) -> None:
        body = urlencode(fields, doseq=True) if fields is not None else None
        form = {"Content-Type": "application/x-www-form-urlencoded"} if fields is not None else {}
        start = time.perf_counter()
        try:
            self.connection.request(method, path, body, {**self.headers, **form})
            answer = self.connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.errors.append(f"{kind}: {error!r}")
            self.connection.close()
            return
        self.measured.setdefault(kind, []).append((time.perf_counter() - start) * 1000)
        if answer.status >= 300:
            self.errors.append(f"{kind}: {answer.status} {content[:200]!r}")


def trace(case: dict[str, Any], step: str, sequence: int) -> dict[str, str]:
    """What the clock of the page tells beside a step."""
    told = [("painted", {"views": case["images"]}), ("selected", {}), ("heartbeat", {}), ("submitted", {"step": step})]
    events = [
        {"sequence": sequence + n, "kind": kind, "client_ms": 1000.0 * (sequence + n), "details": details}
        for n, (kind, details) in enumerate(told)
    ]
    return {"page": str(uuid.UUID(int=7)), "events": json.dumps(events)}


def steps_of(reader: Reader, cases: list[dict[str, Any]]) -> Iterator[Callable[[], None]]:
    """Opening, answering and submitting one case after the other."""
    for case in cases:
        place = f"/review/{case['id']}/"
        yield lambda place=place: reader.ask("open", "GET", place)  # type: ignore[misc]
        blind, judged = {**BLIND, **trace(case, "blind", 0)}, {**JUDGEMENT, **trace(case, "judge", 10)}
        yield lambda place=place, blind=blind: reader.ask("answer", "POST", f"{place}answer/", blind)  # type: ignore[misc]
        yield lambda place=place, judged=judged: reader.ask("submit", "POST", f"{place}submit/", judged)  # type: ignore[misc]


def bare_steps(reader: Reader, n: int) -> Iterator[Callable[[], None]]:
    for _ in range(n):
        yield lambda: reader.ask("bare", "POST", "/bare/", {})


def run(reader: Reader, orders: dict[str, Any], own: dict[str, Any], go: threading.Event) -> None:
    steps = bare_steps(reader, orders["n_bare"]) if orders["n_bare"] else steps_of(reader, own["cases"])
    go.wait()
    pause: float = orders["pause"]
    due = time.perf_counter() + pause * own["number"] / orders["n_readers"]  # readers do not act in step
    for step in steps:
        if pause:
            time.sleep(max(0.0, due - time.perf_counter()))
            due += pause
        step()


def main() -> None:
    orders = json.loads(sys.stdin.readline())
    measured: Measured = {}
    errors: list[str] = []
    go = threading.Event()
    threads = [
        threading.Thread(
            target=run, args=(Reader(orders["port"], own["session"], measured, errors), orders, own, go), daemon=True
        )
        for own in orders["readers"]
    ]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    go.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"measured": measured, "errors": errors}), flush=True)


if __name__ == "__main__":
    main()
