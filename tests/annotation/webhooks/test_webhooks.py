"""Webhooks follow the audit log, are signed, and are sent again until they are taken, over a real socket."""

from __future__ import annotations

import base64
import hmac
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from annotation.audit.recording import record
from annotation.endpoints.kernels.endpoint_list import EVENTS, Webhook, secret_bytes, signature, webhooks_from
from annotation.models import Job, User, WebhookDelivery
from annotation.people import deliveries
from annotation.people.deliveries import PAUSES, WebhookRefused, attempt, follow_log, send_again, send_due, send_test
from tests.conftest import NOON
from tests.dripping_server import dripping_server
from tests.refusals import refuses

SECRET = "whsec_" + base64.b64encode(b"planted-secret-of-32-bytes-length").decode()


class Receiver:
    """A program that is told: what it got, and what it answers next."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers.items()), body))
                status, headers, answer = receiver.answers.pop(0) if receiver.answers else (204, {}, b"")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    found = Receiver()
    settings.WEBHOOKS = (Webhook("lab", found.url, ("study.closed", "import.done")),)
    monkeypatch.setenv("REXVQA_WEBHOOK_KEY_LAB", SECRET)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # is not asked
    yield found
    found.server.shutdown()
    found.server.server_close()


class Silent:
    def report(self, done: int, total: int, message: str = "") -> None:
        assert done <= total


@transaction.atomic
def log(act: str, person: User) -> None:
    record(act, actor=person, at=NOON, subject=person)


def test_a_new_webhook_is_told_of_what_comes_and_of_its_events_alone(ada: User, receiver: Receiver) -> None:
    log("study.closed", ada)
    follow_log(NOON)
    assert not WebhookDelivery.objects.exists()
    for act in ("study.closed", "round.completed", "bank.imported", "person.added"):
        log(act, ada)
    follow_log(NOON)
    follow_log(NOON)
    assert [one.event for one in WebhookDelivery.objects.order_by("pk")] == ["study.closed", "import.done"]
    assert Job.objects.filter(kind="send_webhooks").count() == 1


def test_a_message_is_signed_and_holds_ids_alone(ada: User, receiver: Receiver) -> None:
    follow_log(NOON)
    log("study.closed", ada)
    follow_log(NOON)
    assert send_due(Silent(), {}) == {"sent": 1, "failed": 0}
    assert send_due(Silent(), {}) == {"sent": 0, "failed": 0}
    ((headers, body),) = receiver.got
    told = json.loads(body)
    assert told["thing"] == {"type": "user", "id": str(ada.pk)}
    assert (told["event"], told["id"]) == ("study.closed", headers["webhook-id"])
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    right = base64.b64encode(hmac.new(b"planted-secret-of-32-bytes-length", signed, "sha256").digest()).decode()
    assert headers["webhook-signature"] == f"v1,{right}"
    delivery = WebhookDelivery.objects.get()
    assert (delivery.is_taken, delivery.status, delivery.next_at) == (True, 204, None)


@pytest.mark.parametrize("within", ["head", "body"])
def test_a_receiver_that_drips_is_left_when_its_time_is_over(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch, within: str
) -> None:
    monkeypatch.setenv("REXVQA_WEBHOOK_KEY_LAB", SECRET)
    monkeypatch.setattr(deliveries, "SECONDS", 0.3)
    with dripping_server(within) as server:
        settings.WEBHOOKS = (Webhook("lab", f"{server.url}/hook", ("study.closed",)),)
        delivery = send_test(settings.WEBHOOKS[0], actor=ada, at=NOON)
        assert not attempt(delivery, at=NOON)
        assert server.was_left.wait(10), "one deadline for the whole exchange: a byte now and then may not extend it"
    assert delivery.answer.startswith("no answer")


def test_what_is_not_taken_is_sent_again_and_given_up_in_the_end(ada: User, receiver: Receiver) -> None:
    receiver.answers = [(500, {}, b"not \x00now\n"), (307, {"Location": receiver.url}, b""), *[(503, {}, b"")] * 9]
    delivery = send_test(webhooks_from(f"lab={receiver.url}")[0], actor=ada, at=NOON)
    at, waited = NOON, []
    while delivery.next_at is not None:
        at = delivery.next_at
        assert not attempt(delivery, at=at)
        waited.append(delivery.next_at - at if delivery.next_at else None)
        if delivery.attempts == 1:
            assert (delivery.status, delivery.answer) == (500, "not  now")
    assert waited == [*PAUSES, None]
    assert len(receiver.got) == len(PAUSES) + 1  # a redirect is not followed
    assert len({headers["webhook-id"] for headers, _body in receiver.got}) == 1
    send_again(delivery, actor=ada, at=at)
    delivery.refresh_from_db()
    receiver.answers = []
    assert attempt(delivery, at=at + timedelta(days=1))


def test_nobody_answers(ada: User, receiver: Receiver, settings: Settings) -> None:
    receiver.server.shutdown()
    receiver.server.server_close()
    delivery = send_test(settings.WEBHOOKS[0], actor=ada, at=NOON)
    assert not attempt(delivery, at=NOON)
    assert delivery.answer == "no answer: ConnectionError"
    assert receiver.url not in delivery.answer


def test_nothing_is_sent_unsigned(ada: User, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    follow_log(NOON)
    log("study.closed", ada)
    follow_log(NOON)
    monkeypatch.delenv("REXVQA_WEBHOOK_KEY_LAB")
    send_due(Silent(), {})
    assert receiver.got == []
    assert "nothing is sent unsigned" in WebhookDelivery.objects.get().answer
    with refuses(WebhookRefused, "no_secret"):
        send_test(webhooks_from(f"lab={receiver.url}")[0], actor=ada, at=NOON)


def test_a_list_that_is_wrong_is_refused_without_its_address() -> None:
    wrong = [
        ("lab", "entry 1"),
        ("Lab=https://a.example", "entry 1"),
        ("lab=ftp://a.example", "is not an address"),
        ("lab=https://me:geheim@a.example", "holds a user"),
        ("lab=https://a.example, lab=https://b.example", "twice"),
        ("lab=https://a.example events=study.opened", "only events="),
        ("lab=https://a.example event=study.closed", "only events="),
    ]
    for text, problem in wrong:
        with pytest.raises(ValueError, match=problem) as refused:
            webhooks_from(text)
        assert "example" not in str(refused.value)


def test_a_list_says_who_is_told_of_what() -> None:
    first, second = webhooks_from("a=https://a.example/x events=study.closed+analysis.stored,b=http://127.0.0.1:1/")
    assert first.acts == {"study.closed", "study.analysed"}
    assert second.events == tuple(EVENTS.values())


def test_a_secret_is_base64_behind_its_prefix_or_text() -> None:
    assert secret_bytes(SECRET) == b"planted-secret-of-32-bytes-length"
    assert secret_bytes("plain") == b"plain"
    with pytest.raises(ValueError, match="base64"):
        secret_bytes("whsec_?")
    first, second = (signature(b"a", message="m", timestamp=n, body=b"{}") for n in (1, 2))
    assert first != second


@pytest.mark.logs("webhook.tested", "webhook.sent_again")
def test_the_page_lists_webhooks_and_answers(
    client: Client, ada: User, receiver: Receiver, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(ada)
    assert client.post("/site/webhooks/lab/test/").status_code == 302
    assert client.post("/site/webhooks/other/test/").status_code == 404
    receiver.answers = [(500, {}, b"<b>broken</b>")]
    send_due(Silent(), {})
    with django_assert_max_num_queries(8):
        page = client.get("/site/webhooks/").content.decode()
    assert "&lt;b&gt;broken&lt;/b&gt;" in page
    assert SECRET not in page
    WebhookDelivery.objects.update(next_at=None)
    delivery = WebhookDelivery.objects.get()
    assert client.post(f"/site/webhooks/messages/{delivery.public_id}/again/").status_code == 302
    send_due(Silent(), {})
    assert "taken" in client.get("/site/webhooks/").content.decode()
