"""What is known of model endpoints, what may be sent to them, and the prompts that they are asked with."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import PermissionState, PromptPurpose, SentImages
from annotation.models.fields import PublicIdField, WordField

LONGEST_ENDPOINT = 40  # characters of a name in REXVQA_MODEL_ENDPOINTS
LONGEST_MODEL = 200  # characters of what an endpoint calls a model


class EndpointProbe(models.Model):
    """What a model at an endpoint was seen to do when it was probed. A new probe is a new row."""

    public_id = PublicIdField()
    endpoint = models.CharField(max_length=LONGEST_ENDPOINT)
    model = models.CharField(max_length=LONGEST_MODEL)
    findings = models.JSONField(default=list)  # as annotation/endpoints/probing.py writes them
    probed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: on the command line
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
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
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
    reason = models.TextField(_("reason"))
    agreement = models.TextField(_("agreement"))  # the contract or approval that it is based on
    terms = models.TextField(blank=True)  # those of the bank as they were accepted, for an endpoint outside
    given_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: on the command line
    given_at = models.DateTimeField()
    expires_at = models.DateTimeField(_("valid until"))
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    withdrawn_because = models.TextField(blank=True)

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
    name = models.CharField(_("name"), max_length=100)
    number = models.PositiveSmallIntegerField()  # 1, 2, 3 of this name
    purpose = WordField(PromptPurpose)
    instruction = models.TextField(_("instruction"), blank=True)  # the message of the role "system"; empty: none
    text = models.TextField(_("text"))  # with {{variables}}; the images come before it
    variables = models.JSONField(default=list)  # names that are replaced, and no others
    images = WordField(SentImages, default=SentImages.NONE)  # which go with it unless a run says otherwise
    schema = models.TextField(_("schema of the answer"), blank=True)  # JSON, as text: a model fills it in this order
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    reason = models.TextField(_("reason"))
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: came with the program
    made_at = models.DateTimeField()
    sha256 = models.CharField(max_length=64)  # over everything that is sent

    class Meta:
        ordering = ("name", "-number")
        constraints = (models.UniqueConstraint(fields=["name", "number"], name="prompt_version_once"),)

    def __str__(self) -> str:
        return f"{self.name} v{self.number}"
