"""Talking to the provider of the settings, and to no other: where a log-in goes, and what a code of it is worth."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

import requests
import urllib3
from django.utils.translation import gettext as _
from requests.adapters import HTTPAdapter
from urllib3.util.ssl_ import create_urllib3_context

from annotation.people.id_tokens import checked_claims, not_believed
from annotation.people.kernels.provider_settings import Provider, is_believed_address
from annotation.people.links import PeopleRefused

SCOPES = "openid profile email"
TIMEOUT = (5, 10)  # seconds to connect, and for each piece of the answer
MOST_BYTES = 512 * 1024
ABOUT_PERSON = ("name", "email", "email_verified")  # taken from the userinfo endpoint where the token has them not


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


def login_address(provider: Provider, trip: Trip, *, state: str, callback: str) -> str:
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
    with _session(provider) as session:
        place = _address_in(_configuration(session, provider), "authorization_endpoint")
    return f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}"


def claims_for(provider: Provider, code: str, trip: Trip, *, callback: str, at: datetime) -> dict[str, Any]:
    """What the provider says of the person whom the code is of. Raises PeopleRefused; nothing of it is kept."""
    with _session(provider) as session:
        config = _configuration(session, provider)
        tokens = _exchange(session, config, provider, code, trip, callback)
        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise not_believed("without a token")
        keys = _fetched(session, "GET", _address_in(config, "jwks_uri"))
        claims = checked_claims(token, keys, provider, nonce=trip.nonce, at=at)
        wanted = (*ABOUT_PERSON, provider.roles_claim)
        if all(name in claims for name in wanted) or not config.get("userinfo_endpoint"):
            return claims
        more = _about(session, _address_in(config, "userinfo_endpoint"), tokens.get("access_token"))
        if more.get("sub") != claims["sub"]:
            raise not_believed("subject")
        return {**{name: more[name] for name in wanted if name in more}, **claims}


def _exchange(
    session: requests.Session, config: Mapping[str, Any], provider: Provider, code: str, trip: Trip, callback: str
) -> dict[str, Any]:
    sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": callback, "code_verifier": trip.verifier}
    methods = config.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    if isinstance(methods, list) and "client_secret_basic" in methods:
        auth = (quote(provider.client_id, safe=""), quote(provider.secret, safe=""))
        return _fetched(session, "POST", _address_in(config, "token_endpoint"), data=sent, auth=auth)
    sent |= {"client_id": provider.client_id, "client_secret": provider.secret}
    return _fetched(session, "POST", _address_in(config, "token_endpoint"), data=sent)


def _about(session: requests.Session, address: str, access_token: object) -> dict[str, Any]:
    if not isinstance(access_token, str):
        raise not_believed("without a token")
    return _fetched(session, "GET", address, headers={"Authorization": f"Bearer {access_token}"})


def _configuration(session: requests.Session, provider: Provider) -> dict[str, Any]:
    config = _fetched(session, "GET", f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
    if config.get("issuer") != provider.issuer:
        raise not_believed("issuer")
    return config


def _address_in(config: Mapping[str, Any], name: str) -> str:
    address = config.get(name)
    if not isinstance(address, str) or not is_believed_address(address):
        raise not_believed(name)
    return address


def _fetched(session: requests.Session, method: str, address: str, **more: Any) -> dict[str, Any]:
    """An object of JSON. No redirect is followed, and an error names neither what was sent nor what came."""
    try:
        with session.request(method, address, timeout=TIMEOUT, allow_redirects=False, stream=True, **more) as answer:
            body = answer.raw.read(MOST_BYTES + 1, decode_content=True)
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


def _session(provider: Provider) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # neither a proxy nor a password from the surroundings
    session.mount("https://", _Believing(provider.certificates))
    return session


class _Believing(HTTPAdapter):
    """Believes certificates of the settings beside the public ones."""

    def __init__(self, certificates: str) -> None:
        self._certificates = certificates
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        context = create_urllib3_context()
        if self._certificates:
            context.load_verify_locations(cadata=self._certificates)
        super().init_poolmanager(*args, ssl_context=context, **kwargs)  # requests adds the public ones to it
