"""Accounts, roles and memberships, tokens of programs; and what the site keeps of its own work: audit log, jobs.

What is sent to other programs, and what they answered.
"""

from __future__ import annotations

import zoneinfo
from datetime import datetime
from typing import Any, ClassVar, Self

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from annotation.enums import JobQueue, JobState, KeyUse, LinkState, Role, Word
from annotation.models.fields import ComposedLine, KeptWithRound, PublicIdField, WordField, a_person_or_none


class TokenScope(Word):
    """Where a token is good for something."""

    SITE = "site", "whole site, read only"
    BANK = "bank", "bank"
    ROUND = "round", "round"
    STUDY = "study", "study"
    TEAM = "team", "team of a leaderboard"


class TokenLimits(Struct, frozen=True):
    """What is left of the rights of a person for whom a program acts: one role, in one place."""

    role: str
    scope: TokenScope
    place_id: int | None  # of the bank, round or study; None: the whole site

    @property
    def is_read_only(self) -> bool:
        return self.scope == TokenScope.SITE


class AccessToken(models.Model):
    """With this a program acts for its owner, who may at any time do at least as much. Only a hash is stored."""

    public_id = PublicIdField()  # is part of the token itself, so that a token that was found can be named
    token_sha256 = models.CharField(max_length=64)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="access_tokens")
    name = ComposedLine(_("name"), max_length=80)
    role = WordField(Role, max_length=20)
    scope = WordField(TokenScope, max_length=8)
    place_id = models.BigIntegerField(null=True, blank=True)  # of the bank, round or study that is its scope
    place_name = models.CharField(max_length=200, blank=True)  # as it was called when the token was made
    networks = models.JSONField(default=list, blank=True)  # from which it is taken; none: from everywhere
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)  # to the minute
    last_refused_at = models.DateTimeField(null=True, blank=True)  # from another address; to the minute
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return self.name

    def state(self, at: datetime) -> LinkState:
        if self.revoked_at is not None:
            return LinkState.REVOKED
        return LinkState.OPEN if at < self.expires_at else LinkState.EXPIRED

    @property
    def limits(self) -> TokenLimits:
        return TokenLimits(self.role, TokenScope(self.scope), self.place_id)


class KeptAnswer(models.Model):
    """The answer to a program that made something, kept for a day in case that it asks again with the same key."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    token = models.CharField(max_length=16, blank=True)  # by which it came; empty: a session
    key = models.CharField(max_length=100)
    request_sha256 = models.CharField(max_length=64)  # over method, address and body
    status = models.PositiveSmallIntegerField(default=0)
    body = models.JSONField(default=dict)
    location = models.CharField(max_length=300, blank=True)
    kept_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["person", "token", "key"], name="kept_answer_once"),)
        indexes = (models.Index(fields=["kept_at"], name="kept_answer_age"),)

    def __str__(self) -> str:
        return self.key


# ---  ---------------------------------------------------------------------------------------------
def check_time_zone(name: str) -> None:
    if name not in zoneinfo.available_timezones():
        raise ValidationError(_("%(name)s is not a time zone such as Europe/Berlin"), params={"name": name})


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """A person with an address in lower case; without a password nobody can log in as them yet."""
        return self.create(email=email.strip().lower(), password=make_password(password), **fields)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=(username or "").strip().lower())


class User(AbstractBaseUser):
    """A person. What they may do is in their memberships, nowhere else."""

    email = models.EmailField(_("e-mail"), unique=True)
    name = ComposedLine(_("name"), max_length=200)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC", validators=[check_time_zone])
    is_active = models.BooleanField(_("may log in"), default=True)
    wants_digest = models.BooleanField(_("daily e-mail about review rounds"), default=False)
    keys = WordField(KeyUse, max_length=6, default=KeyUse.ALL, db_default=KeyUse.ALL.value)  # listened to beside images
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)  # on request: a pseudonym is left

    limits: TokenLimits | None = None  # of this object: a program acts for the person, with a token

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]

    class Meta:
        ordering = ("name", "email")
        constraints = (models.UniqueConstraint(Lower("email"), name="user_email_any_case"),)

    def __str__(self) -> str:
        return self.name or self.email


class Competence(models.Model):
    """A category or task of questions that this reviewer is for. Who has none may be given any question."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="competences")
    word = ComposedLine(_("category or task"), max_length=200)

    class Meta:
        ordering = ("person", "word")
        constraints = (models.UniqueConstraint("person", Lower("word"), name="competence_once"),)

    def __str__(self) -> str:
        return self.word


class Membership(models.Model):
    """One role of one person: on the whole site, or in one review round. Studies keep their own enrolments."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = WordField(Role, max_length=20)
    round = models.ForeignKey(
        "annotation.ReviewRound", on_delete=models.CASCADE, null=True, blank=True, related_name="memberships"
    )  # null: the whole site
    granted_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    granted_at = models.DateTimeField()
    by_provider = models.BooleanField(default=False)  # given by the claims of a log-in, and taken again by them

    objects: KeptWithRound[Membership] = KeptWithRound()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["user", "role", "round"], name="membership_once_per_round"),
            models.UniqueConstraint(
                fields=["user", "role"], condition=models.Q(round__isnull=True), name="membership_once_per_site"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


class Invitation(models.Model):
    """What a one-time link gives; only the hash of its token is stored. It works once, until a day.

    A link for several roles has a row for each, with the same token. Using it creates or equips one person with all.
    Kinds other than ROLE belong to the app that knows what they give: InvitationKind in annotation.people.invitations.
    """

    ROLE: ClassVar[str] = "role"  # on the site, or in a round

    kind = models.CharField(max_length=16, default=ROLE)
    token_sha256 = models.CharField(max_length=64, db_index=True)
    email = models.EmailField(_("e-mail"), blank=True)  # empty: whoever opens the link gives theirs
    name = ComposedLine(_("name"), max_length=200, blank=True)
    role = WordField(Role, max_length=20)
    round = models.ForeignKey(
        "annotation.ReviewRound", on_delete=models.CASCADE, null=True, blank=True, related_name="invitations"
    )
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    reminded_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects: KeptWithRound[Invitation] = KeptWithRound()

    class Meta:
        ordering = ("-created_at",)
        constraints = (
            models.UniqueConstraint(fields=["token_sha256", "role", "round"], name="invitation_once_per_round"),
            models.UniqueConstraint(
                fields=["token_sha256", "role"], condition=models.Q(round__isnull=True), name="invitation_once_per_site"
            ),
        )

    def __str__(self) -> str:
        return f"{self.role} {self.email}"

    @property
    def word(self) -> str:
        """Begins the names of its acts in the audit log."""
        return "invitation" if self.kind == self.ROLE else f"{self.kind}_invitation"

    def state(self, at: datetime) -> LinkState:
        if self.used_at is not None:
            return LinkState.USED
        if self.revoked_at is not None:
            return LinkState.REVOKED
        return LinkState.OPEN if at < self.expires_at else LinkState.EXPIRED


UNFINISHED_JOBS = (JobState.QUEUED, JobState.RUNNING)


class AuditEvent(models.Model):
    """Who did what to which thing, and when. Insert-only, enforced by triggers; each row has the hash of the last."""

    at = models.DateTimeField()
    actor = a_person_or_none()  # null: the program or the command line
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

    def due(self, at: datetime) -> Self:
        """Those that wait and may begin."""
        return self.filter(models.Q(due_at=None) | models.Q(due_at__lte=at), state=JobState.QUEUED)


class Job(models.Model):
    """Long work. This row is the truth; the message queue only carries its number."""

    public_id = PublicIdField()
    kind = models.CharField(max_length=40)  # names a handler in annotation/jobs
    title = models.CharField(max_length=200)  # what people read; holds no identifier of a patient
    params = models.JSONField(default=dict)
    queue = WordField(JobQueue, max_length=8, default=JobQueue.ANALYSIS, db_default=JobQueue.ANALYSIS.value)
    priority = models.PositiveSmallIntegerField(default=5, db_default=5)  # 0 to 9, the highest is taken first
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
    due_at = models.DateTimeField(null=True, blank=True)  # not begun before
    nudged_at = models.DateTimeField(null=True, blank=True)  # when a worker was last notified again that it waits
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)
        indexes = (
            models.Index(fields=["state"], name="job_unfinished", condition=models.Q(state__in=["queued", "running"])),
            models.Index(fields=["-created_at"], name="job_newest"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.public_id}"

    @property
    def is_unfinished(self) -> bool:
        return self.state in UNFINISHED_JOBS


class WorkerBeat(models.Model):
    """When a worker was last alive; /healthz reads it."""

    name = models.CharField(max_length=80, unique=True)
    queues = models.CharField(max_length=80, blank=True, db_default="")  # whose jobs it takes, with spaces between
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
