"""Readers who never stop: they send until they are told, with the same key, whatever happens to the server."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import uuid
import zlib
from http.client import INTERNAL_SERVER_ERROR
from typing import Any
from urllib.parse import urlencode

from tests.torture.ledger import GUESS, Entry, Ledger

TOKEN = "load" * 8
PATIENCE = 300.0  # seconds without an answer, after which a client gives up
BREATH = 0.05  # seconds between two attempts
Json = dict[str, Any]


class Unexpected(Exception):
    """The server said something that no fault explains."""


class Reader(threading.Thread):
    """One reader in one study, from the first case to the last."""

    def __init__(self, port: int, slug: str, cookies: str, ledger: Ledger, seed: int) -> None:
        super().__init__(daemon=True)
        self.port, self.slug, self.ledger = port, slug, ledger
        self.chance = random.Random(seed)
        self.headers = {
            "Cookie": cookies,
            "X-CSRFToken": TOKEN,
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        self.connection: http.client.HTTPConnection | None = None
        self.token, self.page, self.sequence = "", "", 0
        self.problem = ""

    def run(self) -> None:
        try:
            state = self.begin()
            while state["cases"]:
                state = self.read(state["cases"][0])
                if self.chance.random() < 0.05:  # a reload: everything that the page knew is gone, but its token
                    state = self.begin()
        except Exception as problem:  # told at the end of the run, by whoever started this thread
            self.problem = repr(problem)

    def begin(self) -> Json:
        self.page, self.sequence = self.uuid(), 0
        _status, found = self.until_told(f"/read/{self.slug}/session/", {"take": "yes"}, (200,))
        self.token = found["session"]
        state: Json = found["state"]
        return state

    def read(self, case: Json) -> Json:
        self.until_told(case["urls"]["open"], {}, (200,))
        entry = Entry(case["id"], self.uuid(), self.chance.choice("ABCD"))
        events = json.dumps([self.event("painted"), self.event("submitted")])
        answer = {"key": entry.key, "option": entry.option, "page": self.page, "events": events}
        if self.chance.random() < 0.2:
            return self.decline(case, answer)
        found = self.tell(entry, case["urls"]["commit"], answer, "option")
        if self.chance.random() < 0.1:
            self.replay(case, entry)
        state: Json = found["state"]
        return state

    def decline(self, case: Json, answer: Json) -> Json:
        """Cannot tell, then the best guess that the next case waits for; each has a line of its own in the ledger."""
        declined = Entry(case["id"], answer["key"], "")
        found = self.tell(declined, case["urls"]["commit"], {**answer, "option": "", "declined": "yes"}, "option")
        guess = Entry(f"{case['id']} {GUESS}", self.uuid(), self.chance.choice("ABCD"))
        said = {"key": guess.key, "kind": GUESS, "value": guess.option}
        self.tell(guess, case["urls"]["remark"], said, "value")
        state: Json = found["state"]
        return state

    def tell(self, entry: Entry, path: str, fields: Json, chosen: str) -> Json:
        """Send what the ledger then knows, until it is acknowledged as it was sent."""
        self.ledger.send(entry)
        _status, found = self.until_told(path, fields, (200,))
        if (found["stored"][chosen], found["stored"]["key"]) != (entry.option, entry.key):
            raise Unexpected(f"{entry} was acknowledged as {found['stored']}")
        self.ledger.acknowledge(entry)
        return found

    def replay(self, case: Json, entry: Entry) -> None:
        """Another answer to the same case is refused, with the one that is stored."""
        other = {"key": self.uuid(), "option": "A" if entry.option != "A" else "B"}
        _status, found = self.until_told(case["urls"]["commit"], other, (409,))
        if found["reason"] != "other_answer" or found["stored"]["option"] != entry.option:
            raise Unexpected(f"a replay of {entry} got {found}")

    def until_told(self, path: str, fields: Json, expected: tuple[int, ...]) -> tuple[int, Json]:
        """Send the same thing until the server answers. "Not now" is no answer, a fault of the program ends the run."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            status, body = self.ask(path, {"session": self.token, **fields})
            if status in expected:
                found: Json = json.loads(body)
                return status, found
            if (status and status < 500) or status == INTERNAL_SERVER_ERROR:
                raise Unexpected(f"{path}: {status} {body[:200]!r}")
            time.sleep(BREATH)
        raise Unexpected(f"{path}: no answer for {PATIENCE:.0f} s")

    def ask(self, path: str, fields: Json) -> tuple[int, bytes]:
        """Status and body; status 0 when there was none, or one without the receipt of the site, as for its pages."""
        try:
            if self.connection is None:
                self.connection = self.connect()
            sent, number = urlencode(fields), str(self.chance.getrandbits(60))
            self.connection.request("POST", path, sent, {**self.headers, "X-Sent": number})
            answer = self.connection.getresponse()
            said = answer.read()
            is_ours = answer.headers["X-Received"] == f"{number} {zlib.crc32(sent.encode())}"
            return answer.status if is_ours or answer.status >= INTERNAL_SERVER_ERROR else 0, said
        except (OSError, http.client.HTTPException):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return 0, b""

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def event(self, kind: str) -> Json:
        self.sequence += 1
        return {"sequence": self.sequence, "kind": kind, "client_ms": self.sequence * 400.0, "details": {"views": []}}

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))
