""""""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.enums import OptionLetter
from annotation.models.fields import ComposedLine, ComposedText, PublicIdField, WordField, a_person_or_none
from readerstudy.enums import EntryState, PredictionForm, PredictionState
from readerstudy.models.design import ReaderStudy


class ModelEntry(models.Model):
    """A named version of a model: what it was asked, and how it answered. Its history is in the audit log."""

    public_id = PublicIdField()
    name = ComposedLine(_("name"), max_length=200)
    version = models.CharField(_("version"), max_length=100, blank=True)
    dated_on = models.DateField(_("date of the version"), null=True, blank=True)
    prompt = models.TextField(_("prompt"), blank=True)
    decoding = models.TextField(_("decoding settings"), blank=True)
    link = models.URLField(_("link"), max_length=500, blank=True)
    state = WordField(EntryState, max_length=10, default=EntryState.LISTED)
    replaced_by = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="replaces")
    withdrawn_because = ComposedText(blank=True)
    renamed_at = models.DateTimeField(null=True, blank=True)  # the last time that its name or version was changed
    submitter = a_person_or_none()  # null: entered on the command line
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("name", "version", "pk")
        verbose_name_plural = "model entries"
        constraints = (
            models.UniqueConstraint(fields=["name", "version"], condition=Q(state="listed"), name="model_entry_once"),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


class PredictionRunQuerySet(models.QuerySet["PredictionRun"]):
    def live_on(self, study: ReaderStudy) -> PredictionRunQuerySet:
        """Every run of a listed model on this study that is not withdrawn, by the name of the model."""
        live = self.filter(study=study, withdrawn_at__isnull=True, entry__state=EntryState.LISTED)
        return live.select_related("entry").order_by("entry__name", "entry__version", "pk")

    def for_analysis(self, study: ReaderStudy) -> PredictionRunQuerySet:
        """These, and what stood for its model when somebody first saw a result, with the further runs of such models
        that were there then: taking one out is a choice, too."""
        live = Q(withdrawn_at__isnull=True, entry__state=EntryState.LISTED)
        if study.unblinded_at is not None:
            planned = PredictionRun.objects.filter(study=study, was_planned=True)
            was_there = Q(withdrawn_at__isnull=True) | Q(withdrawn_at__gt=study.unblinded_at)
            live |= was_there & Q(imported_at__lte=study.unblinded_at, entry__in=planned.values("entry"))
        found = self.filter(live | Q(was_planned=True), study=study).select_related("entry__replaced_by", "study")
        return found.order_by("entry__name", "entry__version", "pk")


class PredictionRun(models.Model):
    """One file of predictions of one model for a study or a bank. Never changed; a new file is a new run.

    Of several runs one is the main run, chosen beforehand, which tables and figures use; the others show repeatability.
    """

    public_id = PublicIdField()
    entry = models.ForeignKey(ModelEntry, on_delete=models.PROTECT, related_name="runs")
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="+")
    study = models.ForeignKey(
        ReaderStudy, on_delete=models.PROTECT, null=True, blank=True, related_name="prediction_runs"
    )  # null: of the whole bank
    number = models.PositiveSmallIntegerField()  # 1, 2, 3 of this model on this study or bank
    file_name = models.CharField(max_length=200)
    file_sha256 = models.CharField(max_length=64)
    form = WordField(PredictionForm, max_length=10)
    rule = models.CharField(max_length=20)  # of extraction, with its version
    duplicates = models.CharField(max_length=5, blank=True)  # which of several answers counts: "first", "last"
    n_read = models.PositiveIntegerField()
    n_matched = models.PositiveIntegerField()
    n_failed = models.PositiveIntegerField()
    n_missing = models.PositiveIntegerField()
    n_duplicate = models.PositiveIntegerField()
    n_unknown = models.PositiveIntegerField()
    report = models.JSONField(default=dict, blank=True)  # repeated and unknown ids of the file, the first of each
    is_named = models.BooleanField(default=False)  # the main run
    named_at = models.DateTimeField(null=True, blank=True)
    named_before_unblinding = models.BooleanField(default=False)  # otherwise the choice is post hoc
    was_planned = models.BooleanField(default=False)  # stood for its model when somebody first saw a result
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_because = ComposedText(blank=True)
    imported_by = a_person_or_none()  # null: on the command line
    imported_at = models.DateTimeField()

    objects = PredictionRunQuerySet.as_manager()

    class Meta:
        ordering = ("entry", "study", "bank", "number")
        constraints = (
            models.UniqueConstraint(
                fields=["entry", "study", "number"], condition=Q(study__isnull=False), name="run_number_on_study"
            ),
            models.UniqueConstraint(
                fields=["entry", "bank", "number"], condition=Q(study__isnull=True), name="run_number_on_bank"
            ),
            models.UniqueConstraint(
                fields=["entry", "study"],
                condition=Q(is_named=True, study__isnull=False),
                name="one_named_run_on_study",
            ),
            models.UniqueConstraint(
                fields=["entry", "bank"], condition=Q(is_named=True, study__isnull=True), name="one_named_run_on_bank"
            ),
            models.CheckConstraint(
                condition=Q(is_named=False) | Q(withdrawn_at__isnull=True), name="withdrawn_run_not_named"
            ),
        )

    def __str__(self) -> str:
        return f"run {self.number} of model entry {self.entry_id}"


class Prediction(models.Model):
    """The answer of one run to one question, in the wording that stood when it was imported. Never changed."""

    run = models.ForeignKey(PredictionRun, on_delete=models.CASCADE, related_name="predictions", db_index=False)
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+")
    state = WordField(PredictionState, max_length=8)
    option = WordField(OptionLetter, max_length=1, blank=True)  # canonical, whatever order the file had
    raw = models.TextField(blank=True)  # the answer as it is in the file
    explanation = models.TextField(blank=True)  # of the model, never that of the bank
    row = models.PositiveIntegerField()  # of the file
    confidence = models.FloatField(null=True, blank=True)  # stated chance of being right, percent; null: not stated

    class Meta:
        ordering = ("run", "revision")
        constraints = (
            models.UniqueConstraint(fields=["run", "revision"], name="prediction_once"),
            models.CheckConstraint(
                condition=Q(state="answered") & ~Q(option="") | Q(state="failed", option=""),
                name="prediction_has_option_or_failed",
            ),
            models.CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__gte=0, confidence__lte=100),
                name="prediction_confidence_in_percent",
            ),
        )

    def __str__(self) -> str:
        return f"prediction of run {self.run_id} for revision {self.revision_id}"


class SubmissionCall(models.Model):
    """A bank for which model submitters may send predictions."""

    bank = models.OneToOneField("annotation.QuestionBank", on_delete=models.CASCADE, related_name="+")
    opened_by = a_person_or_none()
    opened_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"submissions for bank {self.bank_id}"


class FailureCounts(models.Model):
    """Which results the counts of a bank were made from. Made anew by readerstudy.predictions.failed_questions."""

    bank = models.OneToOneField("annotation.QuestionBank", on_delete=models.CASCADE, related_name="+")
    inputs_sha256 = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"failures in bank {self.bank_id}"


class FailureCount(models.Model):
    """How many models answered a question in this wording, and how many of them never gave the key."""

    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.CASCADE, related_name="+", db_index=False)
    revision = models.OneToOneField("annotation.Revision", on_delete=models.CASCADE, related_name="+")
    n_models = models.PositiveSmallIntegerField()
    n_failed = models.PositiveSmallIntegerField()
    percent = models.PositiveSmallIntegerField()  # failed, rounded down

    class Meta:
        indexes = (
            models.Index(fields=["bank", "n_failed"], name="failure_by_number"),
            models.Index(fields=["bank", "percent"], name="failure_by_share"),
        )

    def __str__(self) -> str:
        return f"failures at revision {self.revision_id}"


# --- Models that this site runs itself over the questions of a bank or a study --------------------
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
