"""Four lanes into the program, so that nothing slow or heavy delays an answer.

The web server has many threads, each of which waits for one client. Here a request is taken in whole, and only then
given to one of the few threads that run the program: so somebody who sends slowly costs a waiting thread and nothing
else, and each of the few keeps its own connection to the database. Images have threads of their own, since readers
fetch hundreds of megabytes of them, and let answers go first; so has everything that is too large to be taken in first,
and so have passwords, each of which costs some 30 ms and 19 MB to hash. A body that does not come holds its waiting
thread for as long as its connection stands, so that of one address only so many are awaited. See docs/decisions/0009.
"""

from __future__ import annotations

import io
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.core.exceptions import BadRequest

WAITING_THREADS = 256  # of the web server, each with a client of its own
MOST_AWAITED = 64  # bodies of one address: a hospital behind one sends far fewer at a time
IN_MEMORY = 256 * 1024  # bytes of one body; the rest of it waits in a file
PART = 64 * 1024
MOST_TAKEN_IN = 5 * 1024 * 1024  # bytes of a body that is read before anything else; forms are smaller, uploads larger

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


class Lane(StrEnum):
    ANSWERS = "answers"
    IMAGES = "images"
    UPLOADS = "uploads"
    PASSWORDS = "passwords"


PATIENCE = 0.1  # seconds for which an image waits while answers are being computed
THREADS = {Lane.ANSWERS: 4, Lane.IMAGES: 2, Lane.UPLOADS: 2, Lane.PASSWORDS: max(1, (os.cpu_count() or 1) // 2)}


@dataclass(frozen=True)
class Answered:
    """What the program answered: the arguments of ``start_response``, and the body."""

    start: tuple[Any, ...]
    body: Iterable[bytes]


class Traffic:
    """The answers that are being computed: what is inside ``with``, in any thread."""

    def __init__(self) -> None:
        self.n, self.changed = 0, threading.Condition()

    def __enter__(self) -> None:
        with self.changed:
            self.n += 1

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self.n -= 1
            self.changed.notify_all()

    def wait_until_idle(self, seconds: float) -> bool:
        """Return as soon as no answer is being computed, or False after so many seconds."""
        with self.changed:
            return self.changed.wait_for(lambda: not self.n, seconds)


class Awaited:
    """How many bodies each address is sending."""

    def __init__(self) -> None:
        self.n, self.lock = Counter[str](), threading.Lock()

    @contextmanager
    def one_of(self, address: str) -> Iterator[bool]:
        """Whether one more of this address may be awaited; it is over with the block."""
        with self.lock:
            self.n[address] += 1
            may_come = self.n[address] <= MOST_AWAITED
        try:
            yield may_come
        finally:
            with self.lock:
                self.n[address] -= 1
                if not self.n[address]:
                    del self.n[address]


class Whole(io.RawIOBase):
    """The body up to its announced end. Where it ends before, the client went away, and no view answers: Django and the
    check of the CSRF token pass over an ``OSError``, and files that came whole would be taken for all.
    """

    def __init__(self, environ: Environ) -> None:
        self.source, self.left = environ["wsgi.input"], announced(environ)

    def readable(self) -> bool:
        return True

    def readinto(self, place: Any) -> int:
        part = self.source.read(min(len(place), self.left))
        if not part and self.left:
            raise BadRequest("The body ended before its announced length")
        self.left -= len(part)
        place[: len(part)] = part
        return len(part)


class Lanes:
    """A WSGI application in front of another one."""

    def __init__(
        self,
        application: Application,
        *,
        images: str | tuple[str, ...],
        passwords: tuple[str, ...] = (),
        patience: float = PATIENCE,
        address: Callable[[Environ], str] = lambda environ: environ.get("REMOTE_ADDR", ""),
    ) -> None:
        """``images``, ``passwords``: how the addresses of image files begin, and of what is sent with a password.

        ``patience``: seconds for which an image lets answers go first. ``address``: who sends.
        """
        self.application, self.images, self.passwords, self.patience = application, images, passwords, patience
        self.traffic, self.awaited, self.address = Traffic(), Awaited(), address
        self.pools = {lane: ThreadPoolExecutor(n, thread_name_prefix=lane) for lane, n in THREADS.items()}

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        lane = lane_of(environ, self.images, self.passwords)
        with self.awaited.one_of(self.address(environ)) as may_come:
            if announced(environ) and not may_come:
                return _refused(start_response, "503 Service Unavailable")
            if lane is Lane.UPLOADS:  # the program reads it
                environ["wsgi.input"] = io.BufferedReader(Whole(environ), PART)
                answered = self._of(lane, environ)
            elif not take_in(environ):
                return _refused(start_response, "400 Bad Request")
        if lane is not Lane.UPLOADS:
            answered = self._of(lane, environ)
        start_response(*answered.start)
        return answered.body

    def _of(self, lane: Lane, environ: Environ) -> Answered:
        if lane is Lane.IMAGES:
            return self.pools[lane].submit(self._after_answers, environ).result()
        if lane is not Lane.ANSWERS:
            return self.pools[lane].submit(self._answer, environ).result()
        with self.traffic:
            return self.pools[lane].submit(self._answer, environ).result()

    def _after_answers(self, environ: Environ) -> Answered:
        self.traffic.wait_until_idle(self.patience)
        return self._answer(environ)

    def _answer(self, environ: Environ) -> Answered:
        starts: list[tuple[Any, ...]] = []
        body = self.application(environ, lambda *arguments: starts.append(arguments))
        if getattr(body, "streaming", True):  # a file: the waiting thread reads it
            return Answered(starts[-1], body)
        try:
            return Answered(starts[-1], [b"".join(body)])
        finally:
            body.close()  # type: ignore[attr-defined]


def _refused(start_response: StartResponse, status: str) -> Iterable[bytes]:
    start_response(status, [("Content-Length", "0"), ("Connection", "close")])
    return []


def lane_of(environ: Environ, images: str | tuple[str, ...], passwords: tuple[str, ...] = ()) -> Lane:
    if announced(environ) > MOST_TAKEN_IN or environ.get("HTTP_TRANSFER_ENCODING"):
        return Lane.UPLOADS
    address = environ.get("PATH_INFO", "")
    if environ.get("REQUEST_METHOD") == "POST" and address.startswith(passwords):
        return Lane.PASSWORDS
    return Lane.IMAGES if address.startswith(images) else Lane.ANSWERS


def announced(environ: Environ) -> int:
    """The length of the body as its head says; 0 for none, and for nonsense, which Django refuses as well."""
    length = environ.get("CONTENT_LENGTH") or ""
    return int(length) if length.isascii() and length.isdecimal() else 0


def take_in(environ: Environ) -> bool:
    """Read the whole body, however slowly it comes; False when the client went away in the middle."""
    length = announced(environ)
    if not length:
        return True
    body = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - Django reads it, and lets it go
    source = environ["wsgi.input"]
    while (left := length - body.tell()) > 0:
        part = source.read(min(left, PART))
        if not part:
            return False
        body.write(part)
    body.seek(0)
    environ["wsgi.input"] = body
    return True


# --- public boards ------------------------------------------------------------------------------------
