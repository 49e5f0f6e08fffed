"""Models at work: endpoints and what may be sent to them, runs, calls, and questions that are made of reports."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import (
    BatchState,
    CallOutcome,
    Ending,
    PermissionState,
    Polarity,
    PromptPurpose,
    ReportSource,
    SentImages,
)
from annotation.enums import OptionLetter
from annotation.models.fields import ComposedLine, ComposedText, PublicIdField, WordField, a_person_or_none

LONGEST_ENDPOINT = 40  # characters of a name in REXVQA_MODEL_ENDPOINTS
LONGEST_MODEL = 200  # characters of what an endpoint calls a model


class EndpointProbe(models.Model):
    """What a model at an endpoint was seen to do when it was probed. A new probe is a new row."""

    public_id = PublicIdField()
    endpoint = models.CharField(max_length=LONGEST_ENDPOINT)
    model = models.CharField(max_length=LONGEST_MODEL)
    findings = models.JSONField(default=list)  # as annotation/model_calls/probing.py writes them
    probed_by = a_person_or_none()  # null: on the command line
    probed_at = models.DateTimeField()

    class Meta:
        ordering = ("-probed_at", "-pk")
        indexes = (models.Index(fields=["endpoint", "model", "probed_at"], name="probe_of_model"),)

    def __str__(self) -> str:
        return f"probe of {self.model} at {self.endpoint}"


class Price(models.Model):
    """What a model costs at an endpoint, from a day on. Never changed: a new price is a new row."""

    endpoint = models.CharField(max_length=LONGEST_ENDPOINT)
    model = models.CharField(max_length=LONGEST_MODEL)
    currency = models.CharField(_("currency"), max_length=3)  # ISO 4217
    per_million_input = models.DecimalField(_("per million input tokens"), max_digits=12, decimal_places=4)
    per_million_cached = models.DecimalField(_("per million cached tokens"), max_digits=12, decimal_places=4)
    per_million_output = models.DecimalField(_("per million output tokens"), max_digits=12, decimal_places=4)
    valid_from = models.DateField(_("valid from"))
    set_by = a_person_or_none()
    set_at = models.DateTimeField()

    class Meta:
        ordering = ("endpoint", "model", "-valid_from", "-pk")
        constraints = (models.UniqueConstraint(fields=["endpoint", "model", "valid_from"], name="price_once_a_day"),)

    def __str__(self) -> str:
        return f"{self.model} at {self.endpoint} from {self.valid_from}"


class SendingPermission(models.Model):
    """What of a bank may be sent to an endpoint, until when, and on what ground. Without one nothing is sent."""

    public_id = PublicIdField()
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="sending_permissions")
    endpoint = models.CharField(_("endpoint"), max_length=LONGEST_ENDPOINT)
    questions = models.BooleanField(_("questions"), default=False)
    images = models.BooleanField(_("images"), default=False)
    reports = models.BooleanField(_("reports"), default=False)
    reason = ComposedText(_("reason"))
    agreement = ComposedText(_("agreement"))  # the contract or approval that it is based on
    terms = ComposedText(blank=True)  # those of the bank as they were accepted, for an endpoint outside
    given_by = a_person_or_none()  # null: on the command line
    given_at = models.DateTimeField()
    expires_at = models.DateTimeField(_("valid until"))
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = a_person_or_none()
    withdrawn_because = ComposedText(blank=True)

    class Meta:
        ordering = ("-given_at", "-pk")
        constraints = (
            models.CheckConstraint(
                condition=Q(questions=True) | Q(images=True) | Q(reports=True), name="permission_of_something"
            ),
        )

    def __str__(self) -> str:
        return f"permission {self.public_id}"

    def holds_at(self, at: datetime) -> bool:
        """Whether something may be sent under it at this time."""
        return self.state_at(at) == PermissionState.IN_FORCE

    def state_at(self, at: datetime) -> PermissionState:
        if self.withdrawn_at is not None:
            return PermissionState.WITHDRAWN
        return PermissionState.IN_FORCE if at < self.expires_at else PermissionState.EXPIRED


class PromptVersion(models.Model):
    """One version of a prompt. Insert-only, enforced by triggers: a change is a new version."""

    public_id = PublicIdField()
    name = ComposedLine(_("name"), max_length=100)
    number = models.PositiveSmallIntegerField()  # 1, 2, 3 of this name
    purpose = WordField(PromptPurpose)
    instruction = models.TextField(_("instruction"), blank=True)  # the message of the role "system"; empty: none
    text = models.TextField(_("text"))  # with {{variables}}; the images come before it
    variables = models.JSONField(default=list)  # names that are replaced, and no others
    images = WordField(SentImages, default=SentImages.NONE)  # which go with it unless a run says otherwise
    schema = models.TextField(_("schema of the answer"), blank=True)  # JSON, as text: a model fills it in this order
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    reason = ComposedText(_("reason"))
    author = a_person_or_none()  # null: came with the program
    made_at = models.DateTimeField()
    sha256 = models.CharField(max_length=64)  # over everything that is sent

    class Meta:
        ordering = ("name", "-number")
        constraints = (models.UniqueConstraint(fields=["name", "number"], name="prompt_version_once"),)

    def __str__(self) -> str:
        return f"{self.name} v{self.number}"


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
    chat_settings = models.JSONField(default=dict)  # fields of annotation.endpoints.kernels.completions.ChatSettings
    images = WordField(SentImages)
    picture_policy = models.CharField(max_length=32, blank=True)
    n_orders = models.PositiveSmallIntegerField(default=1)  # 4: each question in the four rotations of its options
    n_repeats = models.PositiveSmallIntegerField(default=1)
    seed = models.BigIntegerField(default=0)  # of the first questions that are asked, and of swapped images
    n_calls = models.PositiveIntegerField()
    n_first = models.PositiveIntegerField(default=0)  # so many are asked before the start, for the estimate
    cap = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)  # in the currency of the price
    state = WordField(BatchState, max_length=10, default=BatchState.PLANNED)
    paused_because = ComposedText(blank=True)  # a sentence; empty where a person paused it
    created_by = a_person_or_none()
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
                fields=["batch", "number"], name="call_not_asked", condition=Q(outcome=CallOutcome.NOT_ASKED.value)
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
    masked = models.JSONField(default=list)  # exams of which masked texts are sent, in the same form
    not_made = models.JSONField(
        default=list
    )  # {"step", "report", "number", "rule"}; see generation/kernels/grounding.py
    n_made = models.PositiveIntegerField(default=0)
    bank_import = models.ForeignKey(
        "annotation.BankImport", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )  # which brought the questions; null: not made yet, or none
    created_by = a_person_or_none()  # null: on the command line
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
    )  # of a question of the bank, whose report and exam it is; null: see record
    record = models.TextField(blank=True)  # JSON: the fields of an exam as they were sent or masked; or see answer_key
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
