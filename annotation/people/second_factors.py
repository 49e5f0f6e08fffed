"""Second factors: who must have one, their secrets in the database, codes that count once, and taking them all away."""

from __future__ import annotations

import base64
import hashlib
import secrets
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from allauth.mfa import app_settings
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from allauth.mfa.utils import decrypt
from django.conf import settings
from django.db import models, transaction
from django.db.models import Exists, ExpressionWrapper, OuterRef, Q
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import AuditEvent, Membership, User
from annotation.people.accounts import end_sessions
from annotation.people.mailing import send_email, try_to_send
from annotation.people.tokens import revoke_tokens

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

FACTORS = (Authenticator.Type.TOTP.value, Authenticator.Type.WEBAUTHN.value)
REQUIRED_OF = (Role.ADMINISTRATOR.value, Role.COORDINATOR.value)  # on the site or in a round
ADDED, REMOVED, RESET = "second_factor.added", "second_factor.removed", "second_factor.reset"
CODES_MADE, CODE_USED = "recovery_codes.made", "recovery_code.used"

# Whether the site asks a person for a factor that is not there yet. Part of the one query that finds who is logged in.
IS_DUE = ExpressionWrapper(
    Q(Exists(Membership.objects.filter(user=OuterRef("pk"), role__in=REQUIRED_OF)))
    & ~Q(Exists(Authenticator.objects.filter(user=OuterRef("pk"), type__in=FACTORS))),
    output_field=models.BooleanField(),
)


def is_due(person: User) -> bool:
    """Whether the person has to set up a second factor before anything else."""
    if not settings.SECOND_FACTOR_REQUIRED:
        return False
    known: bool | None = person.__dict__.get("factor_is_due")
    if known is None:  # not found by our backend
        known = person.__dict__["factor_is_due"] = User.objects.filter(IS_DUE, pk=person.pk).exists()
    return known


def has_factor(person: User) -> bool:
    return Authenticator.objects.filter(user=person, type__in=FACTORS).exists()


# Secrets. The database holds what the key of the site opens: who has a copy of the database alone has no factor.


def sealed(text: str) -> str:
    return _box(settings.SECRET_KEY).encrypt(text.encode()).decode()


def unsealed(text: str) -> str:
    """What was sealed. With another key of the site it is a secret that nobody has: no code fits any more."""
    from cryptography.fernet import InvalidToken

    try:
        return _box(settings.SECRET_KEY).decrypt(text.encode()).decode()
    except InvalidToken:
        return base64.b32encode(secrets.token_bytes(20)).decode()


@cache
def _box(key: str) -> Fernet:
    from cryptography.fernet import Fernet  # takes a hundredth of a second: not at every start

    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"second factors:" + key.encode()).digest()))


# Acts. Setting up and removing are steps of allauth; each calls one of these in its transaction.


@transaction.atomic
def take_code(authenticator: Authenticator, code: str, *, at: datetime) -> bool:
    """Whether a code of the app counts: each counts once, in whichever process it comes, and none that is older."""
    locked = Authenticator.objects.select_for_update().get(pk=authenticator.pk)
    step = _step_of(decrypt(locked.data["secret"]), code, at)
    if step is None or step <= locked.data.get("last_step", -1):
        return False
    locked.data["last_step"] = step
    locked.save(update_fields=["data"])
    return True


def _step_of(secret: str, code: str, at: datetime) -> int | None:
    """The stretch of 30 seconds that the code is of; None where it is of none that counts now."""
    now, away = int(at.timestamp()) // app_settings.TOTP_PERIOD, app_settings.TOTP_TOLERANCE
    typed = code.replace(" ", "")
    steps = (step for step in range(now - away, now + away + 1))
    return next((s for s in steps if constant_time_compare(format_hotp_value(hotp_value(secret, s)), typed)), None)


def note_added(person: User, kind: str, *, at: datetime, code: str = "") -> None:
    """``code``: the one that was the proof of an app, which counts for nothing else any more."""
    if code:
        take_code(Authenticator.objects.get(user=person, type=Authenticator.Type.TOTP), code, at=at)
    record(ADDED, actor=person, at=at, subject=person, facts={"kind": kind})
    _tell(person, _("A second factor was set up for your account."), by="")


def note_removed(person: User, kind: str, *, at: datetime) -> None:
    record(REMOVED, actor=person, at=at, subject=person, facts={"kind": kind})
    _tell(person, _("A second factor of your account was removed."), by="")


def note_codes(person: User, *, at: datetime) -> None:
    record(CODES_MADE, actor=person, at=at, subject=person)
    _tell(person, _("New recovery codes were made for your account; the ones before do not work any more."), by="")


def note_code_used(person: User, *, at: datetime) -> None:
    record(CODE_USED, actor=person, at=at, subject=person)
    _tell(person, _("Somebody logged in to your account with a recovery code."), by="")


@transaction.atomic
def reset(person: User, *, actor: User | None, at: datetime) -> bool:
    """Take all factors and recovery codes away, so that the person comes in with the password and sets up a new one.
    Their tokens and sessions end.

    False where there was none. ``actor`` None: somebody at the server. The person gets an e-mail where that works.
    """
    n_gone, _rows = Authenticator.objects.filter(user=person).delete()
    if not n_gone:
        return False
    revoke_tokens(person.access_tokens.all(), actor=actor, at=at, reason="second factor")
    end_sessions(person)
    record(RESET, actor=actor, at=at, subject=person)
    by = actor.name if actor else _("whoever runs the server")
    _tell(person, _("The second factor of your account was taken away, so that you can set up a new one."), by=by)
    return True


def last_reset(person: User) -> AuditEvent | None:
    """When somebody else took the factors away, where none has been set up since."""
    acts = AuditEvent.objects.filter(subject_type="user", subject_id=str(person.pk), act__in=(ADDED, RESET))
    newest = acts.select_related("actor").order_by("-pk").first()
    return newest if newest is not None and newest.act == RESET else None


def _tell(person: User, sentence: str, *, by: str) -> None:
    done = _("Done by: %(name)s.") % {"name": by} if by else ""
    advice = _("If this was not you, and nobody told you, change your password and tell an administrator.")
    body = "\n\n".join(filter(None, (sentence, done, advice, settings.PUBLIC_URL)))
    try_to_send(lambda: send_email(_("Your log-in to the reading room has changed"), body, person.email))
