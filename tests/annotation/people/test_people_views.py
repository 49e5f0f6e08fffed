from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from unicodedata import normalize

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.enums import AssignmentState, LinkState, Role
from annotation.models import AuditEvent, Membership, ReviewRound, User
from annotation.people import accounts, roles
from annotation.people.invitations import Grant, invite
from annotation.people.roles import grant
from annotation.people.tokens import PeopleRefused
from annotation.site.permissions import is_administrator, is_coordinator, may_invite_to_round
from tests.annotation.review.cases import make_round
from tests.emails import delivered
from tests.pages import markup
from tests.refusals import refuses

ADD = {"name": "Nina", "email": "Nina@example.org", "time_zone": "UTC", "roles": ["reviewer"]}

YES = {"confirmed": "yes"}
REVIEWER = {"role": "reviewer"}


# --- list ---


def test_the_list_is_searched_by_name_and_address(as_ada: Client, rita: User, remo: User) -> None:
    page = as_ada.get("/people/").content.decode()
    assert page.index("Ada") < page.index("Remo") < page.index("Rita")
    found = as_ada.get("/people/?q=RIT exam").content.decode()
    assert "Rita" in found
    assert "Remo" not in found
    assert "Nobody" in as_ada.get("/people/?q=<b>zz").content.decode()
    assert "&lt;b&gt;zz" in as_ada.get("/people/?q=<b>zz").content.decode()


def test_the_fragment_is_the_list_alone_and_a_strange_search_still_answers(as_ada: Client) -> None:
    fragment = as_ada.get("/people/?q=ada", headers={"HX-Request": "true"})
    assert fragment.content.decode().strip().startswith('<div id="people-list">')
    assert "HX-Request" in fragment["Vary"]
    back = as_ada.get("/people/?q=ada", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in back.content.decode()
    for query in ("q=" + "x" * 300, "page=zz", "page=-1", "page=999", "q=%25_"):
        assert as_ada.get(f"/people/?{query}").status_code == 200, query


@pytest.mark.parametrize("n_more", [0, 30])
def test_queries_do_not_grow_with_the_people(
    as_ada: Client,
    ada: User,
    open_round: ReviewRound,
    noon: datetime,
    n_more: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(n_more):
        person = User.objects.create_user(f"p{number}@example.org", name=f"P{number}")
        grant(person, Role.REVIEWER, review_round=open_round, actor=ada, at=noon)
        later = noon.replace(year=2999)
        invite(Grant(Role.REVIEWER, open_round), email="", name=f"I{number}", actor=ada, at=later)
    if not n_more:
        grant(User.objects.create_user("p@example.org", name="P"), Role.REVIEWER, actor=ada, at=noon)
    with django_assert_num_queries(10):  # session, person, roles; count, people, memberships; studies; invitations
        as_ada.get("/people/")


# --- adding ---


def test_adding_makes_an_account_and_a_link_to_set_the_password(as_ada: Client, settings: Settings) -> None:
    page = as_ada.post("/people/add/", ADD)
    link = re.search(r'value="(http[^"]+/password/new/[^"]+)"', page.content.decode())
    assert link
    nina = User.objects.get(email="nina@example.org")
    assert not nina.has_usable_password()
    assert Membership.objects.get(user=nina).role == Role.REVIEWER
    acts = list(AuditEvent.objects.values_list("act", flat=True))
    assert acts == ["person.added", "role.granted", "password.link_issued"]
    hers = Client()
    form_at = hers.get(link.group(1).removeprefix(settings.PUBLIC_URL))["Location"]
    hers.post(form_at, {"password": "another staple 77", "password_again": "another staple 77"})
    assert User.objects.get(pk=nina.pk).check_password("another staple 77")


def test_adding_refuses_nonsense(as_ada: Client) -> None:
    for name, wrong in (
        ("email", "ada@example.org"),
        ("email", "x"),
        ("name", " "),
        ("roles", ["emperor"]),
        ("time_zone", "Mars"),
    ):
        assert as_ada.post("/people/add/", ADD | {name: wrong}).status_code == 422, wrong
    assert User.objects.count() == 1
    assert not AuditEvent.objects.exists()


def test_hostile_names_are_stored_and_shown_exactly(as_ada: Client, ada: User, shared_data: Path) -> None:
    names = (shared_data / "hostile/text/naughty_strings.txt").read_text(encoding="utf-8").split("\n")
    names = [normalize("NFC", name) for name in names if name]
    for number, name in enumerate(names):
        email = f"n{number}@example.org"
        assert as_ada.post("/people/add/", ADD | {"name": name, "email": email}).status_code == 200
        assert User.objects.get(email=email).name == name
    page = as_ada.get("/people/").content.decode()
    for name in names:
        assert f"<bdi>{escape(name)}</bdi>" in page


def test_a_password_link_for_somebody_who_cannot_log_in(as_ada: Client, rita: User, settings: Settings) -> None:
    settings.EMAIL_HOST = "smtp.example.org"
    page = as_ada.post(f"/people/{rita.pk}/password-link/").content.decode()
    assert "being sent to rita@example.org" in page
    assert "/password/new/" in str(delivered()[0].body)
    assert AuditEvent.objects.get().act == "password.link_issued"
    User.objects.filter(pk=rita.pk).update(is_active=False)
    assert as_ada.post(f"/people/{rita.pk}/password-link/").status_code == 404


# --- one person ---


def test_a_role_is_given_and_taken(as_ada: Client, stan: User, rita: User, open_round: ReviewRound) -> None:
    give = f"/people/{stan.pk}/roles/give/"
    for nonsense in ({"role": "emperor"}, {}, {"role": "administrator", "round": "spring"}, REVIEWER | {"round": "no"}):
        assert as_ada.post(give, nonsense).status_code == 422, nonsense
    held = Membership.objects.get(user=rita)
    assert as_ada.post(f"/people/{stan.pk}/roles/{held.pk}/take/", YES).status_code == 404
    assert as_ada.post(give, {"role": "coordinator"}).status_code == 302
    assert as_ada.post(give, REVIEWER | {"round": "spring"}).status_code == 302
    page = as_ada.get(f"/people/{stan.pk}/").content.decode()
    assert ("whole site" in page, "Spring" in page) == (True, True)
    for membership in Membership.objects.filter(user=stan):
        asked = as_ada.post(f"/people/{stan.pk}/roles/{membership.pk}/take/")
        assert asked.status_code == 200
        assert "Work that is done stays." in asked.content.decode()
        assert as_ada.post(f"/people/{stan.pk}/roles/{membership.pk}/take/", YES).status_code == 302
    assert not Membership.objects.filter(user=stan).exists()
    assert Membership.objects.filter(pk=held.pk).exists()


def test_nobody_changes_their_own_roles_or_shuts_themselves_out(as_ada: Client, ada: User) -> None:
    held = Membership.objects.get(user=ada)
    assert as_ada.post(f"/people/{ada.pk}/roles/give/", {"role": "coordinator"}).status_code == 422
    refused = as_ada.post(f"/people/{ada.pk}/roles/{held.pk}/take/", YES, follow=True).content.decode()
    assert "another administrator can" in refused
    as_ada.post(f"/people/{ada.pk}/deactivate/")
    assert User.objects.get(pk=ada.pk).is_active
    assert list(Membership.objects.filter(user=ada)) == [held]


def test_deactivating_warns_of_open_work_and_ends_the_session(
    as_ada: Client, rita: User, open_round: ReviewRound, assign: object
) -> None:
    assign(open_round, rita, AssignmentState.WAITING, AssignmentState.SUBMITTED)  # type: ignore[operator]
    hers = Client()
    hers.force_login(rita)
    assert "1 question in open rounds waits" in as_ada.get(f"/people/{rita.pk}/").content.decode()
    as_ada.post(f"/people/{rita.pk}/deactivate/")
    assert hers.get("/").status_code == 302
    assert "Reactivate" in as_ada.get(f"/people/{rita.pk}/").content.decode()
    as_ada.post(f"/people/{rita.pk}/reactivate/")
    assert User.objects.get(pk=rita.pk).is_active


def test_a_role_that_was_removed_is_given_back_where_it_was(as_ada: Client, stan: User, ada: User) -> None:
    page, made = f"/people/{stan.pk}/", make_round(name="Spring")
    assert "Give back" not in as_ada.get(page).content.decode()
    for role, place, sent in ((Role.COORDINATOR, None, {}), (Role.REVIEWER, made, {"round": "spring"})):
        held = Membership.objects.create(user=stan, role=role, round=place, granted_at=timezone.now())
        as_ada.post(f"{page}roles/{held.pk}/take/", YES)
        shown = as_ada.get(page)
        [removed] = shown.context["removed"]
        assert (removed.role, removed.review_round, removed.removed_by) == (role, place, ada)
        assert ('<input type="hidden" name="round" value="spring">' in markup(shown)) == bool(sent)
        as_ada.post(f"{page}roles/give/", {"role": role, **sent})
        assert Membership.objects.filter(user=stan, role=role, round=place).exists()
        assert as_ada.get(page).context["removed"] == []


def test_a_page_names_the_time_zone_of_its_times(as_ada: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(time_zone="Asia/Tokyo")
    assert ">Asia/Tokyo</span>" in as_ada.get("/people/").content.decode()


def test_a_coordinator_reads_who_can_invite(coordinator: Client) -> None:
    page = coordinator.get("/people/")
    assert page.status_code == 403
    assert "Coordinators invite reviewers on the page of a round" in page.content.decode()


# --- roles, by their acts ---


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
