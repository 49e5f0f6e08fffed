from __future__ import annotations

from django.conf import settings
from django.db import models

from annotation.models.fields import PublicIdField


class ModelComparison(models.Model):
    """The models on one bank, compared. Never changed: another input makes another row; the newest one is shown.

    Whether it is stale: ``inputs_sha256`` is not what readerstudy.comparison.loading.inputs_now says.
    """

    public_id = PublicIdField()
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="+")
    inputs_sha256 = models.CharField(max_length=64)  # of the named runs and the published imports of the bank
    result = models.TextField()  # canonical JSON; the same inputs give the same bytes
    result_sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")
        constraints = (models.UniqueConstraint(fields=["bank", "result_sha256"], name="comparison_once"),)

    def __str__(self) -> str:
        return f"comparison {self.public_id}"
