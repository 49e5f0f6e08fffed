"""Two versions of a prompt that are compared: what was planned, and the runs and the sample that it led to."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from annotation.models.fields import PublicIdField


class PromptTrial(models.Model):
    """Both runs make questions of the same reports. Whatever is planned is fixed before anything is sent."""

    public_id = PublicIdField()
    first_run = models.OneToOneField("annotation.GenerationRun", on_delete=models.PROTECT, related_name="+")
    second_run = models.OneToOneField("annotation.GenerationRun", on_delete=models.PROTECT, related_name="+")
    issue_rate = models.FloatField()  # assumed of the first version: share of its questions with any flag
    difference = models.FloatField()  # of the rates, first minus second, that is to be found
    power = models.FloatField()
    correlation = models.FloatField()  # assumed, of the differences of pairs that share an exam
    n_planned = models.PositiveIntegerField()  # pairs: so many questions of each version
    sample = models.OneToOneField(
        "annotation.SamplingPlan", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )  # of both versions, mixed; null: not drawn yet. The round that was made from it and opened first counts.
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: on the command line
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"trial {self.public_id}"
