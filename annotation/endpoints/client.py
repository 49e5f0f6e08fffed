"""One exchange with another server under one deadline: whatever it does becomes an ``Exchange``, never an exception.

A read of a socket ends after its timeout without a byte, so that a server which sends a byte now and then, in a header
or within one chunk, could hold it for ever. When the time is over the connection is shut down under the read, which
then fails at once.
"""

from __future__ import annotations

import io
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from http.client import HTTPException
from types import TracebackType
from typing import Any, Self

import requests
import urllib3
from django.conf import settings
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import replace
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.ssl_ import create_urllib3_context

from annotation.call_enums import Ending
from annotation.endpoints.configured_endpoints import MODEL_NAME, EndpointRefused, endpoint_to_ask, key_for
from annotation.endpoints.kernels.completions import ModelRequest, Route, is_text
from annotation.endpoints.kernels.endpoint_list import ApiKey, Endpoint

LONGEST_WATCH = 60.0  # seconds between two looks at deadlines

_here = threading.local()  # the deadline of this thread, for the connection that urllib3 takes


class Deadlines:
    """Of all exchanges of a client. One thread ends them: a timer of each would be a thread for each call."""

    def __init__(self) -> None:
        self._until: dict[Deadline, float] = {}
        self._changed = threading.Condition()
        self._wakes_at = 0.0  # of the monotonic clock
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @contextmanager
    def of(self, seconds: float) -> Iterator[Deadline]:
        """A deadline in so many seconds for what this thread does."""
        _here.deadline = deadline = Deadline()
        self._add(deadline, time.monotonic() + seconds)
        try:
            yield deadline
        finally:
            _here.deadline = None
            with self._changed:
                self._until.pop(deadline, None)
            deadline.forget()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _add(self, deadline: Deadline, until: float) -> None:
        with self._changed:
            self._until[deadline] = until
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()
            elif until < self._wakes_at:
                self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                for deadline in [one for one, until in self._until.items() if until <= now]:
                    del self._until[deadline]
                    deadline.end()
                self._wakes_at = min(self._until.values(), default=now + LONGEST_WATCH)
                self._changed.wait(self._wakes_at - now)


class Deadline:
    def __init__(self) -> None:
        self.is_over = False
        self._handle: socket.socket | None = None
        self._lock = threading.Lock()

    def watch(self, sock: socket.socket) -> None:
        """Shut this connection down when the time is over.

        By a handle of its own: libraries close theirs, or hide it in TLS, while there is still something to read.
        """
        with self._lock:
            self._close_handle()
            self._handle = socket.fromfd(sock.fileno(), sock.family, sock.type)
            if self.is_over:
                self._shut()

    def end(self) -> None:
        with self._lock:
            self.is_over = True
            self._shut()

    def forget(self) -> None:
        with self._lock:
            self._close_handle()

    def _shut(self) -> None:
        with suppress(OSError):  # the other side was faster
            if self._handle is not None:
                self._handle.shutdown(socket.SHUT_RDWR)

    def _close_handle(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


class _Watched(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        _here.deadline.watch(sock)
        return sock

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is not None:  # kept open from an earlier call
            _here.deadline.watch(self.sock)
        super().request(*args, **kwargs)


class _WatchedTLS(_Watched, HTTPSConnection):
    pass


class _WatchedPool(HTTPConnectionPool):
    ConnectionCls = _Watched


class _WatchedTLSPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTLS


class WatchedAdapter(HTTPAdapter):
    """Believes ``certificates`` beside the public ones; its connections end with the deadline of their thread."""

    def __init__(self, *, certificates: str = "", **options: Any) -> None:
        self._certificates = certificates
        super().__init__(**options)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        context = create_urllib3_context()
        if self._certificates:
            context.load_verify_locations(cadata=self._certificates)
        super().init_poolmanager(*args, ssl_context=context, **kwargs)  # requests adds the public ones to it
        self.poolmanager.pool_classes_by_scheme = {"http": _WatchedPool, "https": _WatchedTLSPool}


class BoundedSession(requests.Session):
    """For use in ``with``: all that is asked in it together takes no more than so many seconds.

    Of the body of each answer no more than ``most_bytes`` are read. Neither proxies nor passwords of the environment
    are used, and no redirect is followed.
    """

    def __init__(self, seconds: float, *, most_bytes: int, certificates: str = "") -> None:
        super().__init__()
        self.trust_env, self.most_bytes = False, most_bytes
        for scheme in ("http://", "https://"):
            self.mount(scheme, WatchedAdapter(certificates=certificates))
        self._until = time.monotonic() + seconds
        self._deadlines = Deadlines()
        self._watching = self._deadlines.of(seconds)

    def __enter__(self) -> BoundedSession:
        self.deadline = self._watching.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watching.__exit__(None, None, None)
        self._deadlines.close()
        self.close()

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        """The answer and the beginning of its body. Raises requests.RequestException, also where the time is over."""
        left = max(self._until - time.monotonic(), 0.001)
        kwargs |= {"timeout": left, "allow_redirects": False, "stream": True}
        response = super().request(*args, **kwargs)
        try:
            with response:
                body = response.raw.read(self.most_bytes, decode_content=True)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise requests.ConnectionError from error
        if self.deadline.is_over:  # a head that was cut off, or a body of unknown length, is read as a whole one
            raise requests.Timeout
        response.raw = io.BytesIO(body)
        return response


KEPT_HEADERS = ("x-request-id", "request-id", "retry-after")
LONGEST_HEADER = 200  # characters kept
UNPACKED = ("identity", "gzip", "x-gzip", "deflate")  # encodings; proxies pack what was asked for plain
READ_AT_ONCE = 64 * 1024
FAILURES = (requests.RequestException, urllib3.exceptions.HTTPError, HTTPException, OSError, ValueError)
TIMEOUTS = (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError)


class Limits(Struct, frozen=True):
    """``total_seconds`` holds for the whole exchange, however slowly something comes."""

    connect_seconds: float = 10
    read_seconds: float = 120
    total_seconds: float = 600
    answer_bytes: int = 4 * 1024 * 1024


class Exchange(Struct, frozen=True):
    """One request and what came of it; the key of the endpoint is in no field.

    ``status`` is None where no answer began. ``body`` is kept where the answer came whole and is UTF-8 without NUL, as
    JSON and error pages are: a piece could end within an echoed key, and in another encoding none would be found.
    ``problem`` is the name of the error of the connection.
    """

    request_sha256: str
    ending: Ending
    started_at: datetime
    seconds: float = 0.0
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    problem: str = ""


class ModelClient:
    """Asks one endpoint. From any number of threads; ``connections`` are kept open between their calls.

    It is set on the adapter of requests and not on a session, which would follow redirects, keep cookies and read
    proxies, certificates and passwords from the environment. Public authorities are believed, and those of
    ``REXVQA_MODEL_CA_FILE``.
    """

    def __init__(
        self, endpoint: Endpoint, key: ApiKey | None, *, limits: Limits | None = None, connections: int = 1
    ) -> None:
        self.endpoint, self.limits = endpoint, limits or Limits()
        self._key = key
        self._adapter = WatchedAdapter(
            certificates=settings.MODEL_CERTIFICATES, max_retries=0, pool_connections=1, pool_maxsize=connections
        )
        self._deadlines = Deadlines()
        self._heads: dict[Route, requests.PreparedRequest] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._adapter.close()
        self._deadlines.close()

    def send(self, request: ModelRequest, *, at: datetime) -> Exchange:
        """One attempt; asking again is for the caller, who keeps each."""
        began = time.monotonic()
        exchange = Exchange(request.sha256, Ending.CONNECTION_FAILED, started_at=at)
        with self._deadlines.of(self.limits.total_seconds) as deadline:
            exchange = self._asked(request, exchange, deadline)
        return replace(exchange, seconds=round(time.monotonic() - began, 4))

    def _asked(self, request: ModelRequest, exchange: Exchange, deadline: Deadline) -> Exchange:
        timeout = (self.limits.connect_seconds, self.limits.read_seconds)
        try:
            response = self._adapter.send(self._prepared(request), stream=True, timeout=timeout, verify=True)
            try:
                exchange = replace(exchange, status=response.status_code, headers=self._kept_headers(response))
                exchange = self._read(response, exchange)
            finally:
                response.raw.close()  # where it was read to its end, its connection is back in the pool by now
            if deadline.is_over:  # an answer of unknown length seems to end when the connection does
                raise TimeoutError
        except FAILURES as error:
            is_late = deadline.is_over or isinstance(error, TIMEOUTS)
            ending = Ending.TIMED_OUT if is_late else Ending.CONNECTION_FAILED
            return replace(exchange, ending=ending, body=b"", problem=_name_of(error))
        return exchange

    def _prepared(self, request: ModelRequest) -> requests.PreparedRequest:
        """Its head is read once for each route: parsing the same URL took a tenth of the time of a request."""
        head = self._heads.get(request.route)
        if head is None:
            head = self._heads[request.route] = self._head(request.route)
        prepared = head.copy()
        prepared.prepare_body(request.body, None)
        return prepared

    def _head(self, route: Route) -> requests.PreparedRequest:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "rexvqa-reading-room"}
        if self._key is not None:
            headers["Authorization"] = self._key.authorization()
        headers["Content-Type"] = "application/json"
        method = "GET" if route is Route.MODELS else "POST"
        return requests.Request(method, f"{self.endpoint.url}/{route}", headers=headers).prepare()

    def _kept_headers(self, response: requests.Response) -> tuple[tuple[str, str], ...]:
        found = ((name, response.headers.get(name)) for name in KEPT_HEADERS)
        return tuple((name, self._header_without_key(value)) for name, value in found if value is not None)

    def _header_without_key(self, value: str) -> str:
        printable = re.sub(r"[^ -~]", "?", value)
        return (self._key.taken_out(printable) if self._key else printable)[:LONGEST_HEADER]

    def _read(self, response: requests.Response, exchange: Exchange) -> Exchange:
        """An answer that has begun, to its end. Raises FAILURES."""
        if 300 <= response.status_code < 400:
            return replace(exchange, ending=Ending.REDIRECT)
        body = self._whole_body(response)
        if body is None:
            return replace(exchange, ending=Ending.TOO_LARGE)
        is_plain = response.headers.get("content-encoding", "identity") in UNPACKED and is_text(body)
        kept = body if is_plain else b""
        if 200 <= response.status_code < 300:
            ending = Ending.ANSWERED if _is_json(kept) else Ending.NOT_JSON
        else:
            ending = Ending.HTTP_ERROR
        return replace(exchange, ending=ending, body=self._key.taken_out_of_bytes(kept) if self._key else kept)

    def _whole_body(self, response: requests.Response) -> bytes | None:
        """None for one over the limit, of which no more is read."""
        limit = self.limits.answer_bytes
        if int(response.headers.get("content-length", "0")) > limit:
            return None
        body = bytearray()
        for piece in response.raw.stream(READ_AT_ONCE, decode_content=True):
            body += piece
            if len(body) > limit:
                return None
        return bytes(body)


def printable(content: bytes) -> str:
    """What a server sent, as one line of text for a page: what cannot be shown there is a space."""
    text = content.decode("utf-8", "replace")
    return "".join(character if character.isprintable() else " " for character in text).strip()


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _name_of(error: BaseException) -> str:
    """Of the innermost error: ``SSLCertVerificationError`` tells more than the ``ConnectionError`` around it."""
    inner = getattr(error, "reason", None) or next((one for one in error.args if isinstance(one, Exception)), None)
    return _name_of(inner) if isinstance(inner, Exception) else type(error).__name__


LISTING = Limits(connect_seconds=3, read_seconds=5, total_seconds=5)  # a person waits for it
MOST_LISTED = 1_000


def models_listed(name: str, *, at: datetime) -> list[str]:
    """The models that the endpoint of this name lists now; it has few seconds. Raises EndpointRefused in words."""
    endpoint = endpoint_to_ask(name)
    with ModelClient(endpoint, key_for(endpoint), limits=LISTING) as client:
        reply = client.send(ModelRequest(Route.MODELS, b""), at=at)
    names = [one for one in names_in(reply.body) or () if MODEL_NAME.fullmatch(one)]
    if not names:
        sentence = _("The endpoint “%(name)s” gives no list of its models (%(why)s).")
        why = f"{reply.ending.label}, {reply.status}" if reply.ending == Ending.HTTP_ERROR else reply.ending.label
        raise EndpointRefused("no_list", sentence % {"name": name, "why": why})
    return sorted(set(names))[:MOST_LISTED]


def names_in(body: bytes) -> list[str] | None:
    """None where it is no list of models."""
    try:
        return [str(one["id"]) for one in json.loads(body)["data"]]
    except (ValueError, RecursionError, LookupError, TypeError):
        return None
