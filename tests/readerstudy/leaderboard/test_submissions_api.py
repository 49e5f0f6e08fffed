"""Submissions and statements for programs: 202 and an address to ask, with the token of a team and no other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.call_enums import SentImages
from annotation.enums import JobState, Role
from annotation.jobs.running import run as run_job
from annotation.models import Job
from annotation.models.people import TokenScope
from annotation.people.tokens import make_token
from readerstudy.leaderboard.kernels.statement import ASKED
from readerstudy.leaderboard.submissions import CHECK
from readerstudy.leaderboard.teams import token_places
from readerstudy.models import Benchmark, EditionEntry, Statement, Submission, Team
from readerstudy.predictions.listing import Target
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import images_are_there
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import (
    answer_file,
    make_benchmark,
    make_submission,
    make_team,
    statement_answers,
)
from tests.readerstudy.model_runs.made import answer, end, make_prompt, name_endpoints, planned
from tests.readerstudy.predictions.made import keyed_bank

pytestmark = pytest.mark.django_db
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
N = 12
SENT, SAID = "leaderboards/private-test/submissions/", "leaderboards/private-test/statements/"


@pytest.fixture(autouse=True)
def _site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: AT)


def of_team(team: Team) -> Program:
    return program_of(team.members.get().user, Role.MODEL_SUBMITTER, TokenScope.TEAM, team.public_id)


@pytest.fixture
def program(team: Team) -> Program:
    return of_team(team)


def send(program: Program, content: bytes, address: str = SENT, **more: str) -> Any:
    headers = {"authorization": f"Bearer {program.token}"}
    sent = {"file": SimpleUploadedFile("a.jsonl", content), **more}
    return program.client.post(f"/api/v1/{address}", sent, headers=headers)


def check() -> None:
    for job in Job.objects.filter(kind=CHECK, state=JobState.QUEUED):
        run_job(job.public_id, clock=lambda: AT)


def test_a_file_is_sent_asked_about_and_named(board: Benchmark, program: Program) -> None:
    answered = send(program, answer_file(board, "ABC-" * 3))
    assert (answered.status_code, answered.json()["state"]) == (202, "received")
    location = answered["Location"]
    waiting = program.get(location).json()
    assert (waiting["checked_at"], waiting["report"], waiting["is_sound"]) == (None, {}, False)
    check()
    found = program.get(location).json()
    assert (found["state"], found["report"]["n_missing"], found["report"]["n_answered"]) == ("checked", 3, 9)
    problem_of(program.post(f"{location}name/", {"edition": 1}), 409, "no_statement")
    made = program.post(SAID, {"answers": statement_answers()})
    assert made.status_code == 201
    assert program.get(made["Location"]).json()["answers"]["model"] == "MedGemma"
    named = program.post(f"{location}name/", {"edition": 1}).json()
    assert (named["state"], named["editions"], named["statement"]) == ("named", [1], 1)
    again = send(program, answer_file(board, "ABC-" * 3))
    assert (again.status_code, again["Location"]) == (202, location)
    assert [one["id"] for one in program.get(SENT).json()["results"]] == [found["id"]]
    withdrawn = program.post(f"{location}withdraw/", {"reason": "Wrong weights"}).json()
    assert (withdrawn["state"], withdrawn["withdrawn_because"], withdrawn["editions"]) == (
        "withdrawn",
        "Wrong weights",
        [],
    )


def test_what_is_shown_tells_no_letter_and_nothing_about_how_many_are_right(team: Team, program: Program) -> None:
    made = make_submission(team, "ABCD" * 3)
    told = program.get(f"{SENT}{made.public_id}/").json()
    assert "ABCD" not in str(told)
    assert not {name for name in told if "accura" in name or "right" in name or "score" in name}


def test_a_bad_file_is_a_report_and_a_bad_request_a_problem(board: Benchmark, program: Program) -> None:
    made = send(program, b"nothing")
    check()
    found = program.get(made["Location"]).json()
    assert (found["state"], found["is_sound"], found["report"]["n_problems"]) == ("failed", False, 1)
    problem_of(program.post(f"{made['Location']}name/", {"edition": 1}), 409, "not_sound")
    assert send(program, b"x", duplicates="best").status_code == 422
    bare = program.client.post(f"/api/v1/{SENT}", {}, headers={"authorization": f"Bearer {program.token}"})
    assert bare.status_code == 422
    problem_of(program.post(f"{made['Location']}name/", {"edition": 9}), 422, "no_edition")
    problem_of(program.post(f"{made['Location']}name/", {"edition": "x"}), 422, "invalid")


def test_an_unanswered_line_is_named(program: Program) -> None:
    refused = problem_of(
        program.post(SAID, {"answers": statement_answers(parameters="", tools=" ")}), 422, "unanswered"
    )
    assert [one["field"] for one in refused["errors"]] == ["parameters", "tools"]
    everything = problem_of(program.post(SAID, {"answers": {}}), 422, "unanswered")
    assert [one["field"] for one in everything["errors"]] == list(ASKED)
    assert not Statement.objects.exists()


def test_a_token_of_another_team_finds_nothing(board: Benchmark, team: Team) -> None:
    made, other = make_submission(team, "A" * N), of_team(make_team(board, "Team Two"))
    assert made.statement is not None
    private, unknown = f"{SENT}{made.public_id}/", f"{SENT}nothing/"
    for address in (private, unknown, f"{SAID}{made.statement.public_id}/"):
        assert problem_of(other.get(address), 404, "not_found") == problem_of(other.get(unknown), 404, "not_found")
    for act, body in (("name", {"edition": 1}), ("withdraw", {"reason": "x"})):
        problem_of(other.post(f"{private}{act}/", body), 404, "not_found")
    assert other.get(SENT).json()["results"] == []
    assert not EditionEntry.objects.exists()


def test_a_token_of_a_team_reaches_no_other_benchmark(team: Team, program: Program) -> None:
    Benchmark.objects.update(slug="first")
    make_benchmark(keyed_bank(3, name="Elsewhere"))
    problem_of(program.get(SENT), 404, "not_found")
    problem_of(send(program, b"x"), 404, "not_found")


def test_a_token_in_the_address_or_ended_is_refused(team: Team, program: Program) -> None:
    answered = Client().get(f"/api/v1/{SENT}?token={program.token}")
    assert answered.status_code == 400
    row = make_token(
        team.members.get().user,
        "old",
        role=Role.MODEL_SUBMITTER,
        place=next(token_places(team.members.get().user, None)),
        days=1,
        actor=None,
        at=datetime(2026, 4, 1, tzinfo=UTC),
    )
    problem_of(Program(row.text).get(SENT), 401, "token_expired")
    team.members.all().delete()
    assert program.get(SENT).status_code == 401


def test_a_token_of_the_bank_or_of_reading_sends_nothing(board: Benchmark, team: Team) -> None:
    person = team.members.get().user
    reading = program_of(person, Role.MODEL_SUBMITTER)
    assert send(reading, b"x").status_code == 403
    of_bank = program_of(person, Role.MODEL_SUBMITTER, TokenScope.BANK, board.bank.slug)
    problem_of(send(of_bank, b"x"), 404, "not_found")
    assert not Submission.objects.exists()


def test_a_coordinator_reads_all_and_decides_about_statements(board: Benchmark, team: Team) -> None:
    made, cora = make_submission(team, "A" * N), make_person("Cora", Role.COORDINATOR)
    make_submission(make_team(board, "Team Two"), "B" * N)
    reading = program_of(cora, Role.COORDINATOR)
    assert [one["team_name"] for one in reading.get(SENT).json()["results"]] == ["Team Two", "Team One"]
    assert reading.get(f"{SENT}{made.public_id}/").json()["number"] == 1
    Statement.objects.update(passed_at=None)
    first, second = Statement.objects.order_by("pk")
    browser = Client()
    browser.force_login(cora)
    for one, act, body in ((first, "pass", {}), (second, "refuse", {"reason": "Names a patient"})):
        address = f"/api/v1/{SAID}{one.public_id}/{act}/"
        assert browser.post(address, body, content_type="application/json").status_code == 200
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.passed_at, second.refused_because) == (AT, "Names a patient")


def test_a_run_is_handed_in_by_its_address(settings: Settings) -> None:
    name_endpoints(settings)
    make_prompt(images=SentImages.ALL)
    bank = keyed_bank(3)
    images_are_there(bank)
    team, run = make_team(make_benchmark(bank)), planned(Target(bank))
    browser = Client()
    browser.force_login(make_person("Cora", Role.COORDINATOR))
    address = f"/api/v1/model-runs/{run.batch.public_id}/hand-in/"
    sent = {"team": team.public_id}
    assert browser.post(address, sent, content_type="application/json").json()["code"] == "incomplete"
    answer(run)
    end(run)
    assert browser.post(address, {"team": "nobody"}, content_type="application/json").status_code == 422
    assert browser.post(address, sent, content_type="application/json").status_code == 200
    assert Submission.objects.get().answers == "BBB"
