"""A server on 127.0.0.1 that answers a byte now and then: no read of a socket ever times out."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DRIPS, PAUSE = 200, 0.05  # ten seconds in all, so that a test without a deadline ends, too


class DrippingServer:
    """``answers``: paths that are answered at once, with JSON. ``asked``: the paths, in their order."""

    def __init__(self, url: str, answers: dict[str, Any]) -> None:
        self.url, self.answers, self.asked = url, answers, list[str]()
        self.was_left = threading.Event()  # the other side went away before the end


@contextmanager
def dripping_server(within: str = "head") -> Iterator[DrippingServer]:
    """``within``: whether it drips in the head of its answer or in the body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            found.asked.append(self.path)
            if self.path in found.answers:
                self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(found.answers[self.path]).encode())
                return
            self.wfile.write(
                b"HTTP/1.0 200 OK\r\n" + (b"X-Slow: " if within == "head" else b"Content-Length: 999\r\n\r\n")
            )
            try:
                for _drip in range(DRIPS):
                    self.wfile.write(b"a")
                    threading.Event().wait(PAUSE)
            except OSError:
                found.was_left.set()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = DrippingServer(f"http://127.0.0.1:{server.server_port}", {})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
