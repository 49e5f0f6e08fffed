"""Calls of models: what was asked of which endpoint, with which pictures, and everything that came back."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import BatchState, CallOutcome, Ending, PromptPurpose, SentImages
from annotation.enums import OptionLetter
from annotation.models.endpoints import LONGEST_ENDPOINT, LONGEST_MODEL
from annotation.models.fields import PublicIdField, WordField


class ModelPicture(models.Model):
    """An image as a model gets it: made once by each policy, and kept in the storage under its hash."""

    image = models.ForeignKey("annotation.Image", on_delete=models.PROTECT, related_name="+", db_index=False)
    policy = models.CharField(max_length=32)  # of annotation/imaging/kernels/picture_policies.py, with its version
    sha256 = models.CharField(max_length=64, db_index=True)  # of the PNG
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    n_bytes = models.PositiveIntegerField()
    made_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["image", "policy"], name="picture_once"),)

    def __str__(self) -> str:
        return f"{self.policy} of image {self.image_id}"


class CallBatch(models.Model):
    """Calls of one model at one endpoint, with one prompt and under one permission; the plan of them never changes.

    What they are for is in the table of whoever made it, such as a ModelRun.
    """

    public_id = PublicIdField()
    purpose = WordField(PromptPurpose)
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="+")
    endpoint = models.CharField(max_length=LONGEST_ENDPOINT)
    model = models.CharField(max_length=LONGEST_MODEL)  # as the endpoint calls it
    prompt = models.ForeignKey("annotation.PromptVersion", on_delete=models.PROTECT, related_name="+")
    permission = models.ForeignKey("annotation.SendingPermission", on_delete=models.PROTECT, related_name="+")
    price = models.ForeignKey(
        "annotation.Price", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: the cost is not known
    chat_settings = models.JSONField(default=dict)  # fields of annotation.endpoints.kernels.model_requests.ChatSettings
    images = WordField(SentImages)
    picture_policy = models.CharField(max_length=32, blank=True)
    n_orders = models.PositiveSmallIntegerField(default=1)  # 4: each question in the four rotations of its options
    n_repeats = models.PositiveSmallIntegerField(default=1)
    seed = models.BigIntegerField(default=0)  # of the first questions that are asked, and of swapped images
    n_calls = models.PositiveIntegerField()
    n_first = models.PositiveIntegerField(default=0)  # so many are asked before the start, for the estimate
    cap = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)  # in the currency of the price
    state = WordField(BatchState, max_length=10, default=BatchState.PLANNED)
    paused_because = models.TextField(blank=True)  # a sentence; empty where a person paused it
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-pk")
        verbose_name_plural = "call batches"
        indexes = (models.Index(fields=["state"], name="batch_running", condition=Q(state__in=["trying", "running"])),)

    def __str__(self) -> str:
        return f"calls {self.public_id}"


class ModelCall(models.Model):
    """One question, or one exam, that a model is asked about in one order of the options, for one of several times."""

    batch = models.ForeignKey(CallBatch, on_delete=models.PROTECT, related_name="calls", db_index=False)
    number = models.PositiveIntegerField()  # 1, 2, 3 in its batch, in which order they are asked
    revision = models.ForeignKey(
        "annotation.Revision", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    exam = models.ForeignKey(
        "annotation.Exam", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )  # whose images are sent; null: none
    rotation = models.PositiveSmallIntegerField(default=0)  # so many options of the start are moved to the end
    repeat = models.PositiveSmallIntegerField(default=0)
    values = models.JSONField(null=True, blank=True)  # further variables of the prompt than those of the question
    pictures = models.JSONField(null=True, blank=True)  # hashes, in the order sent; null: not sent yet
    request_sha256 = models.CharField(max_length=64, blank=True)  # of the body; empty: not sent yet
    n_sent = models.PositiveSmallIntegerField(default=0)  # counted before it is sent
    n_attempts = models.PositiveSmallIntegerField(default=0)  # that are stored; fewer where the worker was killed
    outcome = WordField(CallOutcome, default=CallOutcome.NOT_ASKED)
    option = WordField(OptionLetter, max_length=1, blank=True)  # canonical, by the rule of extraction
    n_input = models.PositiveIntegerField(null=True, blank=True)  # tokens of all attempts
    n_cached = models.PositiveIntegerField(null=True, blank=True)
    n_output = models.PositiveIntegerField(null=True, blank=True)
    cost = models.DecimalField(max_digits=14, decimal_places=8, null=True, blank=True)  # of all attempts

    class Meta:
        ordering = ("batch", "number")
        constraints = (
            models.UniqueConstraint(fields=["batch", "number"], name="call_number_once"),
            models.UniqueConstraint(
                fields=["batch", "revision", "rotation", "repeat"],
                condition=Q(revision__isnull=False),
                name="call_once",
            ),
        )
        indexes = (
            models.Index(
                fields=["batch", "number"],
                name="call_not_asked",
                condition=Q(outcome=CallOutcome.NOT_ASKED.value),
            ),
            models.Index(
                fields=["batch", "outcome", "cost", "n_sent", "n_attempts", "n_input", "n_output"], name="call_tally"
            ),
        )

    def __str__(self) -> str:
        return f"call {self.number} of batch {self.batch_id}"


class CallAttempt(models.Model):
    """One request and all that came back. Insert-only, enforced by triggers."""

    call = models.ForeignKey(ModelCall, on_delete=models.PROTECT, related_name="attempts", db_index=False)
    number = models.PositiveSmallIntegerField()  # 1, 2, 3 of this call
    request_sha256 = models.CharField(max_length=64)
    started_at = models.DateTimeField(null=True)  # null: the answer came in a file
    seconds = models.FloatField(null=True)
    ending = WordField(Ending, max_length=20)
    status = models.PositiveSmallIntegerField(null=True)  # null: no answer began
    request_id = models.CharField(max_length=200, blank=True)  # as the endpoint calls it
    body = models.TextField(blank=True)  # as it came, without the key; empty where it was not whole
    problem = models.CharField(max_length=200, blank=True)  # name of the error of the connection
    model = models.CharField(max_length=LONGEST_MODEL, blank=True)  # as returned
    fingerprint = models.CharField(max_length=200, blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    n_input = models.PositiveIntegerField(null=True)
    n_cached = models.PositiveIntegerField(null=True)
    n_output = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    outcome = WordField(CallOutcome)
    rule = models.CharField(max_length=40)  # of refusal and of extraction, with their versions

    class Meta:
        ordering = ("call", "number")
        constraints = (models.UniqueConstraint(fields=["call", "number"], name="attempt_once"),)

    def __str__(self) -> str:
        return f"attempt {self.number} of call {self.call_id}"


class EndpointLease(models.Model):
    """Who asks an endpoint now: one worker at a time, so that its limits hold."""

    endpoint = models.CharField(max_length=LONGEST_ENDPOINT, unique=True)
    holder = models.CharField(max_length=40)
    expires_at = models.DateTimeField()

    class Meta:
        verbose_name = _("lease")

    def __str__(self) -> str:
        return f"lease of {self.endpoint}"
