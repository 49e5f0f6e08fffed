"""Readers of a study under load, some in each of a few processes: a thread and two connections for each of them.

Each has an address of its own (127.0.x.y), as nginx limits what comes from one.

One connection carries the answers. The other one fetches the images of every case that becomes ready, at full depth and
from an empty cache, as fast as they come; a reader whose images have not come yet answers later, as a person would.
Takes its orders as JSON on standard input, says when it is ready, starts at the next line, and prints what it measured.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.ways_in import cookies_of

TOKEN = "load" * 8
PIECE = 1 << 18  # bytes of an image that are taken at once, into the same place: readers' machines are not measured


@dataclass
class Tally:
    """What the readers of this process measured: milliseconds by kind of request, bytes of images, what went wrong."""

    times: dict[str, list[float]] = field(default_factory=dict)
    n_bytes: int = 0
    n_images: int = 0
    image_seconds: list[float] = field(default_factory=list)  # from a case's becoming ready to its last byte
    late_by: list[float] = field(default_factory=list)  # seconds that an answer came after its time
    errors: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, seconds: float) -> None:
        with self.lock:
            self.times.setdefault(kind, []).append(seconds * 1000)

    def as_json(self) -> dict[str, Any]:
        return {
            "times": self.times,
            "n_bytes": self.n_bytes,
            "n_images": self.n_images,
            "image_seconds": self.image_seconds,
            "late_by": self.late_by,
            "errors": self.errors,
        }


class Line:
    """One connection that is kept alive, from an address of the reader's own; over TLS with a ``certificate``.

    ``through``: another port, behind which the site is farther away.
    """

    def __init__(self, port: int, session: str, number: int = 0, *, certificate: str = "", through: int = 0) -> None:
        source = (f"127.0.{1 + number // 250}.{1 + number % 250}", 0)
        at, patience = through or port, 120
        self.connection: http.client.HTTPConnection
        if certificate:
            trust = ssl.create_default_context(cafile=certificate)
            self.connection = http.client.HTTPSConnection(
                "127.0.0.1", at, timeout=patience, source_address=source, context=trust
            )
        else:
            self.connection = http.client.HTTPConnection("127.0.0.1", at, timeout=patience, source_address=source)
        self.is_open = False
        site = f"127.0.0.1:{port}"
        self.headers = {"Host": site, "Origin": f"http{'s' if certificate else ''}://{site}", "HX-Request": "true"}
        self.headers |= {"Cookie": cookies_of(session, port, TOKEN), "X-CSRFToken": TOKEN, "Accept-Encoding": "zstd"}

    def ask(self, method: str, path: str, fields: dict[str, Any] | None = None) -> http.client.HTTPResponse:
        """As a browser does: a kept connection that the server has closed meanwhile is opened again, once."""
        was_open = self.is_open
        try:
            return self._ask(method, path, fields)
        except (ConnectionError, http.client.RemoteDisconnected, ssl.SSLEOFError):
            self.connection.close()
            self.is_open = False
            if not was_open:
                raise
            return self._ask(method, path, fields)

    def _ask(self, method: str, path: str, fields: dict[str, Any] | None) -> http.client.HTTPResponse:
        if not self.is_open:
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.is_open = True
        body = urlencode(fields, doseq=True) if fields is not None else None
        form = {"Content-Type": "application/x-www-form-urlencoded"} if fields is not None else {}
        self.connection.request(method, path, body, {**self.headers, **form})
        return self.connection.getresponse()


class Reader:
    """One reader: opens, paints and commits a case in every interval."""

    def __init__(self, orders: dict[str, Any], own: dict[str, Any], tally: Tally) -> None:
        self.tally, self.orders, self.number = tally, orders, own["number"]
        self.place = f"/read/{orders['study']}/"
        through = orders["lines"][self.number] if "lines" in orders else 0
        certificate = orders.get("certificate", "")
        self.answers, self.images = (
            Line(orders["port"], own["session"], self.number, certificate=certificate, through=through)
            for _ in range(2)
        )
        self.page = str(uuid.uuid4())
        self.fetched: set[str] = set()
        self.piece = bytearray(PIECE)
        self.session = ""

    def post(self, kind: str, path: str, fields: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        answer = self.answers.ask("POST", path, {**fields, "session": self.session})
        content = answer.read()
        self.tally.add(kind, time.perf_counter() - start)
        if answer.status >= 300:
            raise RuntimeError(f"{kind}: {answer.status} {content[:200]!r}")
        said: dict[str, Any] = json.loads(content) if content else {}
        return said

    def begin(self) -> dict[str, Any]:
        said = self.post("session", f"{self.place}session/", {"take": "yes"})
        self.session = said["session"]
        state: dict[str, Any] = said["state"]
        return state

    def fetch(self, state: dict[str, Any]) -> None:
        """The images of the cases that are ready now and were not before."""
        start = time.perf_counter()
        new = [v["full"] for case in state["cases"] for v in case["views"] if v["full"] not in self.fetched]
        if not self.orders.get("images", True):
            return
        for address in new:
            self.load(address)
        if new:
            self.tally.image_seconds.append(time.perf_counter() - start)

    def load(self, address: str) -> None:
        answer = self.images.ask("GET", address)
        n = 0
        while got := answer.readinto(self.piece):
            n += got
        if answer.status != 200:
            raise RuntimeError(f"image: {answer.status}")
        self.fetched.add(address)
        with self.tally.lock:
            self.tally.n_bytes += n
            self.tally.n_images += 1

    def commit(self, case: dict[str, Any], turn: int) -> dict[str, Any]:
        told = [("painted", {"views": [view["id"] for view in case["views"]]}), ("selected", {"option": "B"})]
        told += [("heartbeat", {}), ("heartbeat", {}), ("submitted", {})]
        events = [
            {"sequence": turn * 10 + n, "kind": kind, "client_ms": 10_000.0 * turn + 1_000 * n, "details": details}
            for n, (kind, details) in enumerate(told)
        ]
        if self.orders.get("bare", True):
            self.post("bare", "/bare/", {})
        self.post("open", case["urls"]["open"], {})
        fields = {"key": str(uuid.uuid4()), "option": "B", "page": self.page, "events": json.dumps(events)}
        state: dict[str, Any] = self.post("submit", case["urls"]["commit"], fields)["state"]
        return state

    def run(self, go: threading.Event) -> None:
        go.wait()
        start, interval = time.perf_counter(), self.orders["interval"]
        due = start + self.orders["ramp"] * self.number / self.orders["n_readers"]  # they do not come at once
        try:
            _sleep_until(due)
            state = self.begin()
            self.fetch(state)
            for turn in range(self.orders["n_turns"]):
                due += interval
                _sleep_until(due)
                self.tally.late_by.append(max(0.0, time.perf_counter() - due))
                if turn == 0:
                    due = max(due, time.perf_counter())
                state = self.commit(state["cases"][0], turn)
                self.fetch(state)
        except Exception as error:
            self.tally.errors.append(f"reader {self.number}: {error!r}")


def _sleep_until(due: float) -> None:
    time.sleep(max(0.0, due - time.perf_counter()))


def main(kind: type[Reader] = Reader) -> None:
    orders = json.loads(sys.stdin.readline())
    tally = Tally()
    go = threading.Event()
    readers = [kind(orders, own, tally) for own in orders["readers"]]
    threads = [threading.Thread(target=reader.run, args=(go,), daemon=True) for reader in readers]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    go.set()
    for thread in threads:
        thread.join()
    print(json.dumps(tally.as_json()), flush=True)


if __name__ == "__main__":
    main()
