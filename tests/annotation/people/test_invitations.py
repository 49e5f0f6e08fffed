from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from annotation.audit.recording import verify
from annotation.enums import LinkState, Role, RoundState
from annotation.models import AuditEvent, Invitation, Membership, ReviewRound, User
from annotation.people import accounts, invitations
from annotation.people.invitations import Grant, find_invitation, first_administrator_link, invite
from annotation.people.links import PeopleRefused
from tests.refusals import refuses


def acts() -> list[str]:
    return list(AuditEvent.objects.values_list("act", flat=True))


def accept(issued: invitations.IssuedInvitation, at: datetime, email: str = "nina@example.org") -> User:
    return invitations.accept_as_new_person(
        issued.invitation, email=email, name="Nina", password="correct horse", time_zone="Europe/Berlin", at=at
    )


def test_only_the_hash_of_the_token_is_stored(ada: User, noon: datetime) -> None:
    issued = invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=noon)
    row = Invitation.objects.values().get()
    assert issued.token not in str(row)
    assert find_invitation(issued.token) == issued.invitation
    assert find_invitation(issued.token[:-1]) is None
    assert issued.token not in str(list(AuditEvent.objects.values()))


def test_the_state_over_the_life_of_a_link(ada: User, noon: datetime) -> None:
    issued = invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=noon)
    almost = noon + timedelta(days=14) - timedelta(seconds=1)
    assert issued.invitation.state(almost) is LinkState.OPEN
    assert issued.invitation.state(almost + timedelta(seconds=1)) is LinkState.EXPIRED
    invitations.revoke(issued.invitation, actor=ada, at=noon)
    assert issued.invitation.state(noon) is LinkState.REVOKED
    invitations.revoke(issued.invitation, actor=ada, at=noon)
    assert acts() == ["person.invited", "invitation.revoked"]


def test_a_link_works_once(ada: User, noon: datetime) -> None:
    issued = invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=noon)
    nina = accept(issued, noon)
    assert nina.check_password("correct horse")
    assert Membership.objects.get(user=nina).granted_by == ada
    with refuses(PeopleRefused, "link_closed") as closed:
        accept(issued, noon, "other@example.org")
    assert closed.value.facts == {"state": LinkState.USED}
    assert acts() == ["person.invited", "invitation.accepted", "role.granted"]
    assert verify().fault is None


@pytest.mark.parametrize("days", [14, 400])
def test_an_old_link_stores_nothing(ada: User, noon: datetime, days: int) -> None:
    issued = invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=noon)
    with refuses(PeopleRefused, "link_closed"):
        accept(issued, noon + timedelta(days=days))
    assert not User.objects.filter(name="Nina").exists()


def test_the_address_of_an_invitation_stays(ada: User, noon: datetime) -> None:
    issued = invite(Grant(Role.REVIEWER), email="Nina@Example.org", name="", actor=ada, at=noon)
    with refuses(PeopleRefused, "other_address"):
        accept(issued, noon, "mallory@example.org")
    assert accept(issued, noon, "NINA@example.org").email == "nina@example.org"


def test_a_new_link_replaces_the_open_one_for_the_same_address_and_role(ada: User, noon: datetime) -> None:
    first = invite(Grant(Role.REVIEWER), email="nina@example.org", name="", actor=ada, at=noon)
    other_role = invite(Grant(Role.COORDINATOR), email="nina@example.org", name="", actor=ada, at=noon)
    invite(Grant(Role.REVIEWER), email="nina@example.org", name="", actor=ada, at=noon)
    first.invitation.refresh_from_db()
    other_role.invitation.refresh_from_db()
    assert first.invitation.revoked_at == noon
    assert other_role.invitation.revoked_at is None


def test_an_account_takes_a_role(ada: User, rita: User, open_round: ReviewRound, noon: datetime) -> None:
    issued = invite(Grant(Role.REVIEWER, open_round), email=rita.email, name="", actor=ada, at=noon)
    invitations.accept_as(rita, issued.invitation, at=noon)
    assert Membership.objects.filter(user=rita, round=open_round, role=Role.REVIEWER).exists()


def test_a_link_for_several_roles_is_used_as_a_whole(
    ada: User, rita: User, open_round: ReviewRound, noon: datetime
) -> None:
    grants = Grant(Role.COORDINATOR), Grant(Role.REVIEWER, open_round)
    issued = invite(*grants, email="", name="", actor=ada, at=noon)
    invitations.accept_as(rita, issued.invitation, at=noon)
    held = set(rita.memberships.values_list("role", "round__slug"))
    assert held == {(Role.REVIEWER, None), (Role.COORDINATOR, None), (Role.REVIEWER, open_round.slug)}
    assert not Invitation.objects.filter(used_at=None).exists()
    with refuses(PeopleRefused, "link_closed"):
        invitations.accept_as(rita, issued.invitations[1], at=noon)


def test_a_role_that_is_held_already_is_named(ada: User, rita: User, noon: datetime) -> None:
    with refuses(PeopleRefused, "has_role", match=r"has already: reviewer\.$") as refusal:
        invite(Grant(Role.COORDINATOR), Grant(Role.REVIEWER), email=rita.email, name="", actor=ada, at=noon)
    assert refusal.value.facts == {"roles": "reviewer"}
    assert not Invitation.objects.exists()


def test_nobody_uses_an_invitation_of_their_own_or_of_another(
    ada: User, rita: User, remo: User, noon: datetime
) -> None:
    own = invite(Grant(Role.COORDINATOR), email="", name="", actor=ada, at=noon)
    with refuses(PeopleRefused, "own_invitation"):
        invitations.accept_as(ada, own.invitation, at=noon)
    for_rita = invite(Grant(Role.COORDINATOR), email=rita.email, name="", actor=ada, at=noon)
    with refuses(PeopleRefused, "other_address"):
        invitations.accept_as(remo, for_rita.invitation, at=noon)
    assert not Membership.objects.filter(role=Role.COORDINATOR).exists()


def test_useless_invitations_are_refused(ada: User, rita: User, remo: User, noon: datetime) -> None:
    with refuses(PeopleRefused, "has_role"):
        invite(Grant(Role.REVIEWER), email="RITA@example.org", name="", actor=ada, at=noon)
    accounts.deactivate(remo, actor=ada, at=noon)
    with refuses(PeopleRefused, "deactivated"):
        invite(Grant(Role.COORDINATOR), email=remo.email, name="", actor=ada, at=noon)
    assert not Invitation.objects.exists()


def test_roles_stay_in_their_scope(ada: User, open_round: ReviewRound, noon: datetime) -> None:
    with refuses(PeopleRefused, "wrong_scope"):
        invite(Grant(Role.ADMINISTRATOR, open_round), email="", name="", actor=ada, at=noon)
    with refuses(PeopleRefused, "wrong_scope"):
        invite(Grant(Role.READER), email="", name="", actor=ada, at=noon)


def test_nobody_joins_a_round_that_is_over(ada: User, open_round: ReviewRound, noon: datetime) -> None:
    open_round.state = RoundState.CLOSED
    with refuses(PeopleRefused, "round_over"):
        invite(Grant(Role.REVIEWER, open_round), email="", name="", actor=ada, at=noon)


def test_the_link_of_the_first_administrator_is_renewed_until_there_is_one(db: None, noon: datetime) -> None:
    first = first_administrator_link(noon)
    second = first_administrator_link(noon)
    assert first
    assert second
    assert first != second
    old, new = (find_invitation(link.rstrip("/").rpartition("/")[2]) for link in (first, second))
    assert old is not None
    assert new is not None
    assert old.state(noon) is LinkState.REVOKED
    boss = invitations.accept_as_new_person(
        new, email="boss@example.org", name="Boss", password="correct horse", time_zone="UTC", at=noon
    )
    assert first_administrator_link(noon) is None
    User.objects.filter(pk=boss.pk).update(is_active=False)
    assert first_administrator_link(noon) is not None
