"""What the site keeps of its own work: the audit log, jobs and workers.

What is sent to other programs, and what they answered.
"""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.enums import JobState
from annotation.models.fields import PublicIdField, WordField

UNFINISHED_JOBS = (JobState.QUEUED, JobState.RUNNING)


class AuditEvent(models.Model):
    """Who did what to which thing, and when. Insert-only, enforced by triggers; each row has the hash of the last."""

    at = models.DateTimeField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: the program or the command line
    act = models.CharField(max_length=60)  # "round.opened"
    subject_type = models.CharField(max_length=40, blank=True)
    subject_id = models.CharField(max_length=40, blank=True)
    facts = models.JSONField(default=dict)  # no tag value of an image, no answer key
    previous_sha256 = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ("id",)
        indexes = (
            models.Index(fields=["subject_type", "subject_id"], name="audit_subject"),
            models.Index(fields=["act", "id"], name="audit_act"),
            models.Index(fields=["at"], name="audit_time"),
        )

    def __str__(self) -> str:
        return f"{self.act} at {self.at:%Y-%m-%d %H:%M:%S}"


class JobQuerySet(models.QuerySet["Job"]):
    def unfinished(self) -> Self:
        """Those that wait or run."""
        return self.filter(state__in=UNFINISHED_JOBS)


class Job(models.Model):
    """Long work. This row is the truth; the message queue only carries its number."""

    public_id = PublicIdField()
    kind = models.CharField(max_length=40)  # names a handler in annotation/jobs
    title = models.CharField(max_length=200)  # what people read; holds no identifier of a patient
    params = models.JSONField(default=dict)
    state = WordField(JobState, max_length=10, default=JobState.QUEUED)
    progress_done = models.PositiveBigIntegerField(default=0)
    progress_total = models.PositiveBigIntegerField(default=0)  # 0: not known yet
    message = models.CharField(max_length=300, blank=True)
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    cancel_requested = models.BooleanField(default=False)
    runner = models.CharField(max_length=40, blank=True)  # which run of which worker holds it
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="jobs"
    )
    created_at = models.DateTimeField()
    nudged_at = models.DateTimeField(null=True, blank=True)  # when a worker was last notified again that it waits
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)
        indexes = (
            models.Index(fields=["state"], name="job_unfinished", condition=models.Q(state__in=["queued", "running"])),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.public_id}"

    @property
    def is_unfinished(self) -> bool:
        return self.state in UNFINISHED_JOBS


class WorkerBeat(models.Model):
    """When a worker was last alive; /healthz reads it."""

    name = models.CharField(max_length=40, unique=True)
    beat_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


# --- What is sent to other programs, and what they answered ---------------------------------------
LONGEST_WEBHOOK = 40  # characters of a name in REXVQA_WEBHOOKS
LONGEST_ANSWER = 300


class WebhookCursor(models.Model):
    """Up to which audit event a webhook was notified. One that is new begins at the present."""

    webhook = models.CharField(max_length=LONGEST_WEBHOOK, unique=True)
    event_id = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.webhook} up to {self.event_id}"


class WebhookDelivery(models.Model):
    """One message for one webhook: what it says never changes, what came of it does."""

    public_id = PublicIdField()  # the id of the message, the same at each attempt
    webhook = models.CharField(_("webhook"), max_length=LONGEST_WEBHOOK)
    event = models.CharField(_("event"), max_length=40)
    body = models.TextField()  # JSON, as it is signed and sent
    attempts = models.PositiveSmallIntegerField(default=0)
    made_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True)  # null: taken, or given up
    is_taken = models.BooleanField(default=False)
    sent_at = models.DateTimeField(null=True, blank=True)  # the last attempt
    status = models.PositiveSmallIntegerField(null=True, blank=True)  # of the last answer
    answer = models.CharField(max_length=LONGEST_ANSWER, blank=True)  # its beginning, or why there was none

    class Meta:
        ordering = ("-made_at", "-pk")
        indexes = (models.Index(fields=["next_at"], name="delivery_due"),)

    def __str__(self) -> str:
        return f"{self.event} for {self.webhook}"
