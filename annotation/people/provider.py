"""Talking to the provider of the settings, and to no other: where a log-in goes, and what a code of it is worth."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

import requests
import urllib3
from django.core.cache import cache
from django.utils.translation import gettext as _

from annotation.endpoints.deadlines import BoundedSession
from annotation.people.id_tokens import checked_claims, not_believed
from annotation.people.kernels.provider_settings import Provider, is_believed_address
from annotation.people.links import PeopleRefused

SCOPES = "openid profile email"
SECONDS = 5  # for everything that one page asks of the provider
MOST_WAITING = 2  # pages of a process that wait for it: half of the threads that answer
KEPT_SECONDS = 600  # for configuration and keys; a key that is new there is asked for at once
MOST_BYTES = 512 * 1024
BUSY = "provider_busy"
CONFIGURATION, KEYS = "oidc-configuration", "oidc-keys"  # as which they are kept in the memory of the process
ABOUT_PERSON = ("name", "email", "email_verified")  # taken from the userinfo endpoint where the token has them not

_places, _waiting = threading.Lock(), set[str]()  # the network addresses for which a page waits now


@dataclass(frozen=True)
class Trip:
    """What is kept in the session while somebody is at the provider: proof that the answer is to this question."""

    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> Trip:
        return cls(secrets.token_urlsafe(32), secrets.token_urlsafe(48))

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")


def login_address(provider: Provider, trip: Trip, *, state: str, callback: str, source: str) -> str:
    """The address to which the browser goes. Raises PeopleRefused where the provider does not answer."""
    asked = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": callback,
        "scope": SCOPES,
        "state": state,
        "nonce": trip.nonce,
        "code_challenge": trip.challenge,
        "code_challenge_method": "S256",
    }
    config = cache.get(_kept_as(provider, CONFIGURATION))
    if config is None:
        with waiting_place(source), _session(provider) as session:
            config = _configuration(session, provider)
    place = _address_in(config, "authorization_endpoint")
    return f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}"


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
    """An object of JSON. No redirect is followed, and an error names neither what was sent nor what came."""
    try:
        with session.request(method, address, **more) as answer:
            body = answer.raw.read(MOST_BYTES + 1, decode_content=True)
        if session.deadline.is_over:  # an answer of unknown length seems to end when the connection does
            raise requests.Timeout
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError):
        raise _silent() from None
    if answer.status_code != 200 or len(body) > MOST_BYTES:
        raise not_believed(f"status {answer.status_code}")
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        raise not_believed("no JSON") from None
    if not isinstance(payload, dict):
        raise not_believed("no JSON")
    return payload


def _silent() -> PeopleRefused:
    sentence = _("The log-in service does not answer right now. Try again in a minute, or log in with your password.")
    return PeopleRefused("provider_silent", sentence, status=502)


def _session(provider: Provider) -> BoundedSession:
    return BoundedSession(SECONDS, certificates=provider.certificates)
