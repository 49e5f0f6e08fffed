"""Errors to Sentry, and times of requests and jobs to OpenTelemetry: only where a setting names who receives them.

What is told is made here, from what stands in the program itself: names of routes, modules, functions and kinds, and
numbers. Nothing that a person typed or that a file held is looked at: a message of an exception, an argument of a line
of the log, a local variable, a header, an address. Both libraries are optional (``make setup EXTRAS=telemetry``).
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings

from annotation import VERSION
from annotation.enums import JobState
from annotation.site.logs import about, request_id

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer
    from sentry_sdk import Client
    from sentry_sdk.types import Event

log = logging.getLogger(__name__)

TOLD = ("event_id", "timestamp", "level", "platform", "release", "logger", "logentry", "exception", "tags")
MOST_CAUSES = 10
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
LIKE_OURS = re.compile(r"[0-9a-f]{32}")  # the number of a request that no proxy gave one
SECONDS_TO_SEND = 1  # of what waits when a process ends, and of one batch of spans
MOST_SPANS, SPANS_AT_ONCE = 2048, 1024  # further ones are lost while the receiver is away


class SentryHandler(logging.Handler):
    """Each line of the log that is an error, with where its exception was raised; sent by a thread of the library."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            # whoever sends spans may fail every few seconds: that is told by the log alone
            client = None if record.name.startswith("opentelemetry") else _client(os.getpid())
            if client:
                client.capture_event(_event(record))
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """At the end of a process; one that sent nothing has no client."""
        if _client.cache_info().currsize and (client := _client(os.getpid())):
            client.flush(timeout=SECONDS_TO_SEND)


@lru_cache(maxsize=1)
def _client(pid: int) -> Client | None:
    """Of this process: the thread that sends does not live on in one that was forked. None where it is not installed.

    It is no client of ``sentry_sdk.init``: nothing is patched, and no library adds what it knows.
    """
    try:
        from sentry_sdk import Client
    except ImportError:  # /healthz says so
        return None
    return Client(
        settings.SENTRY_DSN,
        before_send=_only_told,
        release=VERSION,
        in_app_include=["annotation", "readerstudy", "rexvqa_site"],
        default_integrations=False,
        auto_enabling_integrations=False,
        enable_backpressure_handling=False,
        spotlight=False,
    )


def _only_told(event: Event, _hint: object) -> Event | None:
    """Without what the library puts beside it, such as the name of the machine, or will one day."""
    return cast("Event", {name: value for name, value in event.items() if name in TOLD})


def _event(record: logging.LogRecord) -> Event:
    error = record.exc_info[1] if record.exc_info else getattr(record, "failure", None)
    return {
        "timestamp": datetime.fromtimestamp(record.created, UTC),
        "level": "fatal" if record.levelno >= logging.CRITICAL else "error",
        "logger": record.name,
        "logentry": {"message": _template(record) or f"an error of {record.name}"},
        "exception": {"values": [_raised(one) for one in reversed([*_causes(error)])]},
        "tags": dict(about.get() or {}),
    }


def _template(record: logging.LogRecord) -> str:
    """The line before its arguments are filled in, if the function that logs it holds it as a constant; else ""."""
    frame = sys._getframe()
    while (frame.f_code.co_filename, frame.f_lineno) != (record.pathname, record.lineno):
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return record.msg if record.msg in frame.f_code.co_consts else ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _more in range(MOST_CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _raised(error: BaseException) -> dict[str, Any]:
    """Its type and where it was raised. Its message may hold a name, a number of an exam or an address."""
    frames = [
        {"module": frame.f_globals.get("__name__"), "function": frame.f_code.co_qualname, "lineno": line}
        for frame, line in walk_tb(error.__traceback__)
    ]
    kind = type(error)
    return {"type": kind.__qualname__, "module": kind.__module__, "stacktrace": {"frames": frames}}


# --- Spans -----------------------------------------------------------------------------------------
def tell_request(began: int, *, method: str, status: int) -> None:
    """The request that ``about`` tells of: it began at this time, in nanoseconds, and is answered now."""
    known = method if method in METHODS else "_OTHER"  # a client may call it as it likes
    facts: dict[str, str | int] = {"http.request.method": known, "http.response.status_code": status}
    _tell((about.get() or {}).get("route") or "no route", began, facts, is_failed=status >= 500)


def tell_job(began: int, *, state: str) -> None:
    """The job that ``about`` tells of has come to this state."""
    _tell((about.get() or {})["kind"], began, {"state": state}, is_failed=state == JobState.FAILED)


def _tell(name: str, began: int, facts: dict[str, str | int], *, is_failed: bool) -> None:
    """A request is the root of the trace that has its number; a job belongs to the request that asked for it."""
    tracer = _tracer(os.getpid())
    if tracer is None:
        return
    from opentelemetry import trace

    told, kind, asked_by = about.get() or {}, trace.SpanKind.SERVER, None
    if "job" in told:
        kind = trace.SpanKind.CONSUMER
        if request_id():
            flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
            parent = trace.SpanContext(_trace_id(), _span_id(), is_remote=True, trace_flags=flags)
            asked_by = trace.set_span_in_context(trace.NonRecordingSpan(parent))
    span = tracer.start_span(name, asked_by, kind, attributes={**told, **facts}, start_time=began)
    if is_failed:
        span.set_status(trace.StatusCode.ERROR)
    span.end()


def _trace_id() -> int:
    """The number of the request as it is, where it is one of ours or of nginx."""
    number = request_id()
    return int(number if LIKE_OURS.fullmatch(number) else sha256(number.encode()).hexdigest()[:32], 16)


def _span_id() -> int:
    return _trace_id() % 2**64


@lru_cache(maxsize=1)
def _tracer(pid: int) -> Tracer | None:
    """Of this process, made at its first span: after the web server and the worker have forked."""
    try:
        return _new_tracer()
    except ImportError:  # /healthz says so
        return None
    except Exception:  # such as a variable of the library that makes no sense: people get their answers all the same
        log.exception("no times are told to OpenTelemetry by this process")
        return None


def _new_tracer() -> Tracer:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class OfRequests(RandomIdGenerator):
        """Of a request both can be reckoned from its number: so a message to a worker carries nothing more."""

        def generate_trace_id(self) -> int:
            return _trace_id() if request_id() else super().generate_trace_id()

        def generate_span_id(self) -> int:
            is_job = "job" in (about.get() or {})
            return _span_id() if request_id() and not is_job else super().generate_span_id()

    exporter = OTLPSpanExporter(f"{settings.OTEL_ENDPOINT.rstrip('/')}/v1/traces", timeout=SECONDS_TO_SEND)
    resource = Resource({"service.name": "reading-room", "service.version": VERSION})  # and not this machine
    provider = TracerProvider(resource=resource, id_generator=OfRequests())
    waiting = BatchSpanProcessor(exporter, max_queue_size=MOST_SPANS, max_export_batch_size=SPANS_AT_ONCE)
    provider.add_span_processor(waiting)
    return provider.get_tracer("annotation")
