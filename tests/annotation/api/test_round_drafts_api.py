"""Over the API a draft is changed, a round gets its window and due date, forms are stored, a report is made."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.utils import timezone

from annotation.enums import QuestionState, Role, RoundState
from annotation.exports import review_report
from annotation.jobs.running import run
from annotation.models import (
    Assignment,
    AuditEvent,
    Job,
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
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import make_round
from tests.annotation.rounds.made import make_sample, say
from tests.annotation.rounds.test_design import SHORT
from tests.conftest import make_person


@pytest.fixture
def sample(db: None) -> SamplingPlan:
    return make_sample(6)


@pytest.fixture
def script(cora: User, sample: SamplingPlan) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, sample.bank.slug)


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


def test_a_due_date_that_some_time_zone_does_not_have_is_refused(script: Program, spring: ReviewRound) -> None:
    for due in ("9999-12-31T23:59:00Z", "0001-01-01T00:00:00Z"):
        problem_of(script.post("rounds/spring/due/", {"due_at": due}), 422, "invalid")


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


def test_forms_of_ones_own_are_stored_by_version(script: Program, sample: SamplingPlan, rita: User) -> None:
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
    problem_of(program_of(rita, Role.REVIEWER).get("review-forms/"), 403, "forbidden")


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
