"""Whether an ID token was issued by the provider about this person, to us, just now. Everything else is refused."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import jwt
from django.utils.translation import gettext as _
from jwt.types import Options

from annotation.people.kernels.provider_settings import Provider
from annotation.people.links import PeopleRefused

# Signatures with a key that only the provider has. "none" and those with a shared secret are not among them.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
REQUIRED = ("iss", "sub", "aud", "exp", "iat", "nonce")
SIGNATURE_ALONE: Options = {  # what a token says is checked here, by the time of the act
    "verify_signature": True,
    "verify_aud": False,
    "verify_iss": False,
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
    "verify_sub": False,
    "verify_jti": False,
}
LEEWAY = 60  # seconds by which clocks may differ
OLDEST = 600  # seconds since a token was made
LONGEST_SUBJECT = 191


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
    claims = _signed_claims(token, keys)
    if missing := [name for name in REQUIRED if not claims.get(name)]:
        raise not_believed(f"without {missing[0]}")
    if claims["iss"] != provider.issuer:
        raise not_believed("issuer")
    _check_audience(claims, provider.client_id)
    _check_times(claims, at)
    if not isinstance(claims["nonce"], str) or not hmac.compare_digest(claims["nonce"].encode(), nonce.encode()):
        raise not_believed("nonce")
    if not isinstance(claims["sub"], str) or len(claims["sub"]) > LONGEST_SUBJECT:
        raise not_believed("subject")
    return claims


def _signed_claims(token: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    try:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise not_believed("algorithm")
        key = jwt.PyJWK(_key_of(keys, header.get("kid")), algorithm=algorithm)
        claims: dict[str, Any] = jwt.decode(token, key, algorithms=[algorithm], options=SIGNATURE_ALONE)
    except (jwt.PyJWTError, TypeError, ValueError, KeyError):
        raise not_believed("signature") from None
    return claims


def _key_of(keys: Mapping[str, Any], name: object) -> dict[str, Any]:
    """Raises KeyError where no key is the one that is named; one that is alone needs no name."""
    rows = [row for row in keys.get("keys", []) if isinstance(row, dict) and row.get("use", "sig") == "sig"]
    for row in rows:
        if row.get("kid") == name:
            return row
    if name is None and len(rows) == 1:
        return rows[0]
    raise KeyError


def _check_audience(claims: Mapping[str, Any], client_id: str) -> None:
    claim = claims["aud"]
    audience = [claim] if isinstance(claim, str) else claim
    if not isinstance(audience, list) or client_id not in audience:
        raise not_believed("audience")
    if claims.get("azp", client_id) != client_id or (len(audience) > 1 and "azp" not in claims):
        raise not_believed("audience")


def _check_times(claims: Mapping[str, Any], at: datetime) -> None:
    now, times = at.timestamp(), [claims[name] for name in ("exp", "iat")]
    if not all(isinstance(time, int | float) and not isinstance(time, bool) for time in times):
        raise not_believed("time")
    expires, made = times
    if expires + LEEWAY <= now or made + OLDEST < now:
        raise not_believed("too late")
    if made - LEEWAY > now:
        raise not_believed("too early")
