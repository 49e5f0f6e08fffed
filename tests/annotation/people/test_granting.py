from __future__ import annotations

from datetime import datetime

import pytest

from annotation.enums import Role
from annotation.models import AuditEvent, Membership, ReviewRound, User
from annotation.people import granting, joining
from annotation.people.inviting import Grant, LinkState, invite, standing
from annotation.site.permissions import is_administrator, is_coordinator, may_invite_to_round


def test_granting_twice_changes_nothing(ada: User, stan: User, noon: datetime) -> None:
    assert not is_coordinator(stan)
    first = granting.grant(stan, Role.COORDINATOR, actor=ada, at=noon)
    assert granting.grant(stan, Role.COORDINATOR, actor=ada, at=noon) == first
    assert is_coordinator(stan)
    assert AuditEvent.objects.count() == 1


def test_withdrawing_what_is_not_held_changes_nothing(ada: User, stan: User, noon: datetime) -> None:
    granting.withdraw(stan, Role.COORDINATOR, actor=ada, at=noon)
    assert not AuditEvent.objects.exists()


def test_a_role_in_a_round_is_not_one_on_the_site(
    ada: User, stan: User, open_round: ReviewRound, noon: datetime
) -> None:
    granting.grant(stan, Role.COORDINATOR, review_round=open_round, actor=ada, at=noon)
    assert not is_coordinator(stan)
    assert may_invite_to_round(stan, open_round)
    granting.withdraw(stan, Role.COORDINATOR, actor=ada, at=noon)
    assert Membership.objects.filter(user=stan).count() == 1


@pytest.mark.parametrize("role", [Role.ADMINISTRATOR, Role.COORDINATOR])
def test_nobody_changes_their_own_roles(ada: User, role: Role, noon: datetime) -> None:
    with pytest.raises(granting.OwnRoles):
        granting.grant(ada, role, actor=ada, at=noon)
    with pytest.raises(granting.OwnRoles):
        granting.withdraw(ada, role, actor=ada, at=noon)
    with pytest.raises(granting.OwnRoles):
        joining.deactivate(ada, actor=ada, at=noon)
    assert is_administrator(ada)


def test_the_last_administrator_stays(ada: User, cora: User, noon: datetime) -> None:
    with pytest.raises(granting.LastAdministrator):
        granting.withdraw(ada, Role.ADMINISTRATOR, actor=cora, at=noon)
    with pytest.raises(granting.LastAdministrator):
        joining.deactivate(ada, actor=cora, at=noon)
    granting.grant(cora, Role.ADMINISTRATOR, actor=ada, at=noon)
    joining.deactivate(ada, actor=cora, at=noon)
    with pytest.raises(granting.LastAdministrator):  # a deactivated administrator does not count
        granting.withdraw(cora, Role.ADMINISTRATOR, actor=ada, at=noon)


def test_links_end_with_the_right_to_give_them_out(ada: User, cora: User, noon: datetime) -> None:
    granting.grant(cora, Role.ADMINISTRATOR, actor=ada, at=noon)
    first = invite(Grant(Role.ADMINISTRATOR), email="", name="", actor=cora, at=noon).invitation
    granting.withdraw(cora, Role.ADMINISTRATOR, actor=ada, at=noon)
    second = invite(Grant(Role.REVIEWER), email="", name="", actor=cora, at=noon).invitation
    joining.deactivate(cora, actor=ada, at=noon)
    for invitation in (first, second):
        invitation.refresh_from_db()
        assert standing(invitation, noon) is LinkState.REVOKED


def test_deactivating_and_back(ada: User, rita: User, noon: datetime) -> None:
    joining.deactivate(rita, actor=ada, at=noon)
    joining.deactivate(rita, actor=ada, at=noon)
    joining.reactivate(rita, actor=ada, at=noon)
    joining.reactivate(rita, actor=ada, at=noon)
    assert User.objects.get(pk=rita.pk).is_active
    assert list(AuditEvent.objects.values_list("act", flat=True)) == ["person.deactivated", "person.reactivated"]


def test_an_address_is_taken_however_it_is_written(ada: User, rita: User, noon: datetime) -> None:
    with pytest.raises(joining.AddressTaken):
        joining.add_person(email="RITA@Example.org ", name="R", time_zone="UTC", roles=[], actor=ada, at=noon)


def test_coordinators_invite_reviewers_and_administrators_invite_coordinators(
    ada: User, cora: User, rita: User, open_round: ReviewRound
) -> None:
    assert may_invite_to_round(cora, open_round, Role.REVIEWER)
    assert not may_invite_to_round(cora, open_round, Role.COORDINATOR)
    assert may_invite_to_round(ada, open_round, Role.COORDINATOR)
    assert not may_invite_to_round(ada, open_round, Role.ADMINISTRATOR)
    assert not may_invite_to_round(rita, open_round)
