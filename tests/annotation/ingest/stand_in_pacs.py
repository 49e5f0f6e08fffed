"""A PACS on 127.0.0.1 that speaks as much DICOMweb as is asked of one, and fails as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydicom.dataset import Dataset

from annotation.ingest.kernels.dicomweb import Pacs
from tests.annotation.imaging.dicomfiles import as_bytes

AUTHORIZATION = "Basic cmVhZGVyOnNlOmNyZXQ="  # reader:se:cret
SHOWN = ("StudyDate", "AccessionNumber", "Modality", "BodyPartExamined", "StudyInstanceUID", "SeriesInstanceUID")


class StandIn:
    """``faults``: what becomes of the next requests for files: a status, "cut", or "" for a good answer."""

    def __init__(self, images: list[Dataset]) -> None:
        self.images, self.faults, self.retry_after = images, list[int | str](), "0"
        self.searched, self.fetched = list[dict[str, str]](), list[str]()
        self.pacs = Pacs("try", "")

    def answer(self, path: str, query: dict[str, str]) -> bytes | None:
        if path == "/studies":
            self.searched.append(query)
            studies = {image.StudyInstanceUID: image for image in self.images if self._fits(image, query)}
            return json.dumps([_shown(image) for image in studies.values()]).encode()
        parts = path.split("/")
        if parts[-1] == "instances":
            return json.dumps([_shown(one) for one in self.images if one.StudyInstanceUID == parts[2]]).encode()
        self.fetched.append(parts[-1])
        return next((as_bytes(one) for one in self.images if parts[-1] == one.SOPInstanceUID), None)

    def _fits(self, image: Dataset, query: dict[str, str]) -> bool:
        """As some do, it does not know dates."""
        return bool(image.AccessionNumber == query.get("AccessionNumber", image.AccessionNumber))


def _shown(image: Dataset) -> dict[str, Any]:
    given = image.to_json_dict(suppress_invalid_tags=True)
    kept = [*SHOWN, "SOPInstanceUID"]
    return {tag: value for tag, value in given.items() if Dataset.from_json({tag: value}).dir()[0] in kept}


@contextmanager
def stand_in(images: list[Dataset]) -> Iterator[StandIn]:
    found = StandIn(images)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            is_file = asked.path.count("/") > 3
            fault = found.faults.pop(0) if is_file and found.faults else ""
            body = found.answer(asked.path, dict(parse_qsl(asked.query)))
            status = 401 if self.headers.get("Authorization") != AUTHORIZATION else 200 if body is not None else 404
            status = fault if isinstance(fault, int) else status
            kind = "application/dicom+json"
            if is_file and status == 200 and body is not None:
                kind = 'multipart/related; type="application/dicom"; boundary="a b"'
                body = b"--a b\r\nContent-Type: application/dicom\r\n\r\n" + body + b"\r\n--a b--\r\n"
            body = body if status == 200 and body is not None else b""
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Retry-After", found.retry_after)
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
            self.close_connection = fault == "cut"

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.pacs = Pacs("try", f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
