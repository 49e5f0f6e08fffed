"""Using a one-time link: as somebody new, or with an account that is there already."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import Invitation, User
from annotation.people.granting import add_role
from annotation.people.inviting import LinkState, roles_of_link, standing
from annotation.people.joining import new_account


class InvitationClosed(Exception):
    """The link was used, revoked or has expired."""

    def __init__(self, why: LinkState) -> None:
        super().__init__(why.value)
        self.why = why


class OtherPersonInvited(Exception):
    """The invitation is for another address than the one of this account."""


class OwnInvitation(Exception):
    """Whoever gave the link out cannot use it: nobody gives roles to themselves."""


@transaction.atomic
def accept_as_new_person(
    invitation: Invitation, *, email: str, name: str, password: str, time_zone: str, at: datetime
) -> User:
    """Make an account with the roles of the link.

    Raises InvitationClosed, OtherPersonInvited, AddressTaken, RoleConflict; then there is no account.

    The address of an invitation that has one cannot be changed: it is how the person was meant.
    """
    held = _held_open(invitation, at)
    email = email.strip().lower()
    if held.email and held.email != email:
        raise OtherPersonInvited
    person = new_account(email, password, name=name, time_zone=time_zone)
    _use(held, person, at)
    return person


@transaction.atomic
def accept_as(person: User, invitation: Invitation, *, at: datetime) -> None:
    """Add the roles to an account. Raises InvitationClosed, OtherPersonInvited, OwnInvitation, RoleConflict."""
    held = _held_open(invitation, at)
    refusal = refusal_for(person, held)
    if refusal is not None:
        raise refusal
    _use(held, person, at)


def refusal_for(person: User, invitation: Invitation) -> type[OwnInvitation | OtherPersonInvited] | None:
    """Why this account cannot use an open invitation; None when it can."""
    if invitation.created_by_id == person.pk:
        return OwnInvitation
    if invitation.email and invitation.email != person.email:
        return OtherPersonInvited
    return None


def _held_open(invitation: Invitation, at: datetime) -> Invitation:
    """A row of the link, all locked until the transaction ends: it is used once even when opened twice at a time."""
    link = Invitation.objects.filter(token_sha256=invitation.token_sha256)
    list(link.select_for_update(of=("self",)).order_by("pk"))
    held = next(iter(roles_of_link(invitation)), None) or Invitation.objects.get(pk=invitation.pk)
    why = standing(held, at)
    if why is not LinkState.OPEN:
        raise InvitationClosed(why)
    return held


def _use(invitation: Invitation, person: User, at: datetime) -> None:
    for one in roles_of_link(invitation):
        one.used_at = at
        one.used_by = person
        one.save(update_fields=["used_at", "used_by"])
        record("invitation.accepted", actor=person, at=at, subject=one)
        for role in _roles_of(one):
            add_role(person, role, one.round, granted_by=one.created_by, actor=person, at=at)


def _roles_of(invitation: Invitation) -> tuple[Role, ...]:
    """The role of the invitation; whoever founds a site can start alone, since nobody else could give them a role."""
    is_founding = invitation.created_by_id is None and invitation.role == Role.ADMINISTRATOR
    return (Role.ADMINISTRATOR, Role.COORDINATOR, Role.DEIDENTIFIER) if is_founding else (Role(invitation.role),)
