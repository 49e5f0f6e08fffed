from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models

from readerstudy.models.analysis import Analysis


class ResultsLink(models.Model):
    """A link by which anybody sees the results of one analysis until it expires. Only the hash of its token is kept."""

    analysis = models.ForeignKey(Analysis, on_delete=models.PROTECT, related_name="links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=200, blank=True)  # for whom it is; seen by coordinators only
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to the minute

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"link {self.pk} to results"

    def is_open(self, at: datetime) -> bool:
        return self.revoked_at is None and at < self.expires_at
