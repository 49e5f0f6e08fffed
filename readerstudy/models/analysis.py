from __future__ import annotations

from datetime import datetime

from django.conf import settings as site
from django.db import models

from annotation.models.fields import PublicIdField
from readerstudy.models.design import ReaderStudy


class Analysis(models.Model):
    """One computed analysis of a study. Never changed: another input or another setting makes another row.

    Whether it is stale is asked of readerstudy.analysis.storing, which compares ``inputs_sha256`` with what is
    in the tables now.
    """

    public_id = PublicIdField()
    study = models.ForeignKey(ReaderStudy, on_delete=models.PROTECT, related_name="analyses")
    inputs_sha256 = models.CharField(max_length=64)  # of answers, keys, voidings, raters and protocol
    seed = models.BigIntegerField()  # of the bootstrap
    settings = models.JSONField()  # readerstudy.analysis.kernels.scoring.Settings
    software = models.JSONField()  # versions of the program and of its numeric libraries
    result = models.TextField()  # canonical JSON, see docs/analysis.md; the same inputs give the same bytes
    result_sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        site.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: on the command line, or when the study closed by itself
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")
        verbose_name_plural = "analyses"
        constraints = (models.UniqueConstraint(fields=["study", "result_sha256"], name="analysis_once"),)

    def __str__(self) -> str:
        return f"analysis {self.public_id}"


class InputsMark(models.Model):
    """What the inputs of a study hashed to when its tables stood at this mark: spares reading them all again.

    Made from the tables and never an input of anything: a row that is deleted is made again.
    """

    study = models.OneToOneField(ReaderStudy, on_delete=models.CASCADE, related_name="+")
    mark_sha256 = models.CharField(max_length=64)  # readerstudy.analysis.marking
    inputs_sha256 = models.CharField(max_length=64)  # readerstudy.analysis.kernels.arrays.StudyArrays.sha256

    def __str__(self) -> str:
        return f"mark of the inputs of study {self.study_id}"


class ModelComparison(models.Model):
    """The models on one bank, compared. Never changed: another input makes another row; the newest one is shown.

    Whether it is stale: ``inputs_sha256`` is not what readerstudy.comparison.comparing_models.inputs_now says.
    """

    public_id = PublicIdField()
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="+")
    inputs_sha256 = models.CharField(max_length=64)  # of the named runs and the published imports of the bank
    result = models.TextField()  # canonical JSON; the same inputs give the same bytes
    result_sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        site.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")
        constraints = (models.UniqueConstraint(fields=["bank", "result_sha256"], name="comparison_once"),)

    def __str__(self) -> str:
        return f"comparison {self.public_id}"


class AnalysisReport(models.Model):
    """The report of one analysis as a ZIP file (readerstudy.exports.report_writing), which can be made again any time.

    The same analysis gives the same bytes and then no second row; another version of the program, or other words about
    a model, may make another file.
    """

    public_id = PublicIdField()  # also names the file
    analysis = models.ForeignKey(Analysis, on_delete=models.CASCADE, related_name="reports")
    sha256 = models.CharField(max_length=64)
    n_bytes = models.PositiveBigIntegerField()
    contents = models.JSONField()  # [[name, bytes, SHA-256, what it is]], by name
    made_by = models.ForeignKey(
        site.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: on the command line
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("-made_at", "-pk")
        constraints = (models.UniqueConstraint(fields=["analysis", "sha256"], name="report_once"),)

    def __str__(self) -> str:
        return f"report {self.public_id}"


class ResultsLink(models.Model):
    """A link by which anybody sees the results of one analysis until it expires. Only the hash of its token is kept."""

    analysis = models.ForeignKey(Analysis, on_delete=models.PROTECT, related_name="links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=200, blank=True)  # for whom it is; seen by coordinators only
    created_by = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
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
