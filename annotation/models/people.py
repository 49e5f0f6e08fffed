from __future__ import annotations

import zoneinfo
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from annotation.enums import LinkState, Role
from annotation.models.fields import KeptWithRound, WordField
from annotation.models.programs import TokenLimits


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
    name = models.CharField(_("name"), max_length=200)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC", validators=[check_time_zone])
    is_active = models.BooleanField(_("may log in"), default=True)
    wants_digest = models.BooleanField(_("daily e-mail about review rounds"), default=False)
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
    word = models.CharField(_("category or task"), max_length=200)

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
                fields=["user", "role"],
                condition=models.Q(round__isnull=True),
                name="membership_once_per_site",
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
    name = models.CharField(_("name"), max_length=200, blank=True)
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
                fields=["token_sha256", "role"],
                condition=models.Q(round__isnull=True),
                name="invitation_once_per_site",
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
