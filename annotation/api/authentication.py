"""Who asks: a program with a token, or a person whose browser has a session.

How often a program may ask: so many requests a minute with each token, and of each person with a session.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from annotation.models import User
from annotation.people.second_factors import is_due
from annotation.people.tokens import PREFIX, PeopleRefused, holds_token, person_of
from annotation.site.counting import counted

SCHEME = "Bearer"


def check_no_token_in_address(request: Request) -> None:
    """Addresses are stored in logs, histories and the heads of other requests. Raises PeopleRefused."""
    query = request.META.get("QUERY_STRING", "")
    if holds_token(query) or "access_token" in request.query_params:
        sentence = _(
            "A token does not belong into an address, where others can read it. Revoke it, and send a new one in the "
            "header Authorization."
        )
        raise PeopleRefused("token_in_address", sentence, status=400)


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer rexvqa_...``; the person is limited to what the token gives."""

    def authenticate(self, request: Request) -> tuple[User, str] | None:
        scheme, _blank, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if not scheme:
            return None
        if scheme.lower() != SCHEME.lower():
            raise AuthenticationFailed(_("Send a token: Authorization: Bearer rexvqa_..."))
        text = text.strip()
        address = request.META.get("REMOTE_ADDR", "")
        person = person_of(text, address=address, at=timezone.now())
        if is_due(person):  # the middleware, which asks this of sessions, sees no token
            sentence = _("The owner of this token has to set up a second factor first.")
            raise PeopleRefused("second_factor_due", sentence, status=403)
        return person, text.removeprefix(PREFIX).partition("_")[0]

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class PersonSession(SessionAuthentication):
    """The session of the pages; what changes something needs the CSRF token of the browser."""

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


_MINUTE = 60


class Allowance(Struct, frozen=True):
    """What is left of this minute."""

    most: int
    left: int
    resets_in: int  # seconds

    @property
    def is_used_up(self) -> bool:
        return self.left < 0

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.most),
            "RateLimit-Remaining": str(max(0, self.left)),
            "RateLimit-Reset": str(self.resets_in),
        }


def count_request(caller: str, *, at: datetime) -> Allowance:
    """A limit against runaway scripts, no accounting."""
    most, used = settings.API_REQUESTS_PER_MINUTE, counted(f"api:{caller}", timedelta(seconds=_MINUTE), at=at)
    return Allowance(most, most - used, _MINUTE - int(at.timestamp()) % _MINUTE)
