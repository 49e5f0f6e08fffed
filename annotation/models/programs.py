"""What programs that act for people need: tokens, and answers that are kept for a request that comes twice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.enums import LinkState, Role, Word
from annotation.models.fields import PublicIdField, WordField


class TokenScope(Word):
    """Where a token is good for something."""

    SITE = "site", "whole site, read only"
    BANK = "bank", "bank"
    ROUND = "round", "round"
    STUDY = "study", "study"


@dataclass(frozen=True, slots=True)
class TokenLimits:
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
    name = models.CharField(_("name"), max_length=80)
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
