"""A small server for the viewer alone: its static files, a page with a strict policy, and images made in the test."""

from __future__ import annotations

import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import zstandard
from numpy.typing import NDArray
from PIL import Image

from annotation.case.kernels.keys import strokes

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html; charset=utf-8"}

Descriptor = dict[str, Any]
Pixels = NDArray[np.uint16]


def dsh(pixels: Pixels) -> bytes:
    """Left difference, zigzag, byte planes: written here a second time, so that a mistake in one place shows."""
    wide = pixels.astype(np.int64)
    difference = wide.copy()
    difference[:, 1:] -= wide[:, :-1]
    difference[1:, 0] -= wide[:-1, 0]
    signed = (difference + 0x8000) % 0x10000 - 0x8000
    zigzag = np.where(signed >= 0, 2 * signed, -2 * signed - 1)
    return (zigzag & 0xFF).astype(np.uint8).tobytes() + (zigzag >> 8).astype(np.uint8).tobytes()


def webp(greys: NDArray[np.uint8], side: int = 1024) -> bytes:
    picture = Image.fromarray(greys)
    picture.thumbnail((side, side), Image.Resampling.BOX)
    stream = io.BytesIO()
    picture.save(stream, "WEBP", quality=80, method=2)
    return stream.getvalue()


def webp_lossless(greys: NDArray[np.uint8]) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(greys).save(stream, "WEBP", lossless=True)
    return stream.getvalue()


class Stage:
    """Serves until closed. `files` maps a path to (media type, encoding, body); `gates` hold answers, `broken` fail."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, str, bytes]] = {}
        self.broken: set[str] = set()
        self.gates: dict[str, threading.Event] = {}
        self.asked: list[str] = []
        handler = type("StageHandler", (_Handler,), {"stage": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for gate in self.gates.values():
            gate.set()
        self.server.shutdown()
        self.server.server_close()

    def add(self, name: str, pixels: Pixels, greys: NDArray[np.uint8] | None = None, **display: Any) -> Descriptor:
        """Put an image on the server; its descriptor, as the case page would hand it to the viewer."""
        full, preview = f"/image/{name}", f"/preview/{name}"
        body = zstandard.ZstdCompressor(level=3).compress(dsh(pixels))
        self.files[full] = ("application/octet-stream", "zstd", body)
        if greys is None:
            greys = (pixels >> max(0, display.get("bits", 12) - 8)).clip(0, 255).astype(np.uint8)
        self.files[preview] = ("image/webp", "", webp(greys))
        height, width = pixels.shape
        top = 2 ** display.get("bits", 12) - 1
        base: Descriptor = {
            "id": name,
            "preview": preview,
            "full": full,
            "width": width,
            "height": height,
            "bits": 12,
            "slope": 1.0,
            "intercept": 0.0,
            "invert": False,
            "windows": [],
            "voi_luts": [],
            "padding": None,
            "spacing": None,
            "spacing_calibrated": False,
            "aspect": 1.0,
            "presets": {"full": [0, top]},
            "eight_bit": False,
            "scanner_window": bool(display.get("windows") or display.get("voi_luts")),
            "view_position": "PA",
            "laterality": "",
            "caption": "",
        }
        return base | display

    def hold(self, path: str) -> threading.Event:
        """Answers for `path` wait until the event that is returned is set."""
        self.gates[path] = threading.Event()
        return self.gates[path]


class _Handler(BaseHTTPRequestHandler):
    stage: ClassVar[Stage]
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would wait 40 ms for an acknowledgement

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.stage.asked.append(path)
        gate = self.stage.gates.get(path)
        if gate:
            gate.wait(20)
        if path in self.stage.broken:
            self.answer(503, "application/json", "", json.dumps({"detail": "out of order"}).encode())
        elif path in self.stage.files:
            self.answer(200, *self.stage.files[path])
        else:
            self.answer_file(path)

    def answer_file(self, path: str) -> None:
        file = ROOT / path.lstrip("/") if path.startswith("/static/") else HERE / "pages" / path.lstrip("/")
        if ".." in path or not file.is_file() or file.suffix not in TYPES:
            self.answer(404, "text/plain", "", b"nothing here")
            return
        body = file.read_bytes()
        if file.suffix == ".html":
            body = body.replace(b"KEYS", json.dumps(strokes()).encode())
        self.answer(200, TYPES[file.suffix], "", body)

    def answer(self, status: int, media_type: str, encoding: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "max-age=3600" if media_type in TYPES.values() else "no-store")
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        try:
            self.wfile.write(body)
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the test says what matters."""
