from __future__ import annotations

from datetime import datetime

import pytest

from annotation.enums import LinkState, Role
from annotation.models import AuditEvent, Membership, ReviewRound, User
from annotation.people import accounts, roles
from annotation.people.invitations import Grant, invite
from annotation.people.tokens import PeopleRefused
from annotation.site.permissions import is_administrator, is_coordinator, may_invite_to_round
from tests.refusals import refuses


def test_granting_twice_changes_nothing(ada: User, stan: User, noon: datetime) -> None:
    assert not is_coordinator(stan)
    first = roles.grant(stan, Role.COORDINATOR, actor=ada, at=noon)
    assert roles.grant(stan, Role.COORDINATOR, actor=ada, at=noon) == first
    assert is_coordinator(stan)
    assert AuditEvent.objects.count() == 1


def test_withdrawing_what_is_not_held_changes_nothing(ada: User, stan: User, noon: datetime) -> None:
    roles.withdraw(stan, Role.COORDINATOR, actor=ada, at=noon)
    assert not AuditEvent.objects.exists()


def test_a_role_in_a_round_is_not_one_on_the_site(
    ada: User, stan: User, open_round: ReviewRound, noon: datetime
) -> None:
    roles.grant(stan, Role.COORDINATOR, review_round=open_round, actor=ada, at=noon)
    assert not is_coordinator(stan)
    assert may_invite_to_round(stan, open_round)
    roles.withdraw(stan, Role.COORDINATOR, actor=ada, at=noon)
    assert Membership.objects.filter(user=stan).count() == 1


@pytest.mark.parametrize("role", [Role.ADMINISTRATOR, Role.COORDINATOR])
def test_nobody_changes_their_own_roles(ada: User, role: Role, noon: datetime) -> None:
    with refuses(PeopleRefused, "own_roles"):
        roles.grant(ada, role, actor=ada, at=noon)
    with refuses(PeopleRefused, "own_roles"):
        roles.withdraw(ada, role, actor=ada, at=noon)
    with refuses(PeopleRefused, "own_roles"):
        accounts.deactivate(ada, actor=ada, at=noon)
    assert is_administrator(ada)


def test_the_last_administrator_stays(ada: User, cora: User, noon: datetime) -> None:
    with refuses(PeopleRefused, "last_administrator"):
        roles.withdraw(ada, Role.ADMINISTRATOR, actor=cora, at=noon)
    with refuses(PeopleRefused, "last_administrator"):
        accounts.deactivate(ada, actor=cora, at=noon)
    roles.grant(cora, Role.ADMINISTRATOR, actor=ada, at=noon)
    accounts.deactivate(ada, actor=cora, at=noon)
    with refuses(PeopleRefused, "last_administrator"):  # a deactivated administrator does not count
        roles.withdraw(cora, Role.ADMINISTRATOR, actor=ada, at=noon)


def test_links_end_with_the_right_to_give_them_out(ada: User, cora: User, noon: datetime) -> None:
    roles.grant(cora, Role.ADMINISTRATOR, actor=ada, at=noon)
    first = invite(Grant(Role.ADMINISTRATOR), email="", name="", actor=cora, at=noon).invitation
    roles.withdraw(cora, Role.ADMINISTRATOR, actor=ada, at=noon)
    second = invite(Grant(Role.REVIEWER), email="", name="", actor=cora, at=noon).invitation
    accounts.deactivate(cora, actor=ada, at=noon)
    for invitation in (first, second):
        invitation.refresh_from_db()
        assert invitation.state(noon) is LinkState.REVOKED


def test_deactivating_and_back(ada: User, rita: User, noon: datetime) -> None:
    accounts.deactivate(rita, actor=ada, at=noon)
    accounts.deactivate(rita, actor=ada, at=noon)
    accounts.reactivate(rita, actor=ada, at=noon)
    accounts.reactivate(rita, actor=ada, at=noon)
    assert User.objects.get(pk=rita.pk).is_active
    assert list(AuditEvent.objects.values_list("act", flat=True)) == ["person.deactivated", "person.reactivated"]


def test_an_address_is_taken_however_it_is_written(ada: User, rita: User, noon: datetime) -> None:
    with refuses(PeopleRefused, "address_taken"):
        accounts.add_person(email="RITA@Example.org ", name="R", time_zone="UTC", roles=[], actor=ada, at=noon)


def test_coordinators_invite_reviewers_and_administrators_invite_coordinators(
    ada: User, cora: User, rita: User, open_round: ReviewRound
) -> None:
    assert may_invite_to_round(cora, open_round, Role.REVIEWER)
    assert not may_invite_to_round(cora, open_round, Role.COORDINATOR)
    assert may_invite_to_round(ada, open_round, Role.COORDINATOR)
    assert not may_invite_to_round(ada, open_round, Role.ADMINISTRATOR)
    assert not may_invite_to_round(rita, open_round)
