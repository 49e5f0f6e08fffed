"""Logging in by a provider (OpenID Connect), and which account its word belongs to.

The protocol is Authlib's, which is imported where somebody logs in: the start of the site need not wait for it.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import requests
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.endpoints.client import BoundedSession
from annotation.enums import Role
from annotation.models import Invitation, User
from annotation.people.accounts import new_account
from annotation.people.invitations import accept_as, accept_as_new_person
from annotation.people.kernels.provider_settings import Provider, is_believed_address
from annotation.people.mailing import is_confirmed
from annotation.people.roles import follow_provider
from annotation.people.tokens import PeopleRefused
from annotation.site.counting import Throttle

if TYPE_CHECKING:
    from joserfc.jwt import Token

log = logging.getLogger(__name__)
CONNECTED, DISCONNECTED = "provider.connected", "provider.disconnected"
CAME, REFUSED = "provider.came", "provider.refused"
REFUSALS = Throttle("refusals", 30, timedelta(hours=1))  # rows of the audit log for one network address


class Claimed(Struct, frozen=True):
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


SCOPES = "openid profile email"
SECONDS = 5  # for everything that one page asks of the provider
MOST_WAITING = 2  # pages of a process that wait for it: half of the threads that answer
KEPT_SECONDS = 600  # for configuration and keys; a key that is new there is asked for at once
MOST_BYTES = 512 * 1024
BUSY = "provider_busy"
CONFIGURATION, KEYS = "oidc-configuration", "oidc-keys"  # as which they are kept in the memory of the process
ABOUT_PERSON = ("name", "email", "email_verified")  # taken from the userinfo endpoint where the token has them not
# Signatures with a key that only the provider has. "none" and those with a shared secret are not among them.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY = 60  # seconds by which clocks may differ
OLDEST = 600  # seconds since a token was made
LONGEST_SUBJECT = 191
CODES = {"iss": "issuer", "aud": "audience", "azp": "audience", "sub": "subject"}  # of refusals, by the claim

_places, _waiting = threading.Lock(), set[str]()  # the network addresses for which a page waits now


class Trip(Struct, frozen=True):
    """What is kept in the session while somebody is at the provider: proof that the answer is to this question."""

    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> Trip:
        return cls(secrets.token_urlsafe(32), secrets.token_urlsafe(48))


def login_address(provider: Provider, trip: Trip, *, state: str, callback: str, source: str) -> str:
    """The address to which the browser goes. Raises PeopleRefused where the provider does not answer."""
    from authlib.oauth2.client import OAuth2Client

    config = cache.get(_kept_as(provider, CONFIGURATION))
    if config is None:
        with waiting_place(source), _session(provider) as session:
            config = _configuration(session, provider)
    client = OAuth2Client(None, provider.client_id, redirect_uri=callback, scope=SCOPES, code_challenge_method="S256")
    place = _address_in(config, "authorization_endpoint")
    address, _state = client.create_authorization_url(place, state, trip.verifier, nonce=trip.nonce)
    return str(address)


@contextmanager
def waiting_place(source: str) -> Iterator[None]:
    """For a page that asks the provider: one of each network address, and few in all. Raises PeopleRefused at once."""
    with _places:
        if len(_waiting) >= MOST_WAITING or source in _waiting:
            sentence = _("Others log in just now, and the log-in service is slow. Try again in a few seconds.")
            raise PeopleRefused(BUSY, sentence, status=503)
        _waiting.add(source)
    try:
        yield
    finally:
        with _places:
            _waiting.discard(source)


def claims_for(provider: Provider, code: str, trip: Trip, *, callback: str, at: datetime) -> dict[str, Any]:
    """What the provider says of the person whom the code is of. Raises PeopleRefused; nothing of it is kept."""
    with _session(provider) as session:
        config = _configuration(session, provider)
        tokens = _exchange(session, config, provider, code, trip, callback)
        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise not_believed("without a token")
        claims = _checked(session, config, provider, token, trip, at)
        wanted = (*ABOUT_PERSON, provider.roles_claim)
        if all(name in claims for name in wanted) or not config.get("userinfo_endpoint"):
            return claims
        more = _about(session, _address_in(config, "userinfo_endpoint"), tokens.get("access_token"))
        if more.get("sub") != claims["sub"]:
            raise not_believed("subject")
        return {**{name: more[name] for name in wanted if name in more}, **claims}


def _checked(
    session: BoundedSession, config: Mapping[str, Any], provider: Provider, token: str, trip: Trip, at: datetime
) -> dict[str, Any]:
    """By the keys that are kept, else by those that the provider has now: it changes them when it likes."""
    name = _kept_as(provider, KEYS)
    if keys := cache.get(name):
        try:
            return checked_claims(token, keys, provider, nonce=trip.nonce, at=at)
        except PeopleRefused as refusal:
            if refusal.code != "provider_signature":
                raise
    keys = _fetched(session, "GET", _address_in(config, "jwks_uri"))
    cache.set(name, keys, KEPT_SECONDS)
    return checked_claims(token, keys, provider, nonce=trip.nonce, at=at)


def _exchange(
    session: BoundedSession, config: Mapping[str, Any], provider: Provider, code: str, trip: Trip, callback: str
) -> dict[str, Any]:
    sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": callback, "code_verifier": trip.verifier}
    methods = config.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    if isinstance(methods, list) and "client_secret_basic" in methods:
        auth = (quote(provider.client_id, safe=""), quote(provider.secret, safe=""))
        return _fetched(session, "POST", _address_in(config, "token_endpoint"), data=sent, auth=auth)
    sent |= {"client_id": provider.client_id, "client_secret": provider.secret}
    return _fetched(session, "POST", _address_in(config, "token_endpoint"), data=sent)


def _about(session: BoundedSession, address: str, access_token: object) -> dict[str, Any]:
    if not isinstance(access_token, str):
        raise not_believed("without a token")
    return _fetched(session, "GET", address, headers={"Authorization": f"Bearer {access_token}"})


def _configuration(session: BoundedSession, provider: Provider) -> dict[str, Any]:
    name = _kept_as(provider, CONFIGURATION)
    config: dict[str, Any] | None = cache.get(name)
    if config is None:
        config = _fetched(session, "GET", f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        if config.get("issuer") != provider.issuer:
            raise not_believed("issuer")
        cache.set(name, config, KEPT_SECONDS)
    return config


def _kept_as(provider: Provider, what: str) -> str:
    return f"{what}-{hashlib.sha256(provider.issuer.encode()).hexdigest()}"


def _address_in(config: Mapping[str, Any], name: str) -> str:
    address = config.get(name)
    if not isinstance(address, str) or not is_believed_address(address):
        raise not_believed(name)
    return address


def _fetched(session: BoundedSession, method: str, address: str, **more: Any) -> dict[str, Any]:
    """An object of JSON. An error names neither what was sent nor what came."""
    try:
        answer = session.request(method, address, **more)
    except requests.RequestException:
        raise _silent() from None
    if answer.status_code != 200:
        raise not_believed(f"status {answer.status_code}")
    try:
        payload = answer.json()
    except (ValueError, RecursionError):
        raise not_believed("no JSON") from None
    if not isinstance(payload, dict):
        raise not_believed("no JSON")
    return payload


def _silent() -> PeopleRefused:
    sentence = _("The log-in service does not answer right now. Try again in a minute, or log in with your password.")
    return PeopleRefused("provider_silent", sentence, status=502)


def _session(provider: Provider) -> BoundedSession:
    return BoundedSession(SECONDS, most_bytes=MOST_BYTES, certificates=provider.certificates)


# What an ID token is worth: issued by the provider about this person, to us, just now. Everything else is refused.


def not_believed(code: str) -> PeopleRefused:
    """``code`` says what was wrong; nothing of the token is in it."""
    sentence = _(
        "The answer of the log-in service could not be believed (%(code)s). Nothing was stored. Try again; if it "
        "happens again, tell the person who runs this site."
    )
    return PeopleRefused(f"provider_{code}", sentence % {"code": code}, status=502)


def checked_claims(
    token: str, keys: Mapping[str, Any], provider: Provider, *, nonce: str, at: datetime
) -> dict[str, Any]:
    """The claims of a token with a good signature, of this issuer, for us, in time, and for this log-in.

    Raises PeopleRefused.
    """
    from authlib.oidc.core import ImplicitIDToken  # of all claims the one that wants a nonce
    from joserfc.errors import ClaimError, ExpiredTokenError

    signed = _signed(token, keys)
    wanted = {"iss": provider.issuer, "aud": provider.client_id, "azp": provider.client_id, "nonce": nonce}
    options = {name: {"essential": name != "azp", "value": value} for name, value in wanted.items()}
    claims = ImplicitIDToken(signed.claims, signed.header, options, {"client_id": provider.client_id, "nonce": nonce})
    try:
        claims.validate(now=at.timestamp(), leeway=LEEWAY)
    except ExpiredTokenError:
        raise not_believed("too late") from None
    except ClaimError as error:
        raise not_believed(CODES.get(error.claim, error.claim)) from None
    if claims["iat"] + OLDEST < at.timestamp():
        raise not_believed("too late")
    if not 0 < len(claims["sub"]) <= LONGEST_SUBJECT:
        raise not_believed("subject")
    return dict(claims)


def _signed(token: str, keys: Any) -> Token:
    """Raises PeopleRefused: ``provider_signature`` where another key might fit."""
    from joserfc import jwk, jws, jwt
    from joserfc.errors import JoseError, UnsupportedAlgorithmError

    registry = jws.JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    try:
        return jwt.decode(token, jwk.KeySet.import_key_set(keys), registry=registry)
    except UnsupportedAlgorithmError:
        raise not_believed("algorithm") from None
    except (JoseError, TypeError, ValueError, KeyError, AttributeError):
        raise not_believed("signature") from None
