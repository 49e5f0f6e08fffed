"""Invitations: a link is given out, taken back, restored and accepted; and the roles that a link of the site gives.

What another app gives by a link is an InvitationKind of its own, which it registers when it starts.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.enums import Role, RoundState
from annotation.models import Invitation, Membership, ReviewRound, User
from annotation.models.fields import AsRead
from annotation.people.accounts import account_for
from annotation.people.roles import add_role, check_no_role_conflict, check_scope, revoke_issued_by
from annotation.people.tokens import (
    PeopleRefused,
    check_is_for,
    check_open,
    last_day,
    new_token,
    open_links,
    revoke_links,
    token_sha256,
)


class Grant(Struct, frozen=True):
    """A role to give: on the whole site, or in one round."""

    role: Role
    round: ReviewRound | None = None

    @property
    def label(self) -> str:
        role = _(self.role.label)
        return role if self.round is None else _("%(role)s of “%(round)s”") % {"role": role, "round": self.round.name}

    @classmethod
    def of(cls, invitation: Invitation) -> Grant:
        return cls(Role(invitation.role), invitation.round)


# Roles of a link, and those of other open ones, that somebody new may hold together, as found earlier in one request:
# the answer is the same for everybody new, and asking takes a transaction.
Agreed = set[tuple[frozenset[Grant], frozenset[Grant]]]


class InvitationMail(Struct, frozen=True):
    """The words of an e-mail with a link; the template knows ``invitation`` and ``link`` as well."""

    subject: str
    template: str
    context: dict[str, Any]


def _no_lock(_invitation: Invitation) -> None:
    """A link of this kind depends on nothing else."""


class InvitationKind(Struct, frozen=True):
    """What invitations of one kind give, and to whom."""

    page: str  # the name of the address behind the link, which holds the token
    mail: Callable[[Sequence[Invitation]], InvitationMail]
    check_may_accept: Callable[[User, Invitation], None]  # raises Refused where this account cannot use an open link
    give: Callable[[Invitation, User, datetime], None]  # in the transaction of the act; raises Refused
    lock: Callable[[Invitation], None] = _no_lock  # what is locked before the link


def kind_of(invitation: Invitation) -> InvitationKind:
    return ROLE_KIND if invitation.kind == Invitation.ROLE else contributed().invitation_kinds[invitation.kind]


class IssuedInvitation(Struct, frozen=True):
    """A link: its token and the rows of what it gives. The token exists nowhere else and cannot be shown again."""

    invitations: tuple[Invitation, ...]
    token: str

    @property
    def invitation(self) -> Invitation:
        return self.invitations[0]

    @property
    def link(self) -> str:
        return f"{settings.PUBLIC_URL}{reverse(kind_of(self.invitation).page, args=[self.token])}"


# --- a link of any kind ---------------------------------------------------------------------------
def store_link(
    grants: Sequence[Grant],
    *,
    email: str,
    name: str,
    actor: User | None,
    at: datetime,
    kind: str = Invitation.ROLE,
) -> IssuedInvitation:
    """Store what one new link gives, in the transaction of the act that decided on it."""
    token = new_token()
    rows = [
        Invitation.objects.create(
            kind=kind,
            token_sha256=token_sha256(token),
            email=email,
            name=name.strip(),
            role=grant.role,
            round=grant.round,
            created_by=actor,
            created_at=at,
            expires_at=last_day(at),
        )
        for grant in grants
    ]
    return IssuedInvitation(tuple(rows), token)


def find_invitation(token: str, kind: str = Invitation.ROLE) -> Invitation | None:
    """The invitation of a token, whatever its state; None for a token that was never given out."""
    found = _all().filter(token_sha256=token_sha256(token), kind=kind)
    return found.order_by(F("revoked_at").asc(nulls_first=True), "pk").first()


@transaction.atomic
def revoke(invitation: Invitation, *, actor: User, at: datetime) -> None:
    """Take what this row gives from its link, which is useless without another one. One that is used, revoked or
    expired stays as it is.
    """
    kind_of(invitation).lock(invitation)
    revoke_links(Invitation.objects.filter(pk=invitation.pk), actor=actor, at=at)
    invitation.refresh_from_db()


@transaction.atomic
def restore(invitation: Invitation, *, actor: User, at: datetime) -> bool:
    """Let a link give again what was revoked, until its day; False where it is used, expired or not revoked."""
    kind_of(invitation).lock(invitation)
    rows = restorable(_all(), at).select_for_update(of=("self",))
    link = rows.filter(pk=invitation.pk).first()
    if link is None:
        return False
    link.revoked_at = None
    link.save(update_fields=["revoked_at"])
    record(f"{link.word}.restored", actor=actor, at=at, subject=link)
    return True


def restorable(rows: QuerySet[Invitation], at: datetime) -> QuerySet[Invitation]:
    """Those that were revoked and would still work."""
    used = Invitation.objects.filter(token_sha256=OuterRef("token_sha256"), used_at__isnull=False)
    return rows.filter(~Exists(used), used_at__isnull=True, revoked_at__isnull=False, expires_at__gt=at)


@transaction.atomic
def accept_as_new_person(
    invitation: Invitation, *, email: str, name: str, password: str | None, time_zone: str, at: datetime
) -> User:
    """Make an account with what the link gives; without a password for who logs in by the provider.

    Raises Refused; then there is no account.
    """
    rows = _locked(invitation, at)
    person = account_for(invitation, email=email, name=name, password=password, time_zone=time_zone)
    _use(rows, person, at)
    return person


@transaction.atomic
def accept_as(person: User, invitation: Invitation, *, at: datetime) -> None:
    """Give an account what the link gives. Raises Refused."""
    rows = _locked(invitation, at)
    kind_of(invitation).check_may_accept(person, rows[0])
    _use(rows, person, at)


def _all() -> QuerySet[Invitation]:
    return Invitation.objects.select_related("round", "created_by")


def _locked(invitation: Invitation, at: datetime) -> list[Invitation]:
    """What an open link gives, locked until the transaction ends: it is used once even when opened twice at a time."""
    kind_of(invitation).lock(invitation)
    rows = _all().filter(token_sha256=invitation.token_sha256).select_for_update(of=("self",)).order_by("pk")
    locked = sorted(rows, key=lambda link: link.revoked_at is not None)
    check_open(locked[0], at)
    return [one for one in locked if one.revoked_at is None]


def _use(rows: Iterable[Invitation], person: User, at: datetime) -> None:
    for one in rows:
        one.used_at, one.used_by = at, person
        one.save(update_fields=["used_at", "used_by"])
        kind_of(one).give(one, person, at)


# --- roles on the site and in rounds --------------------------------------------------------------
@transaction.atomic
def invite(
    *grants: Grant,
    email: str,
    name: str,
    actor: User | None,
    at: datetime,
    agreed: Agreed | None = None,
) -> IssuedInvitation:
    """Issue one link for roles on the site or in rounds. An open one for the same address and role is replaced.

    ``email`` empty: whoever opens the link gives theirs. ``actor`` None: the program (the first administrator).
    Raises what ``check_can_invite`` raises.
    """
    email = email.strip().lower()
    check_can_invite(*grants, email=email, name=name, at=at, agreed=agreed)
    if email:
        for grant in grants:
            same = role_invitations().filter(email=email, role=grant.role, round=grant.round)
            revoke_links(same, actor=actor, at=at)
    issued = store_link(grants, email=email, name=name, actor=actor, at=at)
    for row in issued.invitations:
        facts = {"role": row.role, "round": row.round.slug if row.round else None}
        record("person.invited", actor=actor, at=at, subject=row, facts=facts)
    return issued


def check_can_invite(*grants: Grant, email: str, name: str, at: datetime, agreed: Agreed | None = None) -> None:
    """Whether these roles can be given by one link; stores nothing.

    Raises PeopleRefused: for a role that is not there, a round that is over, an account that holds the role or is
    deactivated, and for roles that the person must not hold, or not both, nor beside those of another open link for
    the address. ``agreed``: see Agreed.
    """
    for grant in grants:
        check_scope(grant.role, grant.round)
        _check_is_running(grant.round)
    person = User.objects.filter(email=email).first() if email else None
    if person is not None:
        _check_is_useful(person, grants)
    pending = [Grant.of(one) for one in open_invitations(at).filter(email=email)] if email else []
    question = frozenset(grants), frozenset(pending)
    if person is None and agreed is not None and question in agreed:
        return
    _check_go_together(person, grants, pending, name or email)
    if person is None and agreed is not None:
        agreed.add(question)


def role_invitations() -> QuerySet[Invitation]:
    return _all().filter(kind=Invitation.ROLE)


def open_invitations(at: datetime) -> QuerySet[Invitation]:
    """Links to roles that can still be used, newest first."""
    return open_links(role_invitations(), at)


def revoked_invitations(at: datetime) -> QuerySet[Invitation]:
    """Links to roles that were revoked and would still work, newest first."""
    return restorable(role_invitations(), at)


def roles_of_link(invitation: Invitation) -> list[Invitation]:
    """Every role that the link of this invitation gives; those that were revoked are not among them."""
    rows = _all().filter(token_sha256=invitation.token_sha256, revoked_at__isnull=True)
    return list(rows.order_by("pk"))


@transaction.atomic
def first_administrator_link(at: datetime) -> str | None:
    """A one-time link that makes an administrator; None while an active administrator exists.

    Asking again makes a new link and revokes the one before: only its hash is stored, so it cannot be shown again.
    """
    administrators = Membership.objects.filter(role=Role.ADMINISTRATOR, round__isnull=True, user__is_active=True)
    if administrators.exists():
        return None
    revoke_issued_by(None, actor=None, at=at)
    return invite(Grant(Role.ADMINISTRATOR), email="", name="", actor=None, at=at).link


def _check_may_accept(person: User, invitation: Invitation) -> None:
    """Raises PeopleRefused."""
    if invitation.created_by_id == person.pk:
        sentence = _(
            "You gave this link out yourself. Nobody gives roles to themselves: send it to the person it is for."
        )
        raise PeopleRefused("own_invitation", sentence)
    check_is_for(person, invitation)


class RoundPeople(Struct, frozen=True):
    """Who holds a role in one round, and who is asked to."""

    members: list[Membership]
    invitations: list[Invitation]


def people_of(review_round: ReviewRound, at: datetime) -> RoundPeople:
    """Members of a round by name, and its open invitations; two queries."""
    members = review_round.memberships.select_related("user").order_by(AsRead("user__name"), "user__email", "role")
    return RoundPeople(list(members), list(open_invitations(at).filter(round=review_round)))


def _give_role(invitation: Invitation, person: User, at: datetime) -> None:
    record("invitation.accepted", actor=person, at=at, subject=invitation)
    for role in _given_by(invitation):
        add_role(person, role, invitation.round, granted_by=invitation.created_by, actor=person, at=at)


def _given_by(invitation: Invitation) -> tuple[Role, ...]:
    """The role of the invitation; whoever founds a site can start alone, since nobody else could give them a role."""
    is_founding = invitation.created_by_id is None and invitation.role == Role.ADMINISTRATOR
    return (Role.ADMINISTRATOR, Role.COORDINATOR, Role.DEIDENTIFIER) if is_founding else (Role(invitation.role),)


def _check_is_running(review_round: ReviewRound | None) -> None:
    if review_round is None:
        return
    if review_round.state == RoundState.CLOSED or review_round.archived_at is not None:
        sentence = _("This round is closed: nobody else can join. Open a new round for more reviews.")
        raise PeopleRefused("round_over", sentence)


def _check_is_useful(person: User, grants: Sequence[Grant]) -> None:
    if not person.is_active:
        sentence = _("This address belongs to a deactivated account. An administrator can reactivate it.")
        raise PeopleRefused("deactivated", sentence, field="email")
    current = set(Membership.objects.filter(user=person).values_list("role", "round"))
    if has := [grant.label for grant in grants if (grant.role, grant.round and grant.round.pk) in current]:
        sentence = _("The person with this address has already: %(roles)s.")
        raise PeopleRefused("has_role", sentence % {"roles": ", ".join(has)}, field="email", roles=", ".join(has))


def _check_go_together(person: User | None, grants: Sequence[Grant], pending: Sequence[Grant], called: str) -> None:
    """Raises PeopleRefused. The rules look at what a person holds: these roles and those of other open links are
    given in a savepoint, asked about, and taken back, for somebody new as well.
    """
    if person is None and len({*grants, *pending}) < 2:
        return
    with transaction.atomic():
        if person is None:
            person = User.objects.create_user(f"{secrets.token_hex(16)}@invalid", name=called[:200] or _("This person"))
        for grant in {*grants, *pending}:
            Membership.objects.get_or_create(
                user=person, role=grant.role, round=grant.round, defaults={"granted_at": person.created_at}
            )
        with_roles = User.objects.get(pk=person.pk)
        for grant in grants:
            check_no_role_conflict(with_roles, grant.role, grant.round, field="roles")
        transaction.set_rollback(True)


def _role_mail(roles: Sequence[Invitation]) -> InvitationMail:
    subject = _("Invitation to the reading room")
    return InvitationMail(subject, "annotation/people/_role_invitation_mail.txt", {"roles": roles})


ROLE_KIND = InvitationKind("invitation", _role_mail, _check_may_accept, _give_role)
