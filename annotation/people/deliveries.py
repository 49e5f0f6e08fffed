"""Telling other programs what happened here: each webhook of the settings follows the audit log.

A message carries ids and no content. It is made once, sent by a job, and sent again with growing pauses until it is
taken. No address comes from a page, a row or a client.
"""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import requests
from django.conf import settings
from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.endpoints.client import BoundedSession, printable
from annotation.endpoints.configured_endpoints import private_text
from annotation.endpoints.kernels.endpoint_list import EVENTS, TEST, Webhook, secret_bytes, signature
from annotation.enums import JobQueue
from annotation.jobs.queueing import JobKind, NoParams, Progress, Result, enqueue, job_under_way
from annotation.models import AuditEvent, User, WebhookCursor, WebhookDelivery
from annotation.models.fields import public_id
from annotation.models.people import LONGEST_ANSWER
from annotation.refusals import Refused

JOB_KIND: JobKind[NoParams] = JobKind("send_webhooks", JobQueue.MAIL)
KEY_FOLDER = "webhook_keys"  # of the home; not in a backup
PAUSES = tuple(timedelta(minutes=n) for n in (1, 5, 30, 120, 360, 720, 1440))  # before each further attempt
AT_ONCE = 100
SECONDS = 10  # for one attempt in all, however slowly an answer comes


class WebhookRefused(Refused):
    """A webhook cannot be used; the sentence says why and holds neither address nor secret."""


def webhook_named(name: str) -> Webhook:
    """Raises WebhookRefused for a name that is not in the settings."""
    for webhook in settings.WEBHOOKS:
        if webhook.name == name:
            found: Webhook = webhook
            return found
    sentence = _("There is no webhook of this name. Whoever runs the server names them in REXVQA_WEBHOOKS.")
    raise WebhookRefused("no_webhook", sentence, status=404)


def secret_of(webhook: Webhook) -> bytes:
    """Its secret: of the environment, else of its file in ``webhook_keys``. Raises Refused where there is none."""
    variable = f"REXVQA_WEBHOOK_KEY_{webhook.name.upper().replace('-', '_')}"
    text = os.environ.get(variable, "").strip() or private_text(Path(settings.HOME) / KEY_FOLDER / webhook.name)
    if not text:
        sentence = _("The secret of the webhook “%(name)s” is missing: nothing is sent unsigned.")
        raise WebhookRefused("no_secret", sentence % {"name": webhook.name})
    try:
        return secret_bytes(text)
    except ValueError:
        sentence = _("The secret of the webhook “%(name)s” is not base64 behind whsec_.")
        raise WebhookRefused("bad_secret", sentence % {"name": webhook.name}) from None


class WebhookLine(Struct, frozen=True):
    """A webhook of the settings; ``problem`` says why nothing can be sent to it."""

    webhook: Webhook
    problem: str


def webhook_lines() -> list[WebhookLine]:
    """In the order of the settings."""
    return [WebhookLine(webhook, _problem_of(webhook)) for webhook in settings.WEBHOOKS]


def deliveries() -> QuerySet[WebhookDelivery]:
    """All messages, the newest first; also those of webhooks that the settings no longer name."""
    return WebhookDelivery.objects.order_by("-made_at", "-pk")


def _problem_of(webhook: Webhook) -> str:
    try:
        secret_of(webhook)
    except Refused as refusal:
        return str(refusal)
    return ""


def follow_log(at: datetime) -> None:
    """The sweep: make the messages of what was logged since, and begin to send what is due."""
    for webhook in settings.WEBHOOKS:
        _follow(webhook, at)
    due = WebhookDelivery.objects.filter(next_at__lte=at)
    if settings.WEBHOOKS and due.exists():
        _begin(None, at)


@transaction.atomic
def _follow(webhook: Webhook, at: datetime) -> None:
    newest = AuditEvent.objects.aggregate(newest=Max("id"))["newest"] or 0
    cursor, is_new = WebhookCursor.objects.select_for_update().get_or_create(
        webhook=webhook.name, defaults={"event_id": newest}
    )
    if is_new or cursor.event_id >= newest:
        return
    events = AuditEvent.objects.filter(id__gt=cursor.event_id, id__lte=newest, act__in=webhook.acts).order_by("id")
    WebhookDelivery.objects.bulk_create(_message(webhook.name, event, at) for event in events.iterator())
    cursor.event_id = newest
    cursor.save(update_fields=["event_id"])


def _message(webhook: str, event: AuditEvent, at: datetime) -> WebhookDelivery:
    thing = {"type": event.subject_type, "id": event.subject_id}
    return _delivery(webhook, EVENTS[event.act], thing, happened=event.at, at=at)


def _delivery(webhook: str, event: str, thing: dict[str, str], *, happened: datetime, at: datetime) -> WebhookDelivery:
    name = public_id()
    body = {"id": name, "event": event, "at": happened.isoformat(), "thing": thing, "site": settings.PUBLIC_URL}
    return WebhookDelivery(public_id=name, webhook=webhook, event=event, body=json.dumps(body), made_at=at, next_at=at)


@transaction.atomic
def send_test(webhook: Webhook, *, actor: User, at: datetime) -> WebhookDelivery:
    """A message that says nothing, to see whether it arrives. Raises Refused where there is no secret."""
    secret_of(webhook)
    delivery = _delivery(webhook.name, TEST, {}, happened=at, at=at)
    delivery.save(force_insert=True)
    record("webhook.tested", actor=actor, at=at, subject=delivery, facts={"webhook": webhook.name})
    _begin(actor, at)
    return delivery


@transaction.atomic
def send_again(delivery: WebhookDelivery, *, actor: User, at: datetime) -> None:
    """What was given up, or taken, is sent once more with all its attempts."""
    WebhookDelivery.objects.filter(pk=delivery.pk).update(is_taken=False, attempts=0, next_at=at)
    record("webhook.sent_again", actor=actor, at=at, subject=delivery, facts={"webhook": delivery.webhook})
    _begin(actor, at)


def _begin(actor: User | None, at: datetime) -> None:
    if job_under_way(JOB_KIND) is None:
        enqueue(JOB_KIND, _("Webhooks"), NoParams(), actor=actor, at=at)


def send_due(progress: Progress, params: NoParams) -> Result:
    """The job: one attempt for each message that is due. A message may come twice; its id is the same."""
    due = WebhookDelivery.objects.filter(next_at__lte=timezone.now()).order_by("next_at")
    waiting = list(due[:AT_ONCE])
    counts = {"sent": 0, "failed": 0}
    for number, delivery in enumerate(waiting, start=1):
        counts["sent" if attempt(delivery, at=timezone.now()) else "failed"] += 1
        progress.report(number, len(waiting), _("telling other programs"))
    return counts


def attempt(delivery: WebhookDelivery, *, at: datetime) -> bool:
    """Send it once and keep what came of it; whether it was taken (a status from 200 to 299)."""
    status, answer = _post(delivery, at)
    delivery.is_taken = status is not None and 200 <= status < 300
    is_last = delivery.is_taken or delivery.attempts == len(PAUSES)
    delivery.next_at = None if is_last else at + PAUSES[delivery.attempts]
    delivery.attempts += 1
    delivery.sent_at, delivery.status, delivery.answer = at, status, answer[:LONGEST_ANSWER]
    delivery.save(update_fields=["attempts", "sent_at", "status", "answer", "is_taken", "next_at"])
    return delivery.is_taken


def _post(delivery: WebhookDelivery, at: datetime) -> tuple[int | None, str]:
    """The status and the beginning of the answer; without an answer, why."""
    body, timestamp = delivery.body.encode(), int(at.timestamp())
    try:
        webhook = webhook_named(delivery.webhook)
        signed = signature(secret_of(webhook), message=delivery.public_id, timestamp=timestamp, body=body)
    except Refused as refusal:
        return None, str(refusal)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "rexvqa-reading-room",
        "webhook-id": delivery.public_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signed,
    }
    try:
        with BoundedSession(SECONDS, most_bytes=LONGEST_ANSWER) as session:
            response = session.post(webhook.url, data=body, headers=headers)
        return response.status_code, printable(response.content)
    except requests.RequestException as error:
        return None, _("no answer: %(reason)s") % {"reason": type(error).__name__}
