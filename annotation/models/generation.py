"""Questions that a model writes from reports: the run, the reports that it was given, and what it found in them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import Polarity, ReportSource
from annotation.models.fields import PublicIdField, WordField


class GenerationRun(models.Model):
    """Two batches of calls, one after the other: findings of each report, then questions on these findings."""

    public_id = PublicIdField()
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="generation_runs")
    seed = models.BigIntegerField(_("seed"))  # of the exams that are drawn, and of the letters of the keys
    per_exam = models.PositiveSmallIntegerField(_("questions per exam"))
    source = WordField(ReportSource, max_length=8)
    file_name = models.CharField(max_length=200, blank=True)
    file_sha256 = models.CharField(max_length=64, blank=True)
    images_root = models.TextField(blank=True)  # where the image paths of the questions start
    bullets_batch = models.OneToOneField("annotation.CallBatch", on_delete=models.PROTECT, related_name="+")
    questions_prompt = models.ForeignKey("annotation.PromptVersion", on_delete=models.PROTECT, related_name="+")
    questions_batch = models.OneToOneField(
        "annotation.CallBatch", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: the findings are not there yet, or none could be used
    refused = models.JSONField(default=list)  # exams left out by the identifier check: {"exam", "rules"}
    not_made = models.JSONField(
        default=list
    )  # {"step", "report", "number", "rule"}; see generation/kernels/grounding.py
    n_made = models.PositiveIntegerField(default=0)
    bank_import = models.ForeignKey(
        "annotation.BankImport", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )  # which brought the questions; null: not made yet, or none
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: on the command line
    created_at = models.DateTimeField()
    bullets_taken_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"generation {self.public_id}"


class GenerationReport(models.Model):
    """One report of a run. Insert-only, enforced by triggers: requests are rebuilt from it. It gives answers away."""

    run = models.ForeignKey(GenerationRun, on_delete=models.PROTECT, related_name="+", db_index=False)
    number = models.PositiveIntegerField()  # 1, 2, 3 in its run, in which order they are asked about
    answer_key = models.ForeignKey(
        "annotation.AnswerKey", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )  # of a question of the bank, whose report and exam it is; null: the report came in a file
    record = models.TextField(blank=True)  # JSON: the fields of an exam as the file gave them; empty: see answer_key
    sha256 = models.CharField(max_length=64)  # of the text that is sent

    class Meta:
        ordering = ("run", "number")
        constraints = (models.UniqueConstraint(fields=["run", "number"], name="report_number_once"),)

    def __str__(self) -> str:
        return f"report {self.number} of generation {self.run_id}"


class Bullet(models.Model):
    """One finding as a model took it from a report, with its quote. Insert-only, enforced by triggers."""

    report = models.ForeignKey(GenerationReport, on_delete=models.PROTECT, related_name="+", db_index=False)
    number = models.PositiveSmallIntegerField()  # 1, 2, 3 of its report, as the model gave them
    call = models.ForeignKey("annotation.ModelCall", on_delete=models.PROTECT, related_name="+", db_index=False)
    quote = models.TextField()
    start = models.PositiveIntegerField(null=True)  # place of the quote in the text that was sent; null: not found
    end = models.PositiveIntegerField(null=True)
    statement = models.TextField()
    location = models.CharField(max_length=400, blank=True)
    polarity = WordField(Polarity, max_length=8)
    compares_with_prior = models.BooleanField()  # as the model says, or by its words
    fault = models.CharField(max_length=40, blank=True)  # code of a rule of grounding.py; empty: questions may use it

    class Meta:
        ordering = ("report", "number")
        constraints = (models.UniqueConstraint(fields=["report", "number"], name="bullet_number_once"),)

    def __str__(self) -> str:
        return f"bullet {self.number} of report {self.report_id}"
