"""A small server of pictures for a peer that runs on another port: every task has addresses of its own for them."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self


class Pictures:
    """Serves ``/anything/NAME`` until closed, to every origin; ``previews`` are WebP by name."""

    def __init__(self, previews: dict[str, bytes]) -> None:
        handler = type("PicturesHandler", (_Handler,), {"previews": previews})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    previews: ClassVar[dict[str, bytes]]
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would wait 40 ms for an acknowledgement

    def do_GET(self) -> None:
        body = self.previews.get(self.path.rpartition("/")[2])
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "image/webp")
        self.send_header("Content-Length", str(len(body or b"")))
        self.send_header("Cache-Control", "private, max-age=3600")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the table says what was measured."""
