from __future__ import annotations

from django.conf import settings
from django.db import models


class AuditEvent(models.Model):
    """Who did what to which thing, and when. Insert-only, held by triggers; each row carries the hash of the last."""

    at = models.DateTimeField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: the program or the command line
    act = models.CharField(max_length=60)  # "round.opened"
    subject_type = models.CharField(max_length=40, blank=True)
    subject_id = models.CharField(max_length=40, blank=True)
    facts = models.JSONField(default=dict)  # no tag value of an image, no answer key
    previous_sha256 = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ("id",)
        indexes = (models.Index(fields=["subject_type", "subject_id"], name="audit_subject"),)

    def __str__(self) -> str:
        return f"{self.act} at {self.at:%Y-%m-%d %H:%M:%S}"
