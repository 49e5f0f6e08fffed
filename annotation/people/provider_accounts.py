"""Whose account a log-in by the provider is of, and the roles that it gives by the table of the settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import Invitation, User
from annotation.people.accounts import new_account
from annotation.people.confirmations import is_confirmed
from annotation.people.invitations import accept_as, accept_as_new_person
from annotation.people.kernels.provider_settings import Provider
from annotation.people.links import PeopleRefused
from annotation.people.mailing import Throttle
from annotation.people.roles import follow_provider

log = logging.getLogger(__name__)
CONNECTED, DISCONNECTED = "provider.connected", "provider.disconnected"
CAME, REFUSED = "provider.came", "provider.refused"
REFUSALS = Throttle(30, timedelta(hours=1))  # rows of the audit log for one network address


@dataclass(frozen=True)
class Claimed:
    """What the claims say of a person, as far as it can be used."""

    subject: str
    email: str
    is_verified: bool
    name: str
    roles: frozenset[Role]

    @classmethod
    def of(cls, claims: Mapping[str, Any], provider: Provider) -> Claimed:
        email = str(claims.get("email") or "").strip().lower()
        try:
            validate_email(email)
        except ValidationError:
            email = ""
        name = str(claims.get("name") or "").replace("\0", "").strip()[:200] or email
        is_verified = bool(email) and claims.get("email_verified") is True
        return cls(claims["sub"], email if len(email) <= 254 else "", is_verified, name, provider.roles_of(claims))


@transaction.atomic
def come_in(claims: Mapping[str, Any], provider: Provider, *, invitation: Invitation | None, at: datetime) -> User:
    """The person of these claims, with the roles of the table. Raises PeopleRefused; then nothing is stored."""
    claimed = Claimed.of(claims, provider)
    known = _known(claimed, provider)
    person = known.user if known else _person_for(claimed, provider, invitation, at)
    if not person.is_active:
        raise _deactivated()
    if known and invitation:
        accept_as(person, invitation, at=at)
    if not known:
        _connect(person, claimed, provider, at)
    follow_provider(person, claimed.roles, at=at)
    return person


@transaction.atomic
def connect(person: User, claims: Mapping[str, Any], provider: Provider, *, at: datetime) -> None:
    """Let somebody who is logged in log in by the provider, too. Raises PeopleRefused."""
    claimed = Claimed.of(claims, provider)
    known = _known(claimed, provider)
    if known and known.user_id != person.pk:
        raise PeopleRefused("provider_taken", _("This log-in is connected with another account already."))
    if not known:
        _connect(person, claimed, provider, at)


@transaction.atomic
def disconnect(person: User, *, at: datetime) -> None:
    """End it, and the roles that it gave. Raises PeopleRefused for who could not log in any more."""
    rows = SocialAccount.objects.filter(user=person)
    if not rows.exists():
        return
    if not person.has_usable_password():
        sentence = _("Set a password first: without it you could not log in. Ask for a link on the log-in page.")
        raise PeopleRefused("no_other_way", sentence)
    rows.delete()
    follow_provider(person, frozenset(), at=at)
    record(DISCONNECTED, actor=person, at=at, subject=person)


def is_connected(person: User) -> bool:
    return SocialAccount.objects.filter(user=person).exists()


@transaction.atomic
def note_refusal(refusal: PeopleRefused, *, source: str, at: datetime) -> None:
    """Into the audit log, without anything of a token; who sends very many fills the other log alone."""
    log.warning("a log-in by the provider was refused: %s", refusal.code)
    if REFUSALS.takes(source, at):
        record(REFUSED, actor=None, at=at, facts={"reason": refusal.code})


def _known(claimed: Claimed, provider: Provider) -> SocialAccount | None:
    rows = SocialAccount.objects.select_related("user").filter(provider=provider.issuer, uid=claimed.subject)
    return rows.first()


def _person_for(claimed: Claimed, provider: Provider, invitation: Invitation | None, at: datetime) -> User:
    """Of somebody who comes for the first time: the account that is theirs for sure, or a new one where that may be."""
    holder = User.objects.filter(email=claimed.email).first() if claimed.email else None
    if holder is not None and not holder.is_active:
        raise _deactivated()
    if holder is not None:
        is_invited = invitation is not None and invitation.email == holder.email
        is_meant = is_invited or (provider.links_by_email and is_confirmed(holder))
        if not claimed.is_verified or not is_meant:
            raise _unknown(provider)
        if invitation is not None:
            accept_as(holder, invitation, at=at)
        return holder
    if not claimed.email:
        sentence = _("%(name)s tells no address of yours, which an account needs. Ask for an invitation.")
        raise PeopleRefused("provider_no_address", sentence % {"name": provider.name}, status=403)
    if invitation is not None:
        zone = settings.TIME_ZONE
        return accept_as_new_person(
            invitation, email=claimed.email, name=claimed.name, password=None, time_zone=zone, at=at
        )
    if not claimed.roles:
        raise _unknown(provider)
    return _new_person(claimed, at)


def _new_person(claimed: Claimed, at: datetime) -> User:
    person = new_account(
        claimed.email,
        None,
        name=claimed.name,
        time_zone=settings.TIME_ZONE,
        advice="",
        is_confirmed=claimed.is_verified,
    )
    record(CAME, actor=person, at=at, subject=person)
    return person


def _connect(person: User, claimed: Claimed, provider: Provider, at: datetime) -> None:
    SocialAccount.objects.create(user=person, provider=provider.issuer, uid=claimed.subject, extra_data={})
    record(CONNECTED, actor=person, at=at, subject=person)


def _deactivated() -> PeopleRefused:
    sentence = _("This account cannot log in. Ask an administrator.")
    return PeopleRefused("provider_deactivated", sentence, status=403)


def _unknown(provider: Provider) -> PeopleRefused:
    sentence = _(
        "Your log-in at %(name)s belongs to no account here. If you have an account, log in with your password and "
        "connect it on your profile; otherwise ask a coordinator or an administrator for an invitation."
    )
    return PeopleRefused("provider_unknown", sentence % {"name": provider.name}, status=403)
