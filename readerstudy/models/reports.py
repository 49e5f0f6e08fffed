from __future__ import annotations

from django.conf import settings
from django.db import models

from annotation.models.fields import PublicIdField
from readerstudy.models.analysis import Analysis


class AnalysisReport(models.Model):
    """The report of one analysis as a ZIP file; see readerstudy.report. The file can be made again at any time.

    The same analysis gives the same bytes and then no second row; another version of the program, or other words about
    a model, may make another file.
    """

    public_id = PublicIdField()  # also names the file
    analysis = models.ForeignKey(Analysis, on_delete=models.CASCADE, related_name="reports")
    sha256 = models.CharField(max_length=64)
    n_bytes = models.PositiveBigIntegerField()
    contents = models.JSONField()  # [[name, bytes, SHA-256, what it is]], by name
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: on the command line
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("-made_at", "-pk")
        constraints = (models.UniqueConstraint(fields=["analysis", "sha256"], name="report_once"),)

    def __str__(self) -> str:
        return f"report {self.public_id}"
