"""Rounds over the API: made, assigned, opened, ended; their assignments; their reviews byte by byte as the page's."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.acts.rounds import ROUNDS_SORTED_BY
from annotation.enums import AssignmentState, Role
from annotation.models import Assignment, Membership, ReviewRound, SamplingPlan, User
from annotation.models.people import TokenScope
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import make_round
from tests.annotation.rounds.made import make_sample, say
from tests.conftest import NOON, make_person


@pytest.fixture
def sample(db: None) -> SamplingPlan:
    return make_sample(6)


@pytest.fixture
def script(cora: User, sample: SamplingPlan) -> Program:
    """Works in the bank of the sample."""
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, sample.bank.slug)


def asked(sample: SamplingPlan, *people: User, **more: object) -> dict[str, object]:
    named = {"reviewers": [person.email.upper() for person in people]} if people else {}
    return {"sample": sample.slug, "name": "Spring", "reviewers_per_question": 2, **named, **more}


def test_a_round_goes_from_a_draft_to_its_end(script: Program, sample: SamplingPlan, rita: User, remo: User) -> None:
    made = script.post("rounds/", asked(sample, rita, remo), idempotency_key="one")
    assert (made.status_code, made["Location"]) == (201, "/api/v1/rounds/spring/")
    assert {made.json()[name] for name in ("n_assignments", "n_reviewers")} == {12, 2}
    assert script.post("rounds/", asked(sample, rita, remo), idempotency_key="one").json() == made.json()
    problem_of(script.post("rounds/", asked(sample)), 409, "name_taken")
    assert script.post("rounds/spring/assign/", {"reviewers": [rita.email, remo.email]}).status_code == 200
    assert script.post("rounds/spring/open/", {}).json()["state"] == "open"
    told = problem_of(script.post("rounds/spring/complete/", {}), 409, "not_complete")
    for assignment in Assignment.objects.all():
        say(assignment)
    assert "12" in told["detail"]
    assert script.post("rounds/spring/complete/", {}).json()["state"] == "complete"
    assert script.post("rounds/spring/close/", {}).json()["state"] == "closed"
    assert script.post("rounds/spring/archive/").json()["archived_at"] is not None
    assert script.post("rounds/spring/bring-back/").json()["archived_at"] is None


def test_who_may_not_review_is_named(script: Program, sample: SamplingPlan, rita: User, stan: User) -> None:
    told = problem_of(script.post("rounds/", asked(sample, rita, stan)), 422, "invalid")
    assert told["errors"] == [
        {"field": "reviewers", "message": "Nobody of this address may review here: stan@example.org."}
    ]
    problem_of(script.post("rounds/", asked(sample, colour="red")), 422, "invalid")
    assert not ReviewRound.objects.exists()


@pytest.mark.parametrize("due", ["9999-12-31T23:59:00Z", "0001-01-01T00:00:00Z"])
def test_a_day_that_some_time_zones_do_not_have_is_no_due_date(script: Program, sample: SamplingPlan, due: str) -> None:
    told = problem_of(script.post("rounds/", asked(sample, due_at=due)), 422, "invalid")
    assert [one["field"] for one in told["errors"]] == ["due_at"]


@pytest.mark.parametrize("sort", [f"{sign}{name}" for name in ROUNDS_SORTED_BY for sign in ("", "-")])
def test_rounds_are_walked_in_each_order_of_their_page(
    script: Program, sample: SamplingPlan, rita: User, sort: str
) -> None:
    for name, people in (("Spring", [rita]), ("summer", []), ("Autumn", [rita])):
        script.post("rounds/", asked(sample, *people, name=name, reviewers_per_question=1))
    found, address = [], f"rounds/?limit=1&fields=id&sort={sort}"
    while address:
        page = script.get(address).json()
        found += [one["id"] for one in page["results"]]
        address = page["next"]
    assert sorted(found) == ["autumn", "spring", "summer"]


def test_rounds_and_assignments_are_lists(
    script: Program, sample: SamplingPlan, rita: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    script.post("rounds/", asked(sample, rita, reviewers_per_question=1))
    script.get("rounds/")
    with django_assert_max_num_queries(12):
        [row] = script.get("rounds/?state=draft&sort=-round").json()["results"]
    assert (row["id"], row["bank"], row["n_submitted"]) == ("spring", sample.bank.slug, 0)
    with django_assert_max_num_queries(12):
        rows = script.get("rounds/spring/assignments/?state=waiting").json()["results"]
    assert [row["position"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert {row["reviewer"] for row in rows} == {"Rita"}


def test_a_coordinator_of_one_round_sees_that_one_and_reviewers_none(sample: SamplingPlan, rita: User) -> None:
    mine, _other = (make_round(rita, name=name) for name in ("Mine", "Other"))
    person = make_person("Romy", Role.REVIEWER)
    Membership.objects.create(user=person, role=Role.COORDINATOR, round=mine, granted_at=NOON)
    script = program_of(person, Role.COORDINATOR, TokenScope.ROUND, "mine")
    assert [row["id"] for row in script.get("rounds/").json()["results"]] == ["mine"]
    problem_of(script.get("rounds/other/assignments/"), 404, "not_found")
    reviewer = program_of(rita, Role.REVIEWER, TokenScope.ROUND, "mine")
    problem_of(reviewer.get("rounds/"), 403, "forbidden")
    problem_of(reviewer.get("rounds/mine/"), 404, "not_found")
    problem_of(reviewer.get("rounds/mine/reviews/csv/"), 403, "forbidden")


def test_reviews_are_those_of_the_button_and_hidden_from_who_reviews(cora: User, rita: User) -> None:
    review_round = make_round(rita, name="Mine")
    say(Assignment.objects.all()[0])
    script = program_of(cora, Role.COORDINATOR, TokenScope.ROUND, "mine")
    page = Client()
    page.force_login(cora)
    for form in ("csv", "jsonl"):
        file = script.get(f"rounds/mine/reviews/{form}/")
        assert file.getvalue() == page.get(f"/rounds/mine/export/{form}/").getvalue()
    problem_of(script.get("rounds/mine/reviews/xml/"), 404, "not_found")
    Assignment.objects.create(
        round=review_round, reviewer=cora, revision=Assignment.objects.all()[1].revision, position=9
    )
    problem_of(script.get("rounds/mine/reviews/csv/"), 403, "forbidden")
    assert Assignment.objects.filter(state=AssignmentState.WAITING).count() == 3
