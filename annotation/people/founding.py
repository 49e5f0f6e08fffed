"""The first administrator: nobody is there yet who could invite one."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.enums import Role
from annotation.models import Membership
from annotation.people.inviting import Grant, invite, revoke_issued_by
from annotation.people.links import invitation_link


@transaction.atomic
def first_administrator_link(at: datetime) -> str | None:
    """A one-time link that makes an administrator; None while an active administrator exists.

    Asking again makes a new link and revokes the one before: only its hash is kept, so it cannot be shown again.
    """
    held = Membership.objects.filter(role=Role.ADMINISTRATOR, round__isnull=True, user__is_active=True)
    if held.exists():
        return None
    revoke_issued_by(None, actor=None, at=at)
    issued = invite(Grant(Role.ADMINISTRATOR), email="", name="", actor=None, at=at)
    return invitation_link(issued.token)
