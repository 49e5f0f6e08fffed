"""Who is here: reads for the pages about people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, Q, QuerySet

from annotation.enums import AssignmentState, RoundState
from annotation.models import Assignment, Invitation, Membership, ReviewRound, User
from annotation.people.inviting import open_invitations
from annotation.site.hooks import Hooks


@dataclass(frozen=True, slots=True)
class PartElsewhere:
    """What somebody is without a role of the site or of a round: another app knows it."""

    person_id: int
    label: str
    place: str
    url: str


parts: Hooks[Callable[[Collection[int]], Iterable[PartElsewhere]]] = Hooks()  # of ids of people


def parts_of(people: Collection[int]) -> dict[int, list[PartElsewhere]]:
    """What these people are besides their roles, by their ids."""
    found: dict[int, list[PartElsewhere]] = defaultdict(list)
    for tell in parts:
        for part in tell(people):
            found[part.person_id].append(part)
    return dict(found)


def people_matching(search: str) -> QuerySet[User]:
    """People whose name or address holds every word of the search, with their roles; all for an empty search."""
    rows = User.objects.prefetch_related(
        Prefetch("memberships", Membership.objects.select_related("round").order_by("round_id", "role"))
    )
    for word in search.split():
        rows = rows.filter(Q(name__icontains=word) | Q(email__icontains=word))
    return rows.order_by("-is_active", "name", "email")


def n_open_assignments(person: User) -> int:
    """Questions in open rounds that wait for this person."""
    rows = Assignment.objects.filter(reviewer=person, round__state=RoundState.OPEN)
    over = (AssignmentState.SUBMITTED, AssignmentState.RETURNED, AssignmentState.WITHDRAWN)
    return rows.exclude(state__in=over).count()


def has_account(email: str) -> bool:
    return bool(email) and User.objects.filter(email=email).exists()


@dataclass(frozen=True, slots=True)
class RoundPeople:
    """Who holds a role in one round, and who is asked to."""

    members: list[Membership]
    invitations: list[Invitation]


def people_of(review_round: ReviewRound, at: datetime) -> RoundPeople:
    """Members of a round by name, and its open invitations; two queries."""
    members = review_round.memberships.select_related("user").order_by("user__name", "user__email", "role")
    return RoundPeople(list(members), list(open_invitations(at).filter(round=review_round)))
