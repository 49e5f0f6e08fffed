"""A site that is served tells Sentry and OpenTelemetry of its requests and jobs, and nothing else starts otherwise."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import requests

from tests.processes import PATIENCE, ROOT, Server, migrated_site
from tests.telemetry_receiver import TelemetryReceiver, telemetry_receiver

pytestmark = pytest.mark.check

LINK, NAME = "planted-Link_0123456789", "Planted^Patient"
ENQUEUE = """
import django
django.setup()
from django.utils import timezone
from annotation.jobs.queueing import REHEARSAL
from annotation.jobs.queueing import enqueue
print(enqueue(REHEARSAL, "Planted", {"steps": "Planted^Patient"}, actor=None, at=timezone.now()).public_id)
"""


def failed_page(server: Server) -> str:
    """The number on the page of an error: the table of invitations is gone."""
    answer = requests.get(f"http://127.0.0.1:{server.port}/invitation/{LINK}/?patient={NAME}", timeout=30)
    assert answer.status_code == 500
    number = re.search(r"this number: (\w+)", answer.text)
    assert number is not None
    return number[1]


def ask_for_password_link(server: Server) -> None:
    """A page that asks for a job; its letters go nowhere, as nobody has this address."""
    address = f"http://127.0.0.1:{server.port}/password/forgotten/"
    with requests.Session() as browser:
        page = browser.get(address, timeout=30)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token is not None
        sent = {"email": "planted.reader@example.org", "csrfmiddlewaretoken": token[1]}
        assert browser.post(address, sent, headers={"Referer": address}, timeout=30).status_code == 200


def check_what_is_told(receiver: TelemetryReceiver, server: Server, env: dict[str, str]) -> None:
    number = failed_page(server)
    event = receiver.event(request=number)
    assert event["tags"] == {"request": number, "route": "invitation"}
    assert event["exception"]["values"][-1]["type"] == "OperationalError"
    assert receiver.span(request=number)["http.response.status_code"] == 500

    ask_for_password_link(server)
    job = receiver.span(span_kind=5, name="send_password_link", state="succeeded")
    asked = receiver.span(span_kind=2, request=job["request"])
    assert (asked["name"], asked["http.request.method"]) == ("password-reset", "POST")
    assert (job["trace_id"], job["parent_span_id"]) == (asked["trace_id"], asked["span_id"])

    command = [sys.executable, "-c", ENQUEUE]
    long_job = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    failed = receiver.event(job=long_job)
    assert failed["tags"] == {"job": long_job, "kind": "rehearsal"}
    assert failed["exception"]["values"][-1]["type"] == "ValueError"
    assert receiver.span(job=long_job)["state"] == "failed"
    assert not any(b"planted" in one.lower() for one in receiver.sent)


def test_a_site_tells_what_failed_in_the_web_server_and_in_both_workers(tmp_path: Path) -> None:
    with telemetry_receiver() as receiver, migrated_site(tmp_path / "home") as env:
        env |= {"REXVQA_SENTRY_DSN": receiver.dsn, "REXVQA_OTEL_ENDPOINT": receiver.url}
        env |= {
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "REXVQA_EMAIL_HOST": "127.0.0.1",
            "DJANGO_SETTINGS_MODULE": "rexvqa_site.settings",
        }
        server = Server(env)
        try:
            server.wait_until_greeted()
            with closing(sqlite3.connect(tmp_path / "home" / "db.sqlite3", timeout=PATIENCE)) as database:
                database.execute("ALTER TABLE annotation_invitation RENAME TO taken_away")
            check_what_is_told(receiver, server, env)
        finally:
            server.stop()
