"""A line that now and then answers 200 itself, in place of the site: a captive portal, a firewall, a cache."""

from __future__ import annotations

import http.client
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORTAL = b"<!doctype html><title>Hospital network</title>Please sign in to the network."
ANSWERS = [
    (200, "text/html", PORTAL),
    (200, "application/json", b'{"supportID": "1234567890"}'),
    (200, "application/json", b"{}"),
    (200, "application/json", b"[]"),
    (204, "text/plain", b""),
    (302, "text/html", b""),
]
KEPT = ("content-type", "x-received")
PATIENCE = 60.0


class Line:
    """Between the readers and the site. ``share``: of how many requests an answer is not the site's.

    One of two such requests reaches the site all the same, and only its answer is lost.
    """

    def __init__(self, site: int, share: float, seed: int) -> None:
        self.site, self.share, self.chance = site, share, random.Random(seed)
        self.lock, self.n_foreign = threading.Lock(), 0
        line = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                foreign, is_passed_on = line.draw()
                if foreign is None or is_passed_on:
                    own = line.pass_on(self.path, body, dict(self.headers.items()))
                else:
                    own = None
                if foreign is not None:
                    status, kind, said = foreign
                    self.answer(status, {"Content-Type": kind, "Location": "/login/"}, said)
                elif own is None:
                    self.answer(502, {}, b"")
                else:
                    self.answer(*own)

            def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status != http.client.NO_CONTENT:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def draw(self) -> tuple[tuple[int, str, bytes] | None, bool]:
        with self.lock:
            if self.chance.random() >= self.share:
                return None, True
            self.n_foreign += 1
            return self.chance.choice(ANSWERS), self.chance.random() < 0.5

    def pass_on(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes] | None:
        """None where the site does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.site, timeout=PATIENCE)
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            kept = {name: value for name, value in answer.getheaders() if name.lower() in KEPT}
            return answer.status, kept, answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
