"""The page that says what one person may do: roles by place, and addresses, from the policies of the program."""

from __future__ import annotations

from datetime import datetime

from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Role
from annotation.models import Membership, User
from annotation.people.roles import held_roles
from readerstudy.models import StudyRole
from tests.annotation.review.cases import make_bank, make_round
from tests.conftest import make_person
from tests.readerstudy.studies import enrol, make_study


def told(person: User) -> dict[str, str]:
    return {one.name: ", ".join(one.roles) for one in held_roles(person)}


def test_the_page_of_a_person_leads_to_it(administrator: Client, cora: User) -> None:
    assert administrator.get("/site/permissions/0/").status_code == 404
    assert f'href="/site/permissions/{cora.pk}/"' in administrator.get(f"/people/{cora.pk}/").content.decode()


def test_roles_of_the_site_count_everywhere_but_where_somebody_reads(cora: User, ada: User) -> None:
    make_bank("Chest")
    everywhere = dict.fromkeys(("all banks", "all rounds", "all teams of leaderboards"), "coordinator")
    assert told(cora) == {"whole site": "coordinator", **everywhere, "all studies": "coordinator"}
    enrol(make_study("Trial"), cora)
    assert told(cora) == {
        "whole site": "coordinator",
        **everywhere,
        "Trial": "reader",
        "all other studies": "coordinator",
    }
    assert told(ada)["all studies"] == "administrator"


def test_who_left_a_study_is_nothing_in_it_any_more(cora: User, noon: datetime) -> None:
    enrolment = enrol(make_study("Trial"), cora)
    enrolment.withdrawn_at = noon
    enrolment.save()
    assert told(cora)["Trial"] == ""


def test_roles_in_one_place_are_named_with_it(db: None, noon: datetime) -> None:
    stan, study = make_person("Stan"), make_study("Trial")
    judged, _reviewed = make_round(name="Judged"), make_round(stan, name="Reviewed")
    Membership.objects.create(user=stan, role=Role.ADJUDICATOR, round=judged, granted_at=noon)
    StudyRole.objects.create(study=study, user=stan, granted_at=noon)
    assert told(stan) == {"whole site": "", "Judged": "adjudicator", "Reviewed": "reviewer", "Trial": "coordinator"}
    assert [one.kind for one in held_roles(stan)] == ["site", "round", "round", "study"]


def test_who_cannot_log_in_is_nothing(administrator: Client, cora: User) -> None:
    cora.is_active = False
    cora.save()
    assert held_roles(cora) == []
    page = administrator.get(f"/site/permissions/{cora.pk}/").content.decode()
    assert "This account is deactivated" in page
    assert "<code>" not in page


def test_it_asks_as_few_questions_for_many_places(
    administrator: Client, noon: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    stan = make_person("Stan")

    def give(number: int) -> None:
        StudyRole.objects.create(study=make_study(f"Study-{number}"), user=stan, granted_at=noon)
        review_round = make_round(make_person(f"R{number}"), name=f"Round-{number}")
        Membership.objects.create(user=stan, role=Role.COORDINATOR, round=review_round, granted_at=noon)

    give(0)
    address, n_queries = f"/site/permissions/{stan.pk}/", 12
    with django_assert_num_queries(n_queries):
        administrator.get(address)
    for number in range(1, 4):
        give(number)
    with django_assert_num_queries(n_queries):
        page = administrator.get(address).content.decode()
    assert [page.count(name) for name in ("<bdi>Study-", "<bdi>Round-")] == [4, 4]
