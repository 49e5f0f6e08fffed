"""One deadline for everything that is asked of another server, however slowly something comes.

A read of a socket ends after its timeout without a byte, so that a server which sends a byte now and then, in a header
or within one chunk, could hold it for ever. When the time is over the connection is shut down under the read, which
then fails at once.
"""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.ssl_ import create_urllib3_context

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
