"""Models that this site runs itself over the questions of a bank or a study."""

from __future__ import annotations

from django.db import models

from readerstudy.models.design import ReaderStudy
from readerstudy.models.predictions import ModelEntry, PredictionRun


class ModelRun(models.Model):
    """The calls by which a model answers a bank or a study. Once complete, each repeat is published as a PredictionRun.

    State, cap, prompt, endpoint and permission are those of its batch.
    """

    batch = models.OneToOneField(
        "annotation.CallBatch", on_delete=models.PROTECT, primary_key=True, related_name="model_run"
    )
    entry = models.ForeignKey(ModelEntry, on_delete=models.PROTECT, related_name="model_runs")
    study = models.ForeignKey(
        ReaderStudy, on_delete=models.PROTECT, null=True, blank=True, related_name="model_runs"
    )  # null: of the whole bank
    # how many questions have how many images; from the start on also the estimate as it stood then
    estimate = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ("-batch",)

    def __str__(self) -> str:
        return f"model run {self.batch_id}"


class PublishedRepeat(models.Model):
    """Which PredictionRun holds the answers of which repeat of a model run."""

    model_run = models.ForeignKey(ModelRun, on_delete=models.PROTECT, related_name="published", db_index=False)
    repeat = models.PositiveSmallIntegerField()
    run = models.OneToOneField(PredictionRun, on_delete=models.PROTECT, related_name="made_by")

    class Meta:
        ordering = ("model_run", "repeat")
        constraints = (models.UniqueConstraint(fields=["model_run", "repeat"], name="repeat_published_once"),)

    def __str__(self) -> str:
        return f"repeat {self.repeat} of model run {self.model_run_id}"
