"""What Sentry and OpenTelemetry are told: types, places, names of routes and kinds, numbers, and no planted word."""

from __future__ import annotations

import io
import logging
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.jobs import queueing, running
from annotation.jobs.queueing import REHEARSAL, JobHandler, JobRefused, Progress, RehearsalParams
from annotation.models import Job
from annotation.site import telemetry
from annotation.site.health import extras_off
from annotation.site.logs import about
from rexvqa_site import settings as shipped
from tests.conftest import NOON
from tests.processes import free_port
from tests.telemetry_receiver import TelemetryReceiver, telemetry_receiver

# Each word that could tell of somebody holds the one that is searched for in every byte.
NAME, EMAIL, ACCESSION = "Planted^Patient", "planted.reader@example.org", "ACC-planted-4711"
QUESTION, LINK, TOKEN = "Is the planted opacity new?", "planted-Link_0123456789", "rexvqa_planted012345_secret"
UNSET, SERVER, CONSUMER, ERROR = 0, 2, 5, 2  # of OTLP: the status of what went well, kinds of spans, the other status

log = logging.getLogger("annotation.people.tests")


@pytest.fixture
def receiver() -> Iterator[TelemetryReceiver]:
    with telemetry_receiver() as found:
        yield found


@pytest.fixture
def told(receiver: TelemetryReceiver, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process tells both."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    settings.SENTRY_DSN, settings.OTEL_ENDPOINT = receiver.dsn, receiver.url
    with telling():
        yield


class telling:  # noqa: N801 - read as a word
    """As LOGGING has it where a DSN is set, with clients of the settings of now."""

    def __enter__(self) -> None:
        forget_clients()
        self.handler = telemetry.SentryHandler(logging.ERROR)
        logging.getLogger().addHandler(self.handler)

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self.handler)
        self.handler.flush()
        if telemetry._tracer.cache_info().currsize and (tracer := telemetry._tracer(os.getpid())):
            tracer.span_processor.shutdown()  # type: ignore[attr-defined]
        forget_clients()
        about.set(None)


def forget_clients() -> None:
    telemetry._client.cache_clear()
    telemetry._tracer.cache_clear()


def fail_over(*given: object) -> Any:
    patient, exam = NAME, {"accession": ACCESSION}
    try:
        raise KeyError(f"{exam['accession']} of {patient}")
    except KeyError as error:
        log.error("%s wrote to %s about %s", patient, EMAIL, given)
        log.error(f"{patient} {QUESTION}")
        raise ValueError(f"{QUESTION} of {patient}, {EMAIL}, {given}") from error


@pytest.fixture
def failing_page(client: Client, db: None, told: None) -> str:
    """The number on the page of an error that everything planted led to."""
    client.raise_request_exception = False
    client.cookies["planted_cookie"] = NAME
    with mock.patch("annotation.views.people.invitations.find_invitation", fail_over):
        answer = client.post(
            f"/invitation/{LINK}/?patient={NAME}",
            {"name": NAME, "email": EMAIL, "password": TOKEN, "question": QUESTION},
            headers={"authorization": f"Bearer {TOKEN}", "referer": f"http://testserver/invitation/{LINK}/"}
            | {"user-agent": f"Planted/1 {NAME}", "x-request-id": "planted-number-of-nobody", "x-planted": ACCESSION},
        )
    assert answer.status_code == 500
    number = re.search(r"this number: (\w+)", answer.content.decode())
    assert number is not None
    return number[1]


def job_of(handler: Any, monkeypatch: pytest.MonkeyPatch, *, asked_by: str = "") -> Job:
    """One that a worker has run, with planted words in its title and its parameters."""
    monkeypatch.setattr(running, "send", lambda _job: None)
    monkeypatch.setattr(running, "handler_for", lambda kind: JobHandler(REHEARSAL, handler))
    monkeypatch.setattr(running, "current_task", mock.Mock(request=mock.Mock(asked_by=asked_by)))
    job = queueing.enqueue(REHEARSAL, f"Import of {NAME}", RehearsalParams(steps=1), actor=None, at=NOON)
    Job.objects.update(params={"planted": NAME})
    running.run_job(job.public_id)
    return job


def is_told(word: bytes, receiver: TelemetryReceiver) -> bool:
    assert receiver.sent
    return any(word in one.lower() for one in receiver.sent)


def test_nobody_is_told_by_default() -> None:
    assert (shipped.SENTRY_DSN, shipped.OTEL_ENDPOINT) == ("", "")
    assert list(shipped.LOGGING["handlers"]) == ["console"]
    assert shipped.LOGGING["root"]["handlers"] == ["console"]


def test_an_error_of_a_page_is_told_by_type_place_and_route(failing_page: str, receiver: TelemetryReceiver) -> None:
    receiver.wait_for(lambda: len(receiver.events) == 3)
    for one in receiver.events:
        assert set(one) <= set(telemetry.TOLD)
        assert one["tags"] == {"request": failing_page, "route": "invitation"}
        assert one["level"] == "error"
    filled, written, raised = receiver.events
    assert filled["logentry"] == {"message": "%s wrote to %s about %s"}
    assert written["logentry"] == {"message": "an error of annotation.people.tests"}
    assert [(one["type"], one["module"]) for one in raised["exception"]["values"]] == [
        ("KeyError", "builtins"),
        ("ValueError", "builtins"),
    ]
    for one in raised["exception"]["values"]:
        assert set(one) == {"type", "module", "stacktrace"}
        told = {name for frame in one["stacktrace"]["frames"] for name in frame}
        assert told <= {"module", "function", "lineno", "in_app"}
    page, last = raised["exception"]["values"][1]["stacktrace"]["frames"][-2:]
    assert (page["module"], page["function"]) == ("annotation.views.people.invitations", "page_behind_link")
    assert page["in_app"]
    assert (last["module"], last["function"]) == (__name__, "fail_over")
    assert not is_told(b"planted", receiver)


def test_the_time_of_a_page_is_told_by_its_route(failing_page: str, receiver: TelemetryReceiver) -> None:
    span = receiver.span(request=failing_page)
    assert span.pop("took") > 0
    ids = {"trace_id": failing_page, "span_id": failing_page[16:], "parent_span_id": ""}
    told = {"request": failing_page, "route": "invitation", "http.request.method": "POST"}
    assert span == ids | told | {
        "name": "invitation",
        "span_kind": SERVER,
        "status": ERROR,
        "http.response.status_code": 500,
    }
    assert {tuple(sorted(one)) for one in receiver.resources} == {("service.name", "service.version")}
    assert not is_told(b"planted", receiver)


def test_an_address_that_leads_nowhere_and_a_method_of_nobody_are_told_without_them(
    client: Client, db: None, told: None, receiver: TelemetryReceiver
) -> None:
    assert client.generic("PLANTED", f"/planted/{NAME}/").status_code == 404
    span = receiver.span(name="no route")
    assert (span["http.request.method"], span["http.response.status_code"]) == ("_OTHER", 404)
    assert span["status"] == UNSET
    assert not is_told(b"planted", receiver)


def test_an_error_of_a_job_is_told_with_its_kind_and_the_request_that_asked_for_it(
    failing_page: str, receiver: TelemetryReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(progress: Progress, params: Any) -> Any:
        return fail_over(params)

    job = job_of(fail, monkeypatch, asked_by=failing_page)
    tags = {"request": failing_page, "job": job.public_id, "kind": "rehearsal"}
    receiver.wait_for(lambda: len([one for one in receiver.events if one["tags"] == tags]) == 3)
    event = [one for one in receiver.events if one["tags"] == tags][-1]
    assert event["logentry"] == {"message": "job %s of kind %s failed: %s"}
    assert [one["type"] for one in event["exception"]["values"]] == ["KeyError", "ValueError"]
    span = receiver.span(job=job.public_id)
    assert (span["name"], span["span_kind"], span["state"], span["status"]) == ("rehearsal", CONSUMER, "failed", ERROR)
    assert (span["trace_id"], span["parent_span_id"]) == (failing_page, failing_page[16:])
    assert span["span_id"] != span["parent_span_id"]
    assert not is_told(b"planted", receiver)


def test_a_number_of_a_proxy_makes_a_trace_as_well(
    receiver: TelemetryReceiver, db: None, told: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    about.set({"request": "the-proxys-own", "route": "home"})
    telemetry.tell_request(time.time_ns(), method="GET", status=200)
    job_of(lambda _progress, _params: {}, monkeypatch, asked_by="the-proxys-own")
    asked, run = receiver.span(name="home"), receiver.span(name="rehearsal")
    assert (run["trace_id"], run["parent_span_id"]) == (asked["trace_id"], asked["span_id"])
    assert (run["state"], run["status"]) == ("succeeded", UNSET)


def test_a_refusal_of_a_job_is_no_error(
    receiver: TelemetryReceiver, db: None, told: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(progress: Progress, params: Any) -> Any:
        raise JobRefused("planted", f"{NAME} has no exam")

    job = job_of(refuse, monkeypatch)
    span = receiver.span(job=job.public_id)
    assert (span["state"], span["parent_span_id"]) == ("failed", "")
    log.error("the last")
    receiver.wait_for(lambda: receiver.events)
    assert [one["logentry"]["message"] for one in receiver.events] == ["the last"]
    assert not is_told(b"planted", receiver)


@pytest.mark.parametrize("library", ["sentry_sdk", "opentelemetry"])
def test_what_is_not_installed_is_off_and_said(
    library: str, receiver: TelemetryReceiver, client: Client, db: None, told: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert extras_off() == {}
    for name in [name for name in sys.modules if name.partition(".")[0] == library] + [library]:
        monkeypatch.setitem(sys.modules, name, None)
    forget_clients()
    assert client.get("/login/").status_code == 200
    with mock.patch.object(sys, "stderr", io.StringIO()) as printed:
        log.error("of nobody")
    assert "Traceback" not in printed.getvalue()
    setting = {"sentry_sdk": "sentry_dsn", "opentelemetry": "otel_endpoint"}[library]
    assert extras_off() == {
        setting: f"off: {library} is not installed; “make setup EXTRAS=telemetry” installs it",
    }


@pytest.mark.parametrize("is_silent", [True, False])
def test_nobody_waits_for_receivers_that_are_away(
    is_silent: bool, client: Client, db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They refuse, or say nothing; what does not fit the queue is dropped."""
    monkeypatch.setattr(telemetry, "SECONDS_TO_SEND", 0.1)
    monkeypatch.setattr(telemetry, "MOST_SPANS", 10)
    monkeypatch.setattr(telemetry, "SPANS_AT_ONCE", 10)
    with socket.create_server(("127.0.0.1", 0)) as silent, telling():
        port = silent.getsockname()[1] if is_silent else free_port()
        settings.SENTRY_DSN, settings.OTEL_ENDPOINT = f"http://the-key@127.0.0.1:{port}/1", f"http://127.0.0.1:{port}"
        for _ in range(30):
            log.error("of nobody")
            assert client.get("/login/").status_code == 200


def test_a_setting_of_the_library_that_makes_no_sense_keeps_nobody_from_a_page(
    client: Client, db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "0")
    settings.OTEL_ENDPOINT = "http://127.0.0.1:9"
    with telling():
        assert client.get("/login/").status_code == 200
        assert client.get("/login/").status_code == 200
    assert caplog.text.count("no times are told to OpenTelemetry") == 1
