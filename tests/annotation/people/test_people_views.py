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

from annotation.enums import AssignmentState, Role
from annotation.models import AuditEvent, Membership, ReviewRound, User
from annotation.people.invitations import Grant, invite
from annotation.people.roles import grant
from tests.annotation.review.cases import make_round
from tests.emails import delivered
from tests.pages import markup

ADD = {"name": "Nina", "email": "Nina@example.org", "time_zone": "UTC", "roles": ["reviewer"]}

YES = {"confirmed": "yes"}


# --- list ---


def test_the_list_is_searched_by_name_and_address(as_ada: Client, rita: User, remo: User) -> None:
    page = as_ada.get("/people/").content.decode()
    assert page.index("Ada") < page.index("Remo") < page.index("Rita")
    found = as_ada.get("/people/?q=RIT exam").content.decode()
    assert "Rita" in found
    assert "Remo" not in found
    assert "Nobody" in as_ada.get("/people/?q=<b>zz").content.decode()
    assert "&lt;b&gt;zz" in as_ada.get("/people/?q=<b>zz").content.decode()


@pytest.mark.parametrize("query", ["q=" + "x" * 300, "page=zz", "page=-1", "page=999", "q=%25_"])
def test_a_strange_search_still_answers(as_ada: Client, query: str) -> None:
    assert as_ada.get(f"/people/?{query}").status_code == 200


def test_the_fragment_is_the_list_alone(as_ada: Client) -> None:
    fragment = as_ada.get("/people/?q=ada", headers={"HX-Request": "true"})
    assert fragment.content.decode().strip().startswith('<div id="people-list">')
    assert "HX-Request" in fragment["Vary"]
    back = as_ada.get("/people/?q=ada", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in back.content.decode()


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


@pytest.mark.parametrize(
    "wrong",
    [{"email": "ada@example.org"}, {"email": "x"}, {"name": " "}, {"roles": ["emperor"]}, {"time_zone": "Mars"}],
)
def test_adding_refuses_nonsense(as_ada: Client, wrong: dict[str, object]) -> None:
    assert as_ada.post("/people/add/", ADD | wrong).status_code == 422
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


def test_a_role_is_given_and_taken(as_ada: Client, stan: User, open_round: ReviewRound) -> None:
    assert as_ada.post(f"/people/{stan.pk}/roles/give/", {"role": "coordinator"}).status_code == 302
    assert as_ada.post(f"/people/{stan.pk}/roles/give/", {"role": "reviewer", "round": "spring"}).status_code == 302
    page = as_ada.get(f"/people/{stan.pk}/").content.decode()
    assert "whole site" in page
    assert "Spring" in page
    for membership in Membership.objects.filter(user=stan):
        asked = as_ada.post(f"/people/{stan.pk}/roles/{membership.pk}/take/")
        assert asked.status_code == 200
        assert "Work that is done stays." in asked.content.decode()
        assert as_ada.post(f"/people/{stan.pk}/roles/{membership.pk}/take/", YES).status_code == 302
    assert not Membership.objects.filter(user=stan).exists()


@pytest.mark.parametrize(
    "data",
    [{"role": "emperor"}, {}, {"role": "administrator", "round": "spring"}, {"role": "reviewer", "round": "nowhere"}],
)
def test_giving_refuses_nonsense(as_ada: Client, stan: User, open_round: ReviewRound, data: dict[str, str]) -> None:
    assert as_ada.post(f"/people/{stan.pk}/roles/give/", data).status_code == 422
    assert not Membership.objects.filter(user=stan).exists()


def test_a_role_of_somebody_else_is_not_taken_by_its_number(as_ada: Client, rita: User, stan: User) -> None:
    held = Membership.objects.get(user=rita)
    assert as_ada.post(f"/people/{stan.pk}/roles/{held.pk}/take/", YES).status_code == 404
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


def test_a_role_that_was_removed_is_given_back(as_ada: Client, stan: User, ada: User) -> None:
    held = Membership.objects.create(user=stan, role=Role.COORDINATOR, granted_at=timezone.now())
    page = f"/people/{stan.pk}/"
    assert "Give back" not in as_ada.get(page).content.decode()
    as_ada.post(f"{page}roles/{held.pk}/take/", YES)
    [removed] = as_ada.get(page).context["removed"]
    assert (removed.role, removed.review_round, removed.removed_by) == (Role.COORDINATOR, None, ada)
    as_ada.post(f"{page}roles/give/", {"role": "coordinator"})
    assert Membership.objects.filter(user=stan, role=Role.COORDINATOR).exists()
    assert as_ada.get(page).context["removed"] == []


def test_a_role_of_a_round_is_given_back_there(as_ada: Client, stan: User) -> None:
    made = make_round(name="Spring")
    held = Membership.objects.create(user=stan, role=Role.REVIEWER, round=made, granted_at=timezone.now())
    page = f"/people/{stan.pk}/"
    as_ada.post(f"{page}roles/{held.pk}/take/", YES)
    assert '<input type="hidden" name="round" value="spring">' in markup(as_ada.get(page))
    as_ada.post(f"{page}roles/give/", {"role": "reviewer", "round": "spring"})
    assert Membership.objects.filter(user=stan, round=made).exists()


def test_a_page_names_the_time_zone_of_its_times(as_ada: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(time_zone="Asia/Tokyo")
    assert ">Asia/Tokyo</span>" in as_ada.get("/people/").content.decode()


def test_a_coordinator_reads_who_can_invite(coordinator: Client) -> None:
    page = coordinator.get("/people/")
    assert page.status_code == 403
    assert "Coordinators invite reviewers on the page of a round" in page.content.decode()
