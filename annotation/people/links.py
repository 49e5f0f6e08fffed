"""One-time links of invitations, whatever they give: open until a day, used once, revoked."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import LinkState
from annotation.models import Invitation, User
from annotation.refusals import Refused


class PeopleRefused(Refused):
    """Somebody cannot be invited, given a role or a token, or come in with a link or a token; nothing was stored."""


def new_token() -> str:
    """It is in one address and nowhere else: shown once, it cannot be shown again."""
    return secrets.token_urlsafe(32)


def token_sha256(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def last_day(at: datetime) -> datetime:
    return at + timedelta(days=settings.INVITATION_DAYS)


def open_links(rows: QuerySet[Invitation], at: datetime) -> QuerySet[Invitation]:
    """Those that can still be used."""
    return rows.filter(used_at__isnull=True, revoked_at__isnull=True, expires_at__gt=at)


def revoke_links(rows: QuerySet[Invitation], *, actor: User | None, at: datetime, reason: str = "") -> None:
    """Make the open ones among these useless, in the transaction of the act that needs it."""
    for link in open_links(rows, at).select_for_update(of=("self",)):
        link.revoked_at = at
        link.save(update_fields=["revoked_at"])
        record(f"{link.word}.revoked", actor=actor, at=at, subject=link, facts={"reason": reason} if reason else {})


def check_open(link: Invitation | None, at: datetime) -> None:
    """Raises PeopleRefused, which says what happened to the link and what to do."""
    if link is None:
        sentence = _("This link was never given out. Check that it was copied as a whole.")
        raise PeopleRefused("link_unknown", sentence, status=404)
    state = link.state(at)
    if state is LinkState.OPEN:
        return
    again = _("Ask the person who sent it for a new one.")
    sentences = {
        LinkState.USED: _(
            "This link was used already: it works once. If it was you, log in; if not, tell the person who sent it."
        ),
        LinkState.REVOKED: _("This link was taken back, or a newer one took its place.") + " " + again,
        LinkState.EXPIRED: _("This link is too old.") + " " + again,
    }
    raise PeopleRefused("link_closed", sentences[state], status=410, state=state)


def check_is_for(person: User, link: Invitation) -> None:
    """Raises PeopleRefused where the link was made for another address."""
    if link.email and link.email != person.email:
        sentence = _(
            "This invitation is for another address than %(email)s, with which you are logged in. Log out, and open "
            "the link again."
        )
        raise PeopleRefused("other_address", sentence % {"email": person.email}, field="email")
