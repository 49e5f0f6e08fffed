"""Bodies that stop coming: the connection of whoever sends half of one, or a byte now and then, is closed.

The web server waits for the rest of a body for as long as the connection is open, and a thread waits with it. Which
connection a body comes from is unknown, so while one is late, every connection is closed on which the system has seen
nothing for so long (an idle one costs its owner nothing), and every one that has been sending too slowly to be honest.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SILENCE = 30.0  # seconds in which nothing of a body comes
SLOWEST = 32 * 1024  # bytes in a second, on average over a whole body
FEW_BYTES = 5 * 1024 * 1024  # a connection that has sent more is not cut for being slow
SECONDS_BETWEEN_LOOKS = 5.0
TCP_INFO_BYTES = 136
SENT_AND_RECEIVED, RECEIVED_BYTES = 44, 128  # offsets in struct tcp_info of Linux

Cut = Callable[["Lateness"], object]


@dataclass(frozen=True)
class Lateness:
    """Bodies have been coming for longer than SILENCE; ``slow_for``: for how long the latest that is out of time."""

    slow_for: float | None = None


class Watch:
    """The bodies that are being received; a thread looks after them while there are any."""

    def __init__(self, cut: Cut, clock: Callable[[], float] = time.monotonic) -> None:
        self._cut, self._clock = cut, clock
        self._numbers = itertools.count()
        self._coming: dict[int, tuple[float, float]] = {}  # since when, and until when at the most
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def over(self, length: int) -> Iterator[None]:
        """While a body of that length is read."""
        number, now = next(self._numbers), self._clock()
        with self._changed:
            self._coming[number] = (now, now + SILENCE + length / SLOWEST)
            if self._thread is None:
                self._thread = threading.Thread(target=self._look_again, name="slow bodies", daemon=True)
                self._thread.start()
            elif len(self._coming) == 1:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                del self._coming[number]

    def lateness(self) -> Lateness | None:
        """None while every body has time left."""
        now = self._clock()
        with self._changed:
            coming = list(self._coming.values())
        if all(now - since < SILENCE for since, _until in coming):
            return None
        slow = [now - since for since, until in coming if now >= until]
        return Lateness(max(slow, default=None))

    def look(self) -> None:
        late = self.lateness()
        if late is not None:
            self._cut(late)

    def _look_again(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._coming))
            time.sleep(SECONDS_BETWEEN_LOOKS)
            self.look()


@dataclass(frozen=True)
class Seen:
    """What the system has seen of a connection."""

    sent_ago: float  # seconds since the last byte to the client
    received_ago: float  # and from it
    n_received: int  # bytes


def is_to_cut(seen: Seen, late: Lateness) -> bool:
    if seen.sent_ago >= SILENCE and seen.received_ago >= SILENCE:
        return True
    return late.slow_for is not None and seen.sent_ago >= late.slow_for and seen.n_received < FEW_BYTES


def cutting(port: int) -> Cut:
    """Closes connections of this process to its own port; none where the system tells nothing of connections."""

    def cut(late: Lateness) -> None:
        for connection in _connections(port):
            with contextlib.suppress(OSError):
                if is_to_cut(seen_of(connection), late):
                    connection.shutdown(socket.SHUT_RDWR)

    return cut if hasattr(socket, "TCP_INFO") else lambda _late: None


def seen_of(connection: socket.socket) -> Seen:
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
    sent, _acknowledged, received = struct.unpack_from("=III", info, SENT_AND_RECEIVED)
    (n_received,) = struct.unpack_from("=Q", info, RECEIVED_BYTES)
    return Seen(sent / 1000, received / 1000, n_received)


def _connections(port: int) -> Iterator[socket.socket]:
    """Copies of the connections that this process has accepted; each is closed when the next is asked for."""
    for entry in Path("/proc/self/fd").iterdir():
        number = int(entry.name)
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            connection = socket.socket(fileno=os.dup(number))
        except OSError:  # gone by now
            continue
        with connection, contextlib.suppress(OSError):
            if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.getsockname()[1] == port:
                connection.getpeername()  # the one that listens has none
                yield connection
