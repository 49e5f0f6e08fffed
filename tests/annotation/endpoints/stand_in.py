"""A simulated model server on this machine, for tests, which fails on request in many forms.

It speaks the OpenAI protocol and listens on loopback only. What the models say is in ``simulated_models.py``.
``python -m tests.annotation.endpoints.stand_in [DELAY_MS]`` serves it and prints its entry for the list of endpoints.
"""

from __future__ import annotations

import base64
import hashlib
import json
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from annotation.endpoints.simulated_endpoint import TOKENS_OF_IMAGE
from tests.annotation.endpoints.simulated_models import MODELS, WrongRequest, chat_answer, embeddings_answer, images_in

HOST = "127.0.0.1"
LARGEST_REQUEST = 64 * 1024 * 1024
NOT_UNDERSTOOD = (ValueError, TypeError, KeyError, AttributeError, RecursionError)  # raised by what a client sent
CUT_AT = 4096  # tokens
PAUSE = 0.02  # seconds between the bytes of a slow answer


class StandInFault(StrEnum):
    """How one answer goes wrong."""

    TOO_MANY = "429"
    TOO_MANY_RETRY_AFTER = "429-retry-after"
    NO_QUOTA = "429-quota"
    REFUSED_FOR_GOOD = "400"
    EMPTY_TEXT = "empty-text"
    BROKEN = "500"
    UNAVAILABLE = "503"
    SLOW_FIRST_BYTE = "slow-first-byte"
    SLOW_HEADERS = "slow-headers"
    SLOW_BODY = "slow-body"
    CUT_BODY = "cut-body"
    BROKEN_JSON = "broken-json"
    HTML = "html"
    EMPTY_CHOICES = "empty-choices"
    REFUSAL = "refusal"
    LENGTH = "length"
    NO_USAGE = "no-usage"
    OTHER_MODEL = "other-model"
    REDIRECT = "redirect"
    KEY_ECHOED = "key-echoed"
    ENDLESS = "endless"


class StandInHabit(StrEnum):
    """What a server does with every chat, and no error: real ones are known for each."""

    NO_IMAGE = "no-image"  # left out without a word
    FIXED_COUNT = "fixed-count"  # of tokens, whatever came in
    CUT_PROMPT = "cut-prompt"  # to 4,096 tokens, without a word


@dataclass(frozen=True)
class LedgerEntry:
    """One request. The key that came with it is not written down."""

    number: int
    path: str
    sha256: str
    n_images: int
    has_key: bool
    fault: str
    status: int = 0  # 0 while nothing was answered


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class StandIn(ThreadingHTTPServer):
    """``with StandIn(seed=1) as server:`` serves at ``server.url`` until the block ends.

    ``faults`` are used up one by one, each by the next request. ``reply`` is sent in place of every good answer.
    ``seconds``: how long each answer takes.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        *,
        seed: int,
        port: int = 0,
        faults: Iterable[StandInFault] = (),
        reply: Reply | None = None,
        redirect_to: str = "/v1/elsewhere",
        seconds: float = 0.0,
        habit: StandInHabit | None = None,
    ) -> None:
        super().__init__((HOST, port), _Handler)
        self.seed, self.faults, self.reply, self.redirect_to = seed, deque(faults), reply, redirect_to
        self.seconds, self.habit = seconds, habit or ""
        self.busy: set[str] = set()  # models that answer 429
        self.is_closing = threading.Event()
        self.n_connections = 0
        self._ledger: list[LedgerEntry] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/v1"

    @property
    def ledger(self) -> list[LedgerEntry]:
        """What it was asked, in order."""
        with self._lock:
            return list(self._ledger)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_closing.set()
        self.shutdown()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.n_connections += 1
        super().process_request(request, client_address)

    def note(self, path: str, body: bytes, *, n_images: int, has_key: bool) -> LedgerEntry:
        """Write a request down with the fault that its answer will have."""
        sha256 = hashlib.sha256(body).hexdigest()
        with self._lock:
            fault = self.faults.popleft() if self.faults else ""
            entry = LedgerEntry(len(self._ledger), path, sha256, n_images, has_key, fault)
            self._ledger.append(entry)
        return entry

    def note_status(self, entry: LedgerEntry, status: int) -> None:
        with self._lock:
            self._ledger[entry.number] = replace(entry, status=status)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left in the middle of a slow answer is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: StandIn

    def log_message(self, format: str, *args: Any) -> None:
        """The ledger is the log."""

    def do_GET(self) -> None:
        """The list of models, which is no question and stands in no ledger."""
        is_list = self.path == "/v1/models"
        listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]}
        self._send(_json_reply(200, listed) if is_list else _error_reply(404, "There is nothing here"))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_REQUEST:
            self.close_connection = True
            self._send(_error_reply(413, "Content-Length is missing or too large"))
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True  # the client died in the middle: it asked nothing
        else:
            self._answer(body)

    def _answer(self, raw: bytes) -> None:
        try:
            body = json.loads(raw) if raw else {}
            n_images = len(images_in(body)) if "messages" in body else 0
        except NOT_UNDERSTOOD:
            body, n_images = {}, 0
        entry = self.server.note(self.path, raw, n_images=n_images, has_key="Authorization" in self.headers)
        if self.server.seconds:
            self.server.is_closing.wait(self.server.seconds)
        reply = self.server.reply or self._reply(body)
        if entry.fault:
            reply = self._faulty(entry.fault, reply)
        self.server.note_status(entry, reply.status)
        senders: dict[str, Callable[[Reply], None]] = {
            StandInFault.SLOW_FIRST_BYTE: self._send_nothing,
            StandInFault.SLOW_HEADERS: self._send_slow_headers,
            StandInFault.SLOW_BODY: self._send_slowly,
            StandInFault.CUT_BODY: self._send_half,
            StandInFault.ENDLESS: self._send_without_end,
        }
        senders.get(entry.fault, self._send)(reply)

    def _reply(self, body: dict[str, Any]) -> Reply:
        try:
            match self.path:
                case _ if body.get("model") in self.server.busy:
                    return _error_reply(429, "Too many requests")
                case "/v1/chat/completions":
                    answer = chat_answer(body, seed=self.server.seed)
                    return _json_reply(200, _by_habit(answer, self.server.habit, n_images=len(images_in(body))))
                case "/v1/embeddings":
                    return _json_reply(200, embeddings_answer(body, seed=self.server.seed))
        except WrongRequest as wrong:
            return _error_reply(wrong.status, str(wrong))
        except NOT_UNDERSTOOD:
            return _error_reply(400, "The request cannot be understood")
        return _error_reply(404, "There is nothing here")

    def _faulty(self, fault: str, good: Reply) -> Reply:
        """What is sent in place of a good answer."""
        match fault:
            case StandInFault.TOO_MANY:
                return _error_reply(429, "Too many requests")
            case StandInFault.TOO_MANY_RETRY_AFTER:
                return replace(_error_reply(429, "Too many requests"), headers={"Retry-After": "2"})
            case StandInFault.NO_QUOTA:
                return _json_reply(429, {"error": {"message": "You have no quota left.", "code": "insufficient_quota"}})
            case StandInFault.REFUSED_FOR_GOOD:
                return _error_reply(400, "At most 1 image(s) may be provided in one request.")
            case StandInFault.BROKEN | StandInFault.UNAVAILABLE:
                return _error_reply(int(fault), "The server failed")
            case StandInFault.BROKEN_JSON:
                return replace(good, body=good.body[:-1])
            case StandInFault.HTML:
                return Reply(200, b"<!doctype html><title>Please log in</title>", {"Content-Type": "text/html"})
            case StandInFault.REDIRECT:
                return Reply(307, b"", {"Location": self.server.redirect_to})
            case StandInFault.KEY_ECHOED:
                return self._echo_of_key()
            case _:
                return _json_reply(200, _changed(json.loads(good.body), fault)) if good.status == 200 else good

    def _echo_of_key(self) -> Reply:
        header = self.headers.get("Authorization", "")
        key = header.removeprefix("Bearer ")
        forms = [header, quote(key, safe=""), base64.b64encode(header.encode()).decode(), json.dumps(key)]
        wrong = _error_reply(401, f"Incorrect API key provided: {' '.join(forms)}")
        return replace(wrong, headers={"X-Request-Id": f"for {key}"})

    def _send(self, reply: Reply) -> None:
        self._write(self._head(reply, len(reply.body)) + reply.body)

    def _send_nothing(self, reply: Reply) -> None:
        self.server.is_closing.wait()

    def _send_slow_headers(self, reply: Reply) -> None:
        self._write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        self._drip(b"x")

    def _send_slowly(self, reply: Reply) -> None:
        """One chunk that never gets whole."""
        self._write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n")
        self._drip(b" ")

    def _send_half(self, reply: Reply) -> None:
        self._write(self._head(reply, len(reply.body)) + reply.body[: len(reply.body) // 2])
        self.close_connection = True

    def _send_without_end(self, reply: Reply) -> None:
        """Of no announced length, some 20 MB a second."""
        self._write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        self.close_connection = True
        while not self.server.is_closing.wait(PAUSE / 2):
            self._write(b" " * 262_144)

    def _drip(self, byte: bytes) -> None:
        self.close_connection = True
        while not self.server.is_closing.wait(PAUSE):
            self._write(byte)

    def _head(self, reply: Reply, n_bytes: int) -> bytes:
        headers = {
            "Content-Type": "application/json",
            "X-Simulated": "yes",
            "Content-Length": str(n_bytes),
        } | reply.headers
        lines = [f"HTTP/1.1 {reply.status} Simulated", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _write(self, content: bytes) -> None:
        self.wfile.write(content)
        self.wfile.flush()


def _json_reply(status: int, value: Any) -> Reply:
    return Reply(status, json.dumps(value).encode())


def _error_reply(status: int, sentence: str) -> Reply:
    return _json_reply(status, {"error": {"message": sentence, "type": "simulated_error", "code": status}})


def _changed(answer: dict[str, Any], fault: str) -> dict[str, Any]:
    """A good answer with the fault in it, where it is one to a chat."""
    if "choices" not in answer:
        return answer
    message = answer["choices"][0]["message"]
    match fault:
        case StandInFault.EMPTY_CHOICES:
            answer["choices"] = []
        case StandInFault.REFUSAL:
            message |= {"content": None, "refusal": "I'm sorry, but I can't help with that."}
        case StandInFault.EMPTY_TEXT:
            message["content"] = ""
        case StandInFault.LENGTH:
            answer["choices"][0]["finish_reason"] = "length"
            message["content"] = message["content"][: len(message["content"]) // 2]
        case StandInFault.NO_USAGE:
            del answer["usage"]
        case StandInFault.OTHER_MODEL:
            answer["model"] = "another-model-2026-01-01"
    return answer


def _by_habit(answer: dict[str, Any], habit: str, *, n_images: int) -> dict[str, Any]:
    """An answer to a chat as a server with this habit gives it."""
    match habit:
        case StandInHabit.NO_IMAGE:
            answer["usage"]["prompt_tokens"] -= TOKENS_OF_IMAGE * n_images
        case StandInHabit.FIXED_COUNT:
            answer["usage"]["prompt_tokens"] = 1
        case StandInHabit.CUT_PROMPT:
            answer["usage"]["prompt_tokens"] = min(answer["usage"]["prompt_tokens"], CUT_AT)
    return answer


if __name__ == "__main__":
    ends = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with StandIn(seed=1, seconds=float(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.0) as served:
        print(f"REXVQA_MODEL_ENDPOINTS=stand-in={served.url}", flush=True)
        signal.sigwait(ends)
