"""What is sent to other programs, and what they answered."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.fields import PublicIdField

LONGEST_WEBHOOK = 40  # characters of a name in REXVQA_WEBHOOKS
LONGEST_ANSWER = 300


class WebhookCursor(models.Model):
    """Up to which audit event a webhook was notified. One that is new begins at the present."""

    webhook = models.CharField(max_length=LONGEST_WEBHOOK, unique=True)
    event_id = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.webhook} up to {self.event_id}"


class WebhookDelivery(models.Model):
    """One message for one webhook: what it says never changes, what came of it does."""

    public_id = PublicIdField()  # the id of the message, the same at each attempt
    webhook = models.CharField(_("webhook"), max_length=LONGEST_WEBHOOK)
    event = models.CharField(_("event"), max_length=40)
    body = models.TextField()  # JSON, as it is signed and sent
    attempts = models.PositiveSmallIntegerField(default=0)
    made_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True)  # null: taken, or given up
    is_taken = models.BooleanField(default=False)
    sent_at = models.DateTimeField(null=True, blank=True)  # the last attempt
    status = models.PositiveSmallIntegerField(null=True, blank=True)  # of the last answer
    answer = models.CharField(max_length=LONGEST_ANSWER, blank=True)  # its beginning, or why there was none

    class Meta:
        ordering = ("-made_at", "-pk")
        indexes = (models.Index(fields=["next_at"], name="delivery_due"),)

    def __str__(self) -> str:
        return f"{self.event} for {self.webhook}"
