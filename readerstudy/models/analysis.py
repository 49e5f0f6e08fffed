from __future__ import annotations

from django.conf import settings as site
from django.db import models

from annotation.models.fields import PublicIdField
from readerstudy.models.design import ReaderStudy


class Analysis(models.Model):
    """One computed analysis of a study. Never changed: another input or another setting makes another row.

    Whether it is stale is asked of readerstudy.analysis.storing, which compares ``inputs_sha256`` with what stands
    in the tables now.
    """

    public_id = PublicIdField()
    study = models.ForeignKey(ReaderStudy, on_delete=models.PROTECT, related_name="analyses")
    inputs_sha256 = models.CharField(max_length=64)  # of answers, keys, voidings, raters and protocol
    seed = models.BigIntegerField()  # of the bootstrap
    settings = models.JSONField()  # readerstudy.analysis.kernels.settings.Settings
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
