"""People of a round over the API: reviewers come, go and hand on; adjudicators are named; people are invited."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.enums import Role, RoundState
from annotation.models import CalibrationResult, Invitation, Membership, ReviewRound, User
from annotation.models.people import TokenScope
from tests.annotation.adjudication.made import N_OPEN, make_reviewed
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import make_round
from tests.annotation.rounds.made import say, theirs
from tests.conftest import make_person

PEOPLE = "rounds/mine/reviewers/"


@pytest.fixture
def mine(rita: User, remo: User) -> ReviewRound:
    """An open round in which Rita has three questions."""
    return make_round(rita, name="Mine")


@pytest.fixture
def script(cora: User, mine: ReviewRound) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.ROUND, "mine")


def test_reviewers_are_listed_with_how_far_they_are(
    script: Program, mine: ReviewRound, rita: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    say(theirs(rita)[0])
    script.get(PEOPLE)
    with django_assert_max_num_queries(10):
        [row] = script.get(PEOPLE).json()["results"]
    assert (row["id"], row["email"], row["n_assignments"], row["n_submitted"]) == (rita.pk, rita.email, 3, 1)
    assert (row["has_left"], row["is_overdue"], row["must_calibrate"]) == (False, False, False)
    assert script.get(f"{PEOPLE}{rita.pk}/").json() == row
    problem_of(script.get(f"{PEOPLE}999/"), 404, "not_found")


def test_a_reviewer_comes_and_goes(script: Program, mine: ReviewRound, rita: User, remo: User, stan: User) -> None:
    made = script.post(PEOPLE, {"reviewer": remo.email.upper()}, idempotency_key="one")
    assert (made.status_code, made["Location"]) == (201, f"/api/v1/{PEOPLE}{remo.pk}/")
    assert made.json()["n_assignments"] == len(theirs(remo)) > 0
    assert script.post(PEOPLE, {"reviewer": remo.email}, idempotency_key="two").status_code == 409
    problem_of(script.post(PEOPLE, {"reviewer": stan.email}), 422, "invalid")
    other = make_person("Nora", Role.REVIEWER)
    n = len(theirs(remo))
    told = script.post(f"{PEOPLE}{remo.pk}/remove/", {"to": other.email}).json()
    assert told == {"n_questions": n, "stay": []}
    assert len(theirs(other)) == n
    assert script.get(f"{PEOPLE}{remo.pk}/").json()["has_left"] is True
    problem_of(script.post(f"{PEOPLE}{stan.pk}/remove/", {}), 404, "not_found")


def test_questions_go_to_somebody_else(script: Program, mine: ReviewRound, rita: User, remo: User) -> None:
    address = f"{PEOPLE}{rita.pk}/reassign/"
    first = theirs(rita)[0]
    told = script.post(address, {"to": remo.email, "assignments": [first.public_id]}).json()
    assert told == {"n_questions": 1, "stay": []}
    assert problem_of(script.post(address, {"to": remo.email}), 409, "handover_changed")["facts"]["n"] == 2
    problem_of(script.post(address, {"to": remo.email, "confirmed": 3}), 409, "handover_changed")
    assert script.post(address, {"to": remo.email, "confirmed": 2}).json()["n_questions"] == 2
    assert (len(theirs(rita)), len(theirs(remo))) == (0, 3)
    for sent in (
        {"to": rita.email},
        {"to": "x"},
        {"to": remo.email, "assignments": []},
        {"to": remo.email, "assignments": [theirs(remo)[0].public_id]},
        {},
    ):
        problem_of(script.post(address, sent), 422, "invalid")
    problem_of(script.post(address, {"to": remo.email, "assignments": [first.public_id]}), 409, "no_longer_open")


def test_somebody_is_let_in_without_calibration(script: Program, mine: ReviewRound, rita: User, remo: User) -> None:
    shared = make_round(remo, name="Shared", n_questions=1, state=RoundState.CLOSED)
    ReviewRound.objects.filter(pk=mine.pk).update(shared_answers=shared, pass_mark=70)
    assert script.get(f"{PEOPLE}{rita.pk}/").json()["must_calibrate"] is True
    address = f"{PEOPLE}{rita.pk}/let-in/"
    problem_of(script.post(address, {}), 422, "invalid")
    assert script.post(address, {"reason": "She wrote the atlas."}).json()["must_calibrate"] is False
    assert CalibrationResult.objects.get().let_in_reason == "She wrote the atlas."
    problem_of(script.post(address, {"reason": "Again."}), 409, "calibrated")


def test_reminders_say_who_got_one(
    script: Program,
    mine: ReviewRound,
    settings: Settings,
) -> None:
    settings.EMAIL_HOST = ""
    problem_of(script.post("rounds/mine/remind/"), 409, "no_mail_server")
    settings.EMAIL_HOST = "mail.example.org"
    assert script.post("rounds/mine/remind/").json() == {"sent": ["Rita"], "too_soon": []}
    assert script.post("rounds/mine/remind/").json() == {"sent": [], "too_soon": ["Rita"]}


def test_adjudicators_are_named_and_begin(cora: User, rita: User, remo: User) -> None:
    review_round = make_reviewed(cora, rita, remo)
    judy = make_person("Judy")
    script = program_of(cora, Role.COORDINATOR, TokenScope.ROUND, review_round.slug)
    place = f"rounds/{review_round.slug}/"
    for address in (cora.email, "nobody@example.org"):
        problem_of(script.post(f"{place}adjudicators/", {"adjudicator": address}), 422, "invalid")
    made = script.post(f"{place}adjudicators/", {"adjudicator": judy.email}, idempotency_key="one")
    assert (made.status_code, made.json()["name"]) == (201, "Judy")
    again = script.post(f"{place}adjudicators/", {"adjudicator": judy.email}, idempotency_key="one")
    assert again.json() == made.json()
    assert script.get(f"{place}adjudicators/").json()["results"] == [made.json()]
    assert Membership.objects.get(round=review_round, role=Role.ADJUDICATOR).user == judy
    assert script.post(f"{place}adjudicate/", {}).status_code == 409
    script.post(f"{place}complete/", {"confirmed_open": N_OPEN})
    assert script.post(f"{place}adjudicate/", {}).json()["state"] == "adjudication"


def test_a_link_into_a_round_is_shown_once_and_revoked(script: Program, mine: ReviewRound, cora: User) -> None:
    sent = {"email": "nora@example.org", "name": "Nora", "role": "adjudicator"}
    made = script.post("rounds/mine/invitations/", sent, idempotency_key="one")
    assert (made.status_code, made.json()["role"]) == (201, "adjudicator")
    assert "/invitation/" in made.json()["link"]
    again = script.post("rounds/mine/invitations/", sent, idempotency_key="one").json()
    assert (again["id"], again["link"]) == (made.json()["id"], None)
    [row] = script.get("rounds/mine/invitations/").json()["results"]
    assert (row["email"], row["link"]) == ("nora@example.org", None)
    problem_of(script.post("rounds/mine/invitations/", {**sent, "role": "coordinator"}), 422, "invalid")
    problem_of(script.post("rounds/mine/invitations/", {**sent, "role": "administrator"}), 422, "invalid")
    address = f"rounds/mine/invitations/{row['id']}/revoke/"
    assert script.post(address).status_code == 200
    assert Invitation.objects.get().revoked_at is not None
    problem_of(script.post(address), 404, "not_found")
