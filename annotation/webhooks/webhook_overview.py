"""What the page of webhooks shows."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet

from annotation.models import WebhookDelivery
from annotation.refusals import Refused
from annotation.webhooks.deliveries import secret_of
from annotation.webhooks.kernels.webhook_list import Webhook


@dataclass(frozen=True, slots=True)
class WebhookLine:
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
