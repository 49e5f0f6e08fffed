"""One-time links, whatever they invite to: open until a day, used once, revoked and restored."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import TypeVar

from django.conf import settings
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import LinkState
from annotation.models import User
from annotation.models.people import OneTimeLink
from annotation.refusals import Refused

Link = TypeVar("Link", bound=OneTimeLink)


class PeopleRefused(Refused):
    """Somebody cannot be invited, given a role or a token, or come in with a link or a token; nothing was stored."""


def new_token() -> str:
    """It is in one address and nowhere else: shown once, it cannot be shown again."""
    return secrets.token_urlsafe(32)


def token_sha256(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def last_day(at: datetime) -> datetime:
    return at + timedelta(days=settings.INVITATION_DAYS)


def open_links(rows: QuerySet[Link], at: datetime) -> QuerySet[Link]:
    """Those that can still be used."""
    return rows.filter(used_at__isnull=True, revoked_at__isnull=True, expires_at__gt=at)


def revoked_links(rows: QuerySet[Link], at: datetime) -> QuerySet[Link]:
    """Those that were revoked and would still work."""
    return rows.filter(used_at__isnull=True, revoked_at__isnull=False, expires_at__gt=at)


def find_link(rows: QuerySet[Link], token: str) -> Link | None:
    """The row of a token, whatever its state; None for a token that was never given out."""
    found = rows.filter(token_sha256=token_sha256(token))
    return found.order_by(F("revoked_at").asc(nulls_first=True), "pk").first()


def revoke_links(rows: QuerySet[Link], *, actor: User | None, at: datetime, reason: str = "") -> None:
    """Make the open ones among these useless, in the transaction of the act that needs it."""
    for link in open_links(rows, at).select_for_update(of=("self",)):
        link.revoked_at = at
        link.save(update_fields=["revoked_at"])
        record(f"{link.kind}.revoked", actor=actor, at=at, subject=link, facts={"reason": reason} if reason else {})


def restore_link(rows: QuerySet[Link], pk: int, *, actor: User, at: datetime) -> bool:
    """Let a revoked link work again until its day; False where it is not among these rows any more."""
    link = rows.select_for_update(of=("self",)).filter(pk=pk).first()
    if link is None:
        return False
    link.revoked_at = None
    link.save(update_fields=["revoked_at"])
    record(f"{link.kind}.restored", actor=actor, at=at, subject=link)
    return True


def lock_links(rows: QuerySet[Link], at: datetime) -> list[Link]:
    """The rows of one link, locked until the transaction ends: it is used once even when opened twice at a time.

    Those that still count come first. Raises PeopleRefused for a link that is not open.
    """
    locked = list(rows.select_for_update(of=("self",)).order_by("pk"))
    locked.sort(key=lambda link: link.revoked_at is not None)
    check_open(locked[0], at)
    return locked


def check_open(link: OneTimeLink | None, at: datetime) -> None:
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


def check_is_for(person: User, link: OneTimeLink) -> None:
    """Raises PeopleRefused where the link was made for another address."""
    if link.email and link.email != person.email:
        sentence = _(
            "This invitation is for another address than %(email)s, with which you are logged in. Log out, and open "
            "the link again."
        )
        raise PeopleRefused("other_address", sentence % {"email": person.email}, field="email")
