"""Rounds over the API: made, assigned, opened, ended; their assignments; their reviews byte by byte as the page's."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.acts.rounds import ROUNDS_SORTED_BY
from annotation.enums import AssignmentState, QuestionState, Role, RoundState
from annotation.exports import review_report
from annotation.jobs.running import run
from annotation.models import (
    Assignment,
    AuditEvent,
    CalibrationResult,
    Invitation,
    Job,
    Membership,
    Question,
    ReviewForm,
    ReviewRound,
    SamplingPlan,
    SeenKey,
    User,
)
from annotation.models.people import TokenScope
from annotation.review.round_design import store_form
from annotation.review.viewing import viewing_of
from tests.annotation.adjudication.made import N_OPEN, make_reviewed
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import make_round
from tests.annotation.rounds.made import make_sample, say, theirs
from tests.annotation.rounds.test_design import SHORT
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


def test_rounds_are_walked_in_each_order_of_their_page(script: Program, sample: SamplingPlan, rita: User) -> None:
    for name, people in (("Spring", [rita]), ("summer", []), ("Autumn", [rita])):
        script.post("rounds/", asked(sample, *people, name=name, reviewers_per_question=1))
    for sort in (f"{sign}{name}" for name in ROUNDS_SORTED_BY for sign in ("", "-")):
        found, address = [], f"rounds/?limit=1&fields=id&sort={sort}"
        while address:
            page = script.get(address).json()
            found += [one["id"] for one in page["results"]]
            address = page["next"]
        assert sorted(found) == ["autumn", "spring", "summer"], sort


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


# --- over the API a draft is changed, a round gets its window and due date, forms are stored, a report is made ---
@pytest.fixture
def spring(script: Program, sample: SamplingPlan, rita: User) -> ReviewRound:
    """A draft with six questions for Rita."""
    asked = {"sample": sample.slug, "name": "Spring", "reviewers": [rita.email], "seed": 4}
    assert script.post("rounds/", asked).status_code == 201
    return ReviewRound.objects.get()


def test_a_draft_is_changed_and_keeps_what_is_not_sent(script: Program, spring: ReviewRound, cora: User) -> None:
    form = store_form("Chest", SHORT, actor=cora, at=timezone.now())
    told = script.post("rounds/spring/edit/", {"name": "Summer", "form": form.pk, "shows_decisions": True}).json()
    assert (told["id"], told["name"], told["seed"]) == ("spring", "Summer", 4)
    assert (told["form"], told["shows_decisions"], told["n_assignments"]) == (form.pk, True, 6)
    assert script.post("rounds/spring/edit/", {"seed": 5}).json()["n_assignments"] == 0
    event = AuditEvent.objects.filter(act="round.changed").latest("pk")
    assert event.facts == {"fields": ["seed"]}
    assert script.post("rounds/spring/edit/", {"form": None}).json()["form"] is None
    for sent, field in (({"form": 999}, "form"), ({"shared_answers": "none"}, "shared_answers"), ({"x": 1}, "x")):
        assert problem_of(script.post("rounds/spring/edit/", sent), 422, "invalid")["errors"][0]["field"] == field
    problem_of(script.post("rounds/spring/edit/", {"sample": "none"}), 404, "not_found")
    ReviewRound.objects.update(state=RoundState.OPEN)
    problem_of(script.post("rounds/spring/edit/", {"name": "Autumn"}), 409, "not_draft")


def test_a_sample_or_shared_answers_of_another_bank_are_not_there(script: Program, spring: ReviewRound) -> None:
    other = make_sample(3, name="Elsewhere")
    shared = make_round(make_person("Nora", Role.REVIEWER), name="Shared", n_questions=1, state=RoundState.CLOSED)
    say(shared.assignments.get())
    problem_of(script.post("rounds/spring/edit/", {"sample": other.slug}), 404, "not_found")
    problem_of(script.post("rounds/spring/edit/", {"shared_answers": "shared", "pass_mark": 70}), 422, "invalid")
    assert ReviewRound.objects.get(slug="spring").plan.slug == "sample"


def test_window_and_tools_are_set_together(script: Program, spring: ReviewRound) -> None:
    sent = {"hidden_tools": ["line"], "least_width": 1200, "least_height": 800, "double_click": True}
    sent["display_check"] = True
    told = script.post("rounds/spring/viewing/", sent).json()
    assert {name: told[name] for name in sent} == sent
    problem_of(script.post("rounds/spring/viewing/", {"least_width": 1200}), 422, "invalid")
    problem_of(script.post("rounds/spring/viewing/", {"hidden_tools": ["hammer"]}), 422, "invalid")
    spring.refresh_from_db()
    assert viewing_of(spring).least_window == (1200, 800)
    assert script.post("rounds/spring/viewing/", {}).json()["hidden_tools"] == []


def test_a_due_date_is_set_and_taken_away(script: Program, spring: ReviewRound) -> None:
    assert script.post("rounds/spring/due/", {"due_at": "2999-01-02T03:04:05Z"}).json()["due_at"][:4] == "2999"
    problem_of(script.post("rounds/spring/due/", {"due_at": "2020-01-02T03:04:05Z"}), 409, "due_past")
    problem_of(script.post("rounds/spring/due/", {}), 422, "invalid")
    assert script.post("rounds/spring/due/", {"due_at": None}).json()["due_at"] is None


def test_a_due_date_that_some_time_zone_does_not_have_is_refused(
    script: Program, spring: ReviewRound, sample: SamplingPlan
) -> None:
    for due in ("9999-12-31T23:59:00Z", "0001-01-01T00:00:00Z"):
        problem_of(script.post("rounds/spring/due/", {"due_at": due}), 422, "invalid")
        told = problem_of(script.post("rounds/", asked(sample, due_at=due)), 422, "invalid")
        assert [one["field"] for one in told["errors"]] == ["due_at"]


def test_revised_questions_make_a_round_of_their_own(script: Program, spring: ReviewRound) -> None:
    problem_of(script.post("rounds/spring/fresh/", {}), 409, "not_final")
    ReviewRound.objects.update(state=RoundState.CLOSED)
    problem_of(script.post("rounds/spring/fresh/", {}), 409, "nothing_revised")
    Question.objects.filter(number=2).update(state=QuestionState.REVISED)
    made = script.post("rounds/spring/fresh/", {}, idempotency_key="one")
    assert (made.status_code, made.json()["state"], made.json()["n_assignments"]) == (201, "draft", 0)
    assert script.get(made["Location"]).json() == made.json()
    assert script.post("rounds/spring/fresh/", {}, idempotency_key="one").json() == made.json()
    assert ReviewRound.objects.count() == 2


def test_forms_of_ones_own_are_stored_by_version(script: Program) -> None:
    asked = {"name": "Chest", "grades": ["clinical_quality"], "flags": ["other"]}
    anchors = [{"field": "clinical_quality", "value": "5", "text": "exam standard"}]
    made = script.post("review-forms/", {**asked, "anchors": anchors})
    assert (made.status_code, made.json()["version"], made.json()["anchors"]) == (201, 1, anchors)
    assert ReviewForm.objects.get().design == SHORT.as_json()
    again = script.post("review-forms/", {**asked, "anchors": anchors}).json()
    assert again == script.get(made["Location"]).json() == made.json()
    assert script.post("review-forms/", asked).json()["version"] == 2
    [row] = script.get("review-forms/").json()["results"]
    assert (row["name"], row["version"]) == ("Chest", 2)
    problem_of(script.post("review-forms/", {"name": "Empty"}), 422, "nothing_asked")
    problem_of(script.post("review-forms/", {**asked, "anchors": [{**anchors[0], "value": "9"}]}), 422, "invalid")
    problem_of(script.get("review-forms/999/"), 404, "not_found")


def test_the_report_of_a_round_is_made_and_taken(
    script: Program, spring: ReviewRound, cora: User, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_report, "_figures", lambda numbers: ())
    problem_of(script.post("rounds/spring/report/make/", {}), 422, "no_reviews")
    assert script.get("rounds/spring/report/").json()["state"] is None
    for file in (script.get("rounds/spring/report.zip"), script.post("rounds/spring/report.zip")):
        problem_of(file, 409, "report_gone")
    ReviewRound.objects.update(state=RoundState.OPEN, opened_at=noon)
    say(Assignment.objects.all()[0])
    asked = script.post("rounds/spring/report/make/", {}, idempotency_key="one")
    assert (asked.status_code, asked["Location"]) == (202, "/api/v1/rounds/spring/report/")
    assert asked.json()["state"] == "queued"
    job = Job.objects.get()
    assert run(job.public_id, clock=timezone.now)
    told = script.get("rounds/spring/report/").json()
    assert (told["state"], told["is_there"], told["has_changed"], told["n_reviews"]) == ("succeeded", True, False, 1)
    assert "round.json" in " ".join(one["name"] for one in told["files"]) or told["files"]
    file = script.post("rounds/spring/report.zip")
    assert len(file.getvalue()) == told["n_bytes"]
    assert AuditEvent.objects.filter(act="round.report_taken", actor=cora).exists()
    assert SeenKey.objects.filter(person=cora).exists()
    say(Assignment.objects.all()[1])
    assert script.get("rounds/spring/report/").json()["has_changed"] is True


def test_whoever_still_judges_in_a_round_gets_no_report(spring: ReviewRound, rita: User, cora: User) -> None:
    Assignment.objects.filter(round=spring).update(reviewer=cora)
    ReviewRound.objects.update(state=RoundState.OPEN)
    script = program_of(cora, Role.COORDINATOR, TokenScope.ROUND, "spring")
    for answer in (
        script.get("rounds/spring/report/"),
        script.post("rounds/spring/report/make/", {}),
        script.get("rounds/spring/report.zip"),
    ):
        problem_of(answer, 403, "forbidden")


# --- people of a round over the API ---
PEOPLE = "rounds/mine/reviewers/"


@pytest.fixture
def mine(rita: User, remo: User) -> ReviewRound:
    """An open round in which Rita has three questions."""
    return make_round(rita, name="Mine")


@pytest.fixture
def program(cora: User, mine: ReviewRound) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.ROUND, "mine")


def test_reviewers_are_listed_with_how_far_they_are(
    program: Program, mine: ReviewRound, rita: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    say(theirs(rita)[0])
    program.get(PEOPLE)
    with django_assert_max_num_queries(10):
        [row] = program.get(PEOPLE).json()["results"]
    assert (row["id"], row["email"], row["n_assignments"], row["n_submitted"]) == (rita.pk, rita.email, 3, 1)
    assert (row["has_left"], row["is_overdue"], row["must_calibrate"]) == (False, False, False)
    assert program.get(f"{PEOPLE}{rita.pk}/").json() == row
    problem_of(program.get(f"{PEOPLE}999/"), 404, "not_found")


def test_a_reviewer_comes_and_goes(program: Program, mine: ReviewRound, rita: User, remo: User, stan: User) -> None:
    made = program.post(PEOPLE, {"reviewer": remo.email.upper()}, idempotency_key="one")
    assert (made.status_code, made["Location"]) == (201, f"/api/v1/{PEOPLE}{remo.pk}/")
    assert made.json()["n_assignments"] == len(theirs(remo)) > 0
    assert program.post(PEOPLE, {"reviewer": remo.email}, idempotency_key="two").status_code == 409
    problem_of(program.post(PEOPLE, {"reviewer": stan.email}), 422, "invalid")
    other = make_person("Nora", Role.REVIEWER)
    n = len(theirs(remo))
    told = program.post(f"{PEOPLE}{remo.pk}/remove/", {"to": other.email}).json()
    assert told == {"n_questions": n, "stay": []}
    assert len(theirs(other)) == n
    assert program.get(f"{PEOPLE}{remo.pk}/").json()["has_left"] is True
    problem_of(program.post(f"{PEOPLE}{stan.pk}/remove/", {}), 404, "not_found")


def test_questions_go_to_somebody_else(program: Program, mine: ReviewRound, rita: User, remo: User) -> None:
    address = f"{PEOPLE}{rita.pk}/reassign/"
    first = theirs(rita)[0]
    told = program.post(address, {"to": remo.email, "assignments": [first.public_id]}).json()
    assert told == {"n_questions": 1, "stay": []}
    assert problem_of(program.post(address, {"to": remo.email}), 409, "handover_changed")["facts"]["n"] == 2
    problem_of(program.post(address, {"to": remo.email, "confirmed": 3}), 409, "handover_changed")
    assert program.post(address, {"to": remo.email, "confirmed": 2}).json()["n_questions"] == 2
    assert (len(theirs(rita)), len(theirs(remo))) == (0, 3)
    for sent in (
        {"to": rita.email},
        {"to": "x"},
        {"to": remo.email, "assignments": []},
        {"to": remo.email, "assignments": [theirs(remo)[0].public_id]},
        {},
    ):
        problem_of(program.post(address, sent), 422, "invalid")
    problem_of(program.post(address, {"to": remo.email, "assignments": [first.public_id]}), 409, "no_longer_open")


def test_somebody_is_let_in_without_calibration(program: Program, mine: ReviewRound, rita: User, remo: User) -> None:
    shared = make_round(remo, name="Shared", n_questions=1, state=RoundState.CLOSED)
    ReviewRound.objects.filter(pk=mine.pk).update(shared_answers=shared, pass_mark=70)
    assert program.get(f"{PEOPLE}{rita.pk}/").json()["must_calibrate"] is True
    address = f"{PEOPLE}{rita.pk}/let-in/"
    problem_of(program.post(address, {}), 422, "invalid")
    assert program.post(address, {"reason": "She wrote the atlas."}).json()["must_calibrate"] is False
    assert CalibrationResult.objects.get().let_in_reason == "She wrote the atlas."
    problem_of(program.post(address, {"reason": "Again."}), 409, "calibrated")


def test_reminders_say_who_got_one(
    program: Program,
    mine: ReviewRound,
    settings: Settings,
) -> None:
    settings.EMAIL_HOST = ""
    problem_of(program.post("rounds/mine/remind/"), 409, "no_mail_server")
    settings.EMAIL_HOST = "mail.example.org"
    assert program.post("rounds/mine/remind/").json() == {"sent": ["Rita"], "too_soon": []}
    assert program.post("rounds/mine/remind/").json() == {"sent": [], "too_soon": ["Rita"]}


def test_adjudicators_are_named_and_begin(cora: User, rita: User, remo: User) -> None:
    review_round = make_reviewed(cora, rita, remo)
    judy = make_person("Judy")
    program = program_of(cora, Role.COORDINATOR, TokenScope.ROUND, review_round.slug)
    place = f"rounds/{review_round.slug}/"
    for address in (cora.email, "nobody@example.org"):
        problem_of(program.post(f"{place}adjudicators/", {"adjudicator": address}), 422, "invalid")
    made = program.post(f"{place}adjudicators/", {"adjudicator": judy.email}, idempotency_key="one")
    assert (made.status_code, made.json()["name"]) == (201, "Judy")
    again = program.post(f"{place}adjudicators/", {"adjudicator": judy.email}, idempotency_key="one")
    assert again.json() == made.json()
    assert program.get(f"{place}adjudicators/").json()["results"] == [made.json()]
    assert Membership.objects.get(round=review_round, role=Role.ADJUDICATOR).user == judy
    assert program.post(f"{place}adjudicate/", {}).status_code == 409
    program.post(f"{place}complete/", {"confirmed_open": N_OPEN})
    assert program.post(f"{place}adjudicate/", {}).json()["state"] == "adjudication"


def test_a_link_into_a_round_is_shown_once_and_revoked(program: Program, mine: ReviewRound, cora: User) -> None:
    sent = {"email": "nora@example.org", "name": "Nora", "role": "adjudicator"}
    made = program.post("rounds/mine/invitations/", sent, idempotency_key="one")
    assert (made.status_code, made.json()["role"]) == (201, "adjudicator")
    assert "/invitation/" in made.json()["link"]
    again = program.post("rounds/mine/invitations/", sent, idempotency_key="one").json()
    assert (again["id"], again["link"]) == (made.json()["id"], None)
    [row] = program.get("rounds/mine/invitations/").json()["results"]
    assert (row["email"], row["link"]) == ("nora@example.org", None)
    problem_of(program.post("rounds/mine/invitations/", {**sent, "role": "coordinator"}), 422, "invalid")
    problem_of(program.post("rounds/mine/invitations/", {**sent, "role": "administrator"}), 422, "invalid")
    address = f"rounds/mine/invitations/{row['id']}/revoke/"
    assert program.post(address).status_code == 200
    assert Invitation.objects.get().revoked_at is not None
    problem_of(program.post(address), 404, "not_found")
