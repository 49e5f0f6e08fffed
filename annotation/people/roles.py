"""Roles on the whole site or in one round: who must not hold one, and how they are given and taken.

What a person is on the site and in each bank, round and study, as the program finds it when it decides.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.enums import AssignmentState, Role
from annotation.models import Assignment, AuditEvent, Invitation, Membership, ReviewRound, User
from annotation.models.fields import AsRead
from annotation.models.people import TokenScope
from annotation.people.tokens import PeopleRefused, TokenPlace, place_rules, revoke_links, revoke_tokens
from annotation.site.permissions import ROUND_ROLES, SITE_ROLES, site_roles

WITHDRAWN = "role.withdrawn"
UNDO_FOR = timedelta(days=30)  # so long a role that was removed is offered to be given back


def check_no_role_conflict(person: User, role: Role, review_round: ReviewRound | None, *, field: str = "role") -> None:
    """Raises PeopleRefused with what all rules say against it."""
    if reasons := [reason for rule in contributed().role_rules if (reason := rule(person, role, review_round))]:
        raise PeopleRefused("role_conflict", " ".join(reasons), field=field)


def check_scope(role: Role, review_round: ReviewRound | None) -> None:
    """Raises PeopleRefused for a role of the site in a round, and the reverse."""
    if role not in (SITE_ROLES if review_round is None else ROUND_ROLES):
        sentence = _("This role is for the whole site, not for one round. Leave the round empty.")
        raise PeopleRefused("wrong_scope", sentence, status=422, field="role")


@transaction.atomic
def grant(
    person: User, role: Role, *, actor: User, at: datetime, review_round: ReviewRound | None = None
) -> Membership:
    """Give a role. Giving it twice changes nothing. Raises PeopleRefused."""
    check_scope(role, review_round)
    _check_is_not_self(person, actor)
    return add_role(person, role, review_round, granted_by=actor, actor=actor, at=at)


@transaction.atomic
def withdraw(
    person: User,
    role: Role,
    *,
    actor: User | None,
    at: datetime,
    review_round: ReviewRound | None = None,
    by_provider: bool = False,
) -> None:
    """Take a role, and revoke the tokens that carry it and the open links that were given out with it; work stays.

    Taking a role that the person does not hold changes nothing. ``by_provider``: only what the provider gave. Raises
    PeopleRefused.
    """
    _check_is_not_self(person, actor)
    if role == Role.ADMINISTRATOR and review_round is None:
        check_is_not_last_administrator(person)
    rows = Membership.objects.filter(user=person, role=role, round=review_round)
    n_gone, _rows = (rows.filter(by_provider=True) if by_provider else rows).delete()
    if not n_gone:
        return
    _forget_roles(person)
    if role in (Role.ADMINISTRATOR, Role.COORDINATOR):
        revoke_issued_by(person, actor=actor, at=at)
    tokens = person.access_tokens.filter(role=role)
    if review_round is not None:
        tokens = tokens.filter(scope=TokenScope.ROUND, place_id=review_round.pk)
    revoke_tokens(tokens, actor=actor, at=at, reason="role")
    record(WITHDRAWN, actor=actor, at=at, subject=person, facts=_facts(role, review_round, by_provider))


def add_role(
    person: User,
    role: Role,
    review_round: ReviewRound | None,
    *,
    granted_by: User | None,
    actor: User | None,
    at: datetime,
    by_provider: bool = False,
) -> Membership:
    """Write one membership in the transaction of the act that decided on it. Raises PeopleRefused."""
    given = {"granted_by": granted_by, "granted_at": at, "by_provider": by_provider}
    membership, is_new = Membership.objects.get_or_create(user=person, role=role, round=review_round, defaults=given)
    if is_new:
        check_no_role_conflict(person, role, review_round)
        _forget_roles(person)
        record("role.granted", actor=actor, at=at, subject=person, facts=_facts(role, review_round, by_provider))
    return membership


def follow_provider(person: User, roles: frozenset[Role], *, at: datetime) -> None:
    """The roles of the site that the provider says: given, and those that it gave before and says no more, taken.

    A role that somebody gave by hand stays as it is. One that the person must not hold is not given, and the last
    administrator stays one. Runs in the transaction of the act that needs it.
    """
    before = set(Membership.objects.filter(user=person, by_provider=True).values_list("role", flat=True))
    for role in sorted(before - roles):
        with suppress(PeopleRefused), transaction.atomic():
            withdraw(person, Role(role), actor=None, at=at, by_provider=True)
    for role in sorted(roles - before):
        with suppress(PeopleRefused), transaction.atomic():
            add_role(person, role, None, granted_by=None, actor=None, at=at, by_provider=True)


def revoke_issued_by(person: User | None, *, actor: User | None, at: datetime) -> None:
    """Make the open links to roles useless that this person (None: the program) gave out.

    Runs in the transaction of the act that needs it.
    """
    revoke_links(Invitation.objects.filter(kind=Invitation.ROLE, created_by=person), actor=actor, at=at)


class RemovedRole(Struct, frozen=True):
    """A role that a person held until lately."""

    role: Role
    review_round: ReviewRound | None
    removed_at: datetime
    removed_by: User | None

    @property
    def label(self) -> str:
        return _(self.role.label)


def removed_roles(person: User, at: datetime) -> list[RemovedRole]:
    """The roles that were removed lately and are not held again, the last one first."""
    events = AuditEvent.objects.filter(act=WITHDRAWN, subject_type="user", subject_id=str(person.pk))
    events = events.filter(at__gt=at - UNDO_FOR).select_related("actor").order_by("-pk")
    rounds = {one.slug: one for one in ReviewRound.objects.filter(slug__in=[e.facts["round"] for e in events])}
    current = {(role, slug) for role, slug in person.memberships.values_list("role", "round__slug")}
    found: dict[tuple[str, str | None], RemovedRole] = {}
    for event in events:
        role, slug = event.facts["role"], event.facts["round"]
        if (role, slug) not in current and (slug is None or slug in rounds):
            removed = RemovedRole(Role(role), rounds.get(slug or ""), event.at, event.actor)
            found.setdefault((role, slug), removed)
    return list(found.values())


def check_is_not_last_administrator(person: User) -> None:
    """Raises PeopleRefused. Locks the administrators, so that two cannot remove each other at once."""
    locked = Membership.objects.select_for_update().filter(role=Role.ADMINISTRATOR, round__isnull=True)
    holders = set(locked.values_list("user_id", flat=True))
    if person.pk in holders and not User.objects.filter(pk__in=holders - {person.pk}, is_active=True).exists():
        sentence = _("This is the last administrator. Make somebody else an administrator first.")
        raise PeopleRefused("last_administrator", sentence)


def _forget_roles(person: User) -> None:
    """Drop the answer that permissions keep on the person object."""
    person.__dict__.pop("_site_roles", None)


def _check_is_not_self(person: User, actor: User | None) -> None:
    """Nobody changes their own roles: somebody else has to agree."""
    if actor is not None and person.pk == actor.pk:
        raise PeopleRefused("own_roles", _("You cannot change your own roles; another administrator can."))


def _facts(role: Role, review_round: ReviewRound | None, by_provider: bool) -> dict[str, str | None]:
    facts = {"role": role.value, "round": review_round.slug if review_round else None}
    return facts | ({"by": "provider"} if by_provider else {})


def possible_reviewers(review_round: ReviewRound | None = None) -> QuerySet[User]:
    """People who may log in and are reviewers of the whole site, or of this round."""
    holds = Q(memberships__role=Role.REVIEWER, memberships__round__isnull=True)
    if review_round is not None:
        holds |= Q(memberships__role=Role.REVIEWER, memberships__round=review_round)
    return (
        User.objects.filter(holds, is_active=True)
        .distinct()
        .prefetch_related("competences")
        .order_by(AsRead("name"), "email")
    )


_ALL = {
    TokenScope.BANK: gettext_lazy("all banks"),
    TokenScope.ROUND: gettext_lazy("all rounds"),
    TokenScope.STUDY: gettext_lazy("all studies"),
    TokenScope.TEAM: gettext_lazy("all teams of leaderboards"),
}
_OTHERS = {
    TokenScope.BANK: gettext_lazy("all other banks"),
    TokenScope.ROUND: gettext_lazy("all other rounds"),
    TokenScope.STUDY: gettext_lazy("all other studies"),
    TokenScope.TEAM: gettext_lazy("all other teams of leaderboards"),
}


class HeldRoles(Struct, frozen=True):
    """In one place, or in all of a kind in which the roles of the site are all that counts. Without a role: nothing."""

    kind: str  # of place
    name: str
    roles: tuple[Role, ...]


def held_roles(person: User) -> list[HeldRoles]:
    """Places where the roles differ from those everywhere are listed by name. The number of queries is fixed."""
    if not person.is_active:
        return []
    places: dict[TokenScope, list[TokenPlace]] = {scope: [] for scope in TokenScope}
    for rule in place_rules().values():
        for place in rule(person, None):
            places[place.scope].append(place)
    places[TokenScope.ROUND] = _with_reviews(person, places[TokenScope.ROUND])
    found = [HeldRoles(_("site"), _("whole site"), _ordered(site_roles(person)))]
    for scope in _ALL:
        found += _of_scope(person, scope, places[scope])
    return found


def _of_scope(person: User, scope: TokenScope, places: list[TokenPlace]) -> list[HeldRoles]:
    usual = site_roles(person) & {Role.COORDINATOR, Role.ADMINISTRATOR}
    if scope == TokenScope.BANK:
        usual = places[0].roles if places else frozenset()  # nobody is anything in a single bank
    kind = _(scope.label)
    named = [HeldRoles(kind, one.name, _ordered(one.roles)) for one in places if one.roles != usual]
    rest = [HeldRoles(kind, str((_OTHERS if named else _ALL)[scope]), _ordered(usual))] if usual else []
    return named + rest


def _with_reviews(person: User, places: list[TokenPlace]) -> list[TokenPlace]:
    """Who has questions in a round reviews there, also once the role was taken: work stays."""
    mine = Assignment.objects.filter(reviewer=person).exclude(state=AssignmentState.WITHDRAWN).order_by()
    reviewed = set(mine.values_list("round", flat=True).distinct())
    known = {place.pk for place in places}
    others = ReviewRound.objects.filter(pk__in=reviewed - known)
    places = [*places, *(TokenPlace(TokenScope.ROUND, one.pk, one.name, one.slug, frozenset()) for one in others)]
    return [replace(one, roles=one.roles | {Role.REVIEWER}) if one.pk in reviewed else one for one in places]


def _ordered(roles: frozenset[str]) -> tuple[Role, ...]:
    return tuple(role for role in Role if role in roles)
