"""After a restore: what lets somebody in works again as it did when the backup was taken, also what was ended since."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.acts_in_words import act_in_words
from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.enums import Role
from annotation.models import AccessToken, AuditEvent, Invitation, ReviewRound, User
from annotation.people.accounts import RESTORED, deactivate
from annotation.people.roles import WITHDRAWN, withdraw
from annotation.people.tokens import PeopleRefused, revoke_links, revoke_tokens

LOOKED_THROUGH = "backup.revived_ended"


class Opener(Struct, frozen=True):
    """A kind of token or link that lets somebody in. ``revoke``: these rows, in a transaction."""

    rows: QuerySet[Any]
    revoke: Callable[..., None]


def openers() -> dict[str, Opener]:
    tokens = Opener(AccessToken.objects.select_related("owner"), revoke_tokens)
    invitations = Opener(Invitation.objects.filter(used_at=None), revoke_links)
    return {"access tokens": tokens, "invitations": invitations, **contributed().openers}


class Revived(Struct, frozen=True):
    """``removals``: what the replaced database says was ended after the backup; none where nothing was replaced."""

    event: AuditEvent
    open: dict[str, list[Model]]
    removals: list[dict[str, Any]]


def revived(at: datetime) -> Revived | None:
    """What the last restore brought back and nobody has looked through yet."""
    event = AuditEvent.objects.filter(act__in=(RESTORED, LOOKED_THROUGH)).order_by("-pk").first()
    if event is None or event.act == LOOKED_THROUGH:
        return None
    ids = [one["id"] for one in event.facts["removals"] if one["type"] == "user"]
    people = {str(one.pk): one for one in User.objects.filter(pk__in=ids)}
    removals = [
        one | {"words": act_in_words(one["act"]), "person": people.get(one["id"]) if one["type"] == "user" else None}
        for one in event.facts["removals"]
    ]
    return Revived(event, {name: list(_open(one, event, at)) for name, one in openers().items()}, removals)


@transaction.atomic
def end_revived(*, keeps: bool = False, actor: User | None, at: datetime) -> str:
    """End every token and link that the restore brought back, and take accounts and roles away that were taken since;
    or, with ``keeps``, note that they may stay. Raises PeopleRefused where there is nothing to look through.
    """
    found = revived(at)
    if found is None:
        raise PeopleRefused("nothing_restored", _("Nothing to end: no restore waits to be looked through."))
    n = {name: len(rows) for name, rows in found.open.items()}
    if not keeps:
        for one in openers().values():
            one.revoke(_open(one, found.event, at), actor=actor, at=at, reason="restore")
        _take_away(found.removals, actor=actor, at=at)
    record(LOOKED_THROUGH, actor=actor, at=at, subject=None, facts={"kept": keeps, **n})
    sentence = (
        _("Tokens and links that stay as they are: %(n)d.") if keeps else _("Tokens and links that are ended: %(n)d.")
    )
    return sentence % {"n": sum(n.values())}


def _open(one: Opener, event: AuditEvent, at: datetime) -> QuerySet[Any]:
    return one.rows.filter(created_at__lte=event.at, revoked_at=None, expires_at__gt=at)


def _take_away(removals: Iterable[dict[str, Any]], *, actor: User | None, at: datetime) -> None:
    """Once more, from people who are there; what must not be taken now, as from the last administrator, stays."""
    for one, person in ((one, one["person"]) for one in removals if one["person"] is not None):
        with suppress(PeopleRefused, ReviewRound.DoesNotExist), transaction.atomic():
            if one["act"] in ("person.deactivated", "person.removed"):
                deactivate(person, actor=actor, at=at)
            elif one["act"] == WITHDRAWN:
                slug = one["facts"]["round"]
                where = ReviewRound.objects.get(slug=slug) if slug else None
                withdraw(person, Role(one["facts"]["role"]), actor=actor, at=at, review_round=where)
