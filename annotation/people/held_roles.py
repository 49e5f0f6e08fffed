"""What a person is on the site and in each bank, round and study, as the program finds it when it decides."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.enums import AssignmentState, Role
from annotation.models import Assignment, ReviewRound, User
from annotation.models.programs import TokenScope
from annotation.people.tokens import TokenPlace, place_rules
from annotation.site.permissions import site_roles

_ALL = {
    TokenScope.BANK: gettext_lazy("all banks"),
    TokenScope.ROUND: gettext_lazy("all rounds"),
    TokenScope.STUDY: gettext_lazy("all studies"),
}
_OTHERS = {
    TokenScope.BANK: gettext_lazy("all other banks"),
    TokenScope.ROUND: gettext_lazy("all other rounds"),
    TokenScope.STUDY: gettext_lazy("all other studies"),
}


@dataclass(frozen=True, slots=True)
class HeldRoles:
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
