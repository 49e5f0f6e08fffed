"""A server on 127.0.0.1 that takes what is sent to Sentry (envelopes) and to OpenTelemetry (OTLP over HTTP)."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 60  # seconds


class TelemetryReceiver:
    """``sent``: every byte of each request, its body unpacked; ``events`` and ``spans``: what they say."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.dsn = f"http://the-key@127.0.0.1:{port}/1"
        self.sent: list[bytes] = []
        self.events: list[dict[str, Any]] = []
        self.spans: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []

    def take(self, path: str, head: bytes, body: bytes) -> None:
        self.sent.append(path.encode() + b"\n" + head + b"\n" + body)
        if path == "/v1/traces":
            self._take_spans(body)
        else:
            lines = [json.loads(line) for line in body.splitlines()]
            heads_and_items = zip(lines[1::2], lines[2::2], strict=True)
            self.events += [item for head, item in heads_and_items if head["type"] == "event"]

    def _take_spans(self, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(_facts(of_resource.resource.attributes))
            for one in (span for of_scope in of_resource.scope_spans for span in of_scope.spans):
                ids = {name: getattr(one, name).hex() for name in ("trace_id", "span_id", "parent_span_id")}
                took = one.end_time_unix_nano - one.start_time_unix_nano
                facts = {"name": one.name, "span_kind": one.kind, "status": one.status.code, "took": took}
                assert not one.events
                assert not one.status.message
                self.spans.append({**ids, **facts, **_facts(one.attributes)})

    def wait_for(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, (self.events, self.spans)
            threading.Event().wait(0.02)

    def event(self, **tags: str) -> dict[str, Any]:
        """The first with these tags, as soon as it is there."""
        self.wait_for(lambda: any(tags.items() <= one["tags"].items() for one in self.events))
        return next(one for one in self.events if tags.items() <= one["tags"].items())

    def span(self, **facts: Any) -> dict[str, Any]:
        self.wait_for(lambda: any(facts.items() <= one.items() for one in self.spans))
        return next(one for one in self.spans if facts.items() <= one.items())


def _facts(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@contextmanager
def telemetry_receiver() -> Iterator[TelemetryReceiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            found.take(self.path, bytes(self.headers), body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = TelemetryReceiver(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
