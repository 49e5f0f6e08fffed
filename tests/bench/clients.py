"""Clients of a site under load, some in each of a few processes: ``python -m tests.bench.clients KIND``.

A process takes its orders as JSON on standard input, says when it is ready, starts at the next line, and prints what it
measured. Each client is a thread with an address of its own (127.0.x.y), as nginx limits what comes from one.
"""

from __future__ import annotations

import http.client
import json
import queue
import socket
import ssl
import sys
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.ways_in import cookies_of

TOKEN = "load" * 8
PIECE = 1 << 18  # bytes of an image that are taken at once, into the same place: readers' machines are not measured
JUDGEMENT = {
    **dict.fromkeys(("clinical_quality", "factual_correctness", "explanation_clarity", "image_alignment"), "4"),
    "needs_image": "yes",
    "relevant": "yes",
    "verdict": "accept",
    "comment": "The sign is named, its place is not.",
    "reasoning": "No pleural line on either view.",
}
BLIND = {"best": "B", "defensible": ["B"], "difficulty": "easy"}
KINDS = ("preview", "full")
PATIENCE = 600.0


@dataclass
class Tally:
    """What the clients of this process measured: milliseconds by kind of request, bytes of images, what went wrong."""

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
        return {name: told for name, told in vars(self).items() if name != "lock"}


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


class Person:
    """Somebody with a connection, who acts until an error."""

    def __init__(self, orders: dict[str, Any], own: dict[str, Any], tally: Tally) -> None:
        self.orders, self.own, self.tally, self.number = orders, own, tally, own["number"]
        self.answers = self.line()

    def line(self) -> Line:
        through = self.orders["lines"][self.number] if "lines" in self.orders else 0
        certificate = self.orders.get("certificate", "")
        return Line(self.orders["port"], self.own["session"], self.number, certificate=certificate, through=through)

    def run(self, go: threading.Event) -> None:
        go.wait()
        try:
            self.act()
        except Exception as error:
            self.tally.errors.append(f"{self.number}: {error!r}")

    def act(self) -> None:
        raise NotImplementedError

    def ask(self, kind: str, method: str, path: str, fields: dict[str, Any] | None = None) -> bytes:
        start = time.perf_counter()
        answer = self.answers.ask(method, path, fields)
        content = answer.read()
        self.tally.add(kind, time.perf_counter() - start)
        if answer.status >= 300:
            raise RuntimeError(f"{kind}: {answer.status} {content[:200]!r}")
        return content


class Reviewer(Person):
    """Opens, answers and submits one case after the other; or sends rows to the bare view."""

    def act(self) -> None:
        pause: float = self.orders["pause"]
        due = time.perf_counter() + pause * self.number / self.orders["n_readers"]  # they do not act in step
        for step in self.steps():
            if pause:
                _sleep_until(due)
                due += pause
            self.ask(*step)

    def steps(self) -> Iterator[tuple[str, str, str, dict[str, Any] | None]]:
        for _row in range(self.orders["n_bare"]):
            yield "bare", "POST", "/bare/", {}
        for case in self.own["cases"]:
            place = f"/review/{case['id']}/"
            yield "open", "GET", place, None
            yield "answer", "POST", f"{place}answer/", {**BLIND, **trace(case, "blind", 0)}
            yield "submit", "POST", f"{place}submit/", {**JUDGEMENT, **trace(case, "judge", 10)}


def trace(case: dict[str, Any], step: str, sequence: int) -> dict[str, str]:
    """What the clock of the page tells beside a step."""
    told = {"painted": {"views": case["images"]}, "selected": {}, "heartbeat": {}, "submitted": {"step": step}}
    return {"page": str(uuid.UUID(int=7)), "events": events(told.items(), sequence, 1000.0 * sequence)}


def events(told: Iterable[tuple[str, Any]], first: int, ms: float) -> str:
    """Numbered from the first on, a second apart."""
    numbered = enumerate(told)
    names = ("sequence", "kind", "details", "client_ms")
    return json.dumps([dict(zip(names, (first + n, *one, ms + 1000 * n), strict=True)) for n, one in numbered])


class Reader(Person):
    """Of a study: opens, paints and commits a case in every interval.

    One connection carries the answers. The other one fetches the images of every case that becomes ready, at full depth
    and from an empty cache, as fast as they come; a reader whose images have not come yet answers later, as a person
    would.
    """

    def __init__(self, orders: dict[str, Any], own: dict[str, Any], tally: Tally) -> None:
        super().__init__(orders, own, tally)
        self.place = f"/read/{orders['study']}/"
        self.images = self.line()
        self.page = str(uuid.uuid4())
        self.fetched: set[str] = set()
        self.piece = bytearray(PIECE)
        self.session = ""

    def post(self, kind: str, path: str, fields: dict[str, Any]) -> dict[str, Any]:
        content = self.ask(kind, "POST", path, {**fields, "session": self.session})
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
        if self.orders.get("bare", True):
            self.post("bare", "/bare/", {})
        self.post("open", case["urls"]["open"], {})
        fields = {
            "key": str(uuid.uuid4()),
            "option": "B",
            "page": self.page,
            "events": events(told, turn * 10, 10_000.0 * turn),
        }
        state: dict[str, Any] = self.post("submit", case["urls"]["commit"], fields)["state"]
        return state

    def act(self) -> None:
        interval = self.orders["interval"]
        due = time.perf_counter() + self.orders["ramp"] * self.number / self.orders["n_readers"]  # not all at once
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


class FarReader(Reader):
    """One on a slow line: images come beside the reading, case by case, first what is seen at once.

    Reads a case for an interval once it is there at full depth. Kept are the seconds from asking for a case (beginning,
    or sending the answer before it) until its previews, and its full depth, are there.
    """

    def __init__(self, orders: dict[str, Any], own: dict[str, Any], tally: Tally) -> None:
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

    def act(self) -> None:
        end = time.perf_counter() + self.orders["n_turns"] * self.orders["interval"]
        time.sleep(self.orders["ramp"] * self.number / self.orders["n_readers"])
        threading.Thread(target=self.load_all, daemon=True).start()
        state, step, turn = self.begin(), "first", 0
        while time.perf_counter() < end:
            self.see(state, step)
            time.sleep(self.orders["interval"])
            state, step, turn = self.commit(state["cases"][0], turn), "next", turn + 1

    def see(self, state: dict[str, Any], step: str) -> None:
        """Wait for the first of these cases."""
        told_at, case = time.perf_counter(), state["cases"][0]["id"]
        self.fetch(state)
        for kind in KINDS:
            if not self.there[case, kind].wait(PATIENCE):
                raise TimeoutError(f"{kind} of {case}")
            seen_at = max(told_at, self.there_at[case, kind])
            self.tally.add(f"{self.orders['classes'][self.number]} {step} {kind}", seen_at - self.sent_at)


class Program:
    """Lists and exports without a pause until standard input ends; kept is how often each status was answered."""

    def __init__(self, orders: dict[str, Any], _own: dict[str, Any], tally: Tally) -> None:
        self.orders, self.tally = orders, tally

    def run(self, go: threading.Event) -> None:
        study, bank, token = (self.orders[name] for name in ("study", "bank", "token"))
        addresses = [
            *(f"banks/{bank}/questions/?limit=1000", f"studies/{study}/readers/?limit=1000", "studies/"),
            *(f"studies/{study}/tables/{table}/csv/" for table in ("orders", "readers", "sessions")),
        ]
        while not go.is_set():
            for address in addresses:
                line = http.client.HTTPConnection("127.0.0.1", self.orders["port"], timeout=120)
                start = time.perf_counter()
                line.request("GET", f"/api/v1/{address}", headers={"Authorization": f"Bearer {token}"})
                answer = line.getresponse()
                answer.read()
                self.tally.add(str(answer.status), time.perf_counter() - start)
                line.close()
                if go.is_set():
                    break


CLIENTS: dict[str, Any] = {"review": Reviewer, "read": Reader, "far": FarReader, "program": Program}


def _sleep_until(due: float) -> None:
    time.sleep(max(0.0, due - time.perf_counter()))


def main(kind: str) -> None:
    orders = json.loads(sys.stdin.readline())
    tally = Tally()
    go = threading.Event()
    clients = [CLIENTS[kind](orders, own, tally) for own in orders["readers"]]
    threads = [threading.Thread(target=client.run, args=(go,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    go.set()
    for thread in threads:
        thread.join()
    print(json.dumps(tally.as_json()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
