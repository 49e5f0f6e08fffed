"""Pages of submissions and statements: a team sends, reads what was found and names it; a coordinator decides."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.call_enums import SentImages
from annotation.enums import JobState, Role
from annotation.jobs.running import run as run_job
from annotation.models import Job, User
from readerstudy.enums import SubmissionState, SubmissionWay
from readerstudy.leaderboard.statements import add_statement
from readerstudy.leaderboard.submissions import CHECK
from readerstudy.models import Benchmark, Edition, EditionEntry, Statement, Submission, Team
from readerstudy.predictions.listing import Target
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
SENT = "/leaderboards/private-test/submissions/"
SAID = "/leaderboards/private-test/statements/"


@pytest.fixture(autouse=True)
def _site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: AT)


@pytest.fixture
def log_in(client: Client) -> Callable[[User], Client]:
    def as_person(person: User) -> Client:
        client.force_login(person)
        return client

    return as_person


@pytest.fixture
def member(team: Team, log_in: Callable[[User], Client]) -> Client:
    return log_in(team.members.get().user)


def text(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    return answer.content.decode()


def send(client: Client, content: bytes) -> Submission:
    answer = client.post(SENT, {"file": SimpleUploadedFile("a.jsonl", content), "duplicates": ""})
    made = Submission.objects.latest("pk")
    assert answer.headers["Location"] == f"{SENT}{made.public_id}/"
    return made


def checked() -> None:
    for job in Job.objects.filter(kind=CHECK, state=JobState.QUEUED):
        run_job(job.public_id, clock=lambda: AT)


def test_a_team_begins_with_nothing_and_reads_what_to_do(member: Client) -> None:
    page = text(member, SENT)
    assert "Nothing was sent yet" in page
    assert "For edition 1 name one of them until the end of" in " ".join(page.split())
    assert "Fill in the statement" in page


def test_a_file_is_sent_checked_named_and_withdrawn(board: Benchmark, team: Team, member: Client) -> None:
    made = send(member, answer_file(board, "ABC-" * 3))
    address = f"{SENT}{made.public_id}/"
    assert 'hx-trigger="every 1s"' in text(member, address)
    assert member.get(f"{address}report.json").status_code == 404
    checked()
    page = text(member, address)
    assert "The check passed" in page
    assert "First say what the model is" in page
    assert "3 missing" in " ".join(page.split())
    part = member.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert 'id="submission"' in part
    assert member.get(f"{address}report.json").json()["n_missing"] == 3
    add_statement(team, statement_answers(), actor=None, at=AT)
    assert "Name for edition 1" in text(member, address)
    answer = member.post(f"{address}name/", {"edition": 1, "statement": 1}, follow=True)
    assert "Named for edition 1. You can name another one until 2026-06-01 (UTC)." in answer.content.decode()
    assert EditionEntry.objects.get().submission == made
    answer = member.post(f"{address}withdraw/", {"reason": "Wrong weights"}, follow=True)
    assert "Wrong weights" in answer.content.decode()
    assert not EditionEntry.objects.exists()


def test_what_is_wrong_is_shown_with_its_row(board: Benchmark, member: Client) -> None:
    made = send(member, answer_file(board, "A" * N) + b'{"id": "<b>x</b>", "pred_answer": "A"}\n')
    checked()
    page = text(member, f"{SENT}{made.public_id}/")
    assert "The check did not pass" in page
    assert f'<td class="number">{N + 1}</td>' in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x</b>" not in page
    assert "Name for edition" not in page


def test_a_check_that_broke_off_says_what_to_do(board: Benchmark, member: Client) -> None:
    made = send(member, answer_file(board, "A" * N))
    Job.objects.update(state=JobState.FAILED)
    assert "Send the same file again" in text(member, f"{SENT}{made.public_id}/")


def test_a_form_without_a_file_and_a_name_without_an_edition_are_sentences(team: Team, member: Client) -> None:
    assert member.post(SENT, {}).status_code == 422
    made = make_submission(team, "A" * N)
    for sent, sentence in (
        ({}, "Choose an edition."),
        ({"edition": 7}, "There is no edition 7."),
        ({"edition": 1, "statement": 9}, "The team has no statement 9."),
    ):
        answer = member.post(f"{SENT}{made.public_id}/name/", sent, follow=True)
        assert sentence in answer.content.decode()
    assert not EditionEntry.objects.exists()


def test_after_the_date_the_page_offers_the_next_edition(team: Team, member: Client, board: Benchmark) -> None:
    board.editions.filter(number=1).update(due_on="2026-04-30")
    made = make_submission(team, "A" * N)
    page = text(member, f"{SENT}{made.public_id}/")
    assert "Name for edition 2" in page
    assert "Name for edition 1" not in page
    answer = member.post(f"{SENT}{made.public_id}/name/", {"edition": 1}, follow=True)
    assert "Edition 1 took submissions until 2026-04-30 (UTC)." in answer.content.decode()


def test_a_coordinator_sees_what_all_teams_sent_and_names_nothing(
    board: Benchmark, team: Team, log_in: Callable[[User], Client]
) -> None:
    made = make_submission(team, "A" * N)
    make_submission(make_team(board, "Team Two"), "B" * N)
    cora = log_in(make_person("Cora", Role.COORDINATOR))
    page = text(cora, SENT)
    assert "Team One" in page
    assert "Team Two" in page
    own = text(cora, f"{SENT}{made.public_id}/")
    assert "Name for edition" not in own
    assert "Withdraw it" in own
    assert cora.post(f"{SENT}{made.public_id}/name/", {"edition": 1}).status_code == 403
    assert cora.post(SENT, {}).status_code == 404, "a coordinator is in no team"
    cora.post(f"{SENT}{made.public_id}/withdraw/", {"reason": "By mail of the team"})
    made.refresh_from_db()
    assert made.state == SubmissionState.WITHDRAWN


def test_another_team_and_a_stranger_find_nothing(
    team: Team, board: Benchmark, log_in: Callable[[User], Client]
) -> None:
    made = make_submission(team, "A" * N)
    other = make_team(board, "Team Two").members.get().user
    for person in (other, make_person("Mona", Role.MODEL_SUBMITTER), make_person("Rita", Role.REVIEWER)):
        client = log_in(person)
        for address in (f"{SENT}{made.public_id}/", f"{SENT}{made.public_id}/report.json", f"{SENT}none/"):
            assert client.get(address).status_code == 404
        for act in ("name", "withdraw"):
            assert client.post(f"{SENT}{made.public_id}/{act}/", {"edition": 1, "reason": "x"}).status_code == 404
        assert made.statement is not None
        assert client.get(f"{SAID}{made.statement.public_id}/").status_code == 404
        assert client.get(f"{SAID}{made.statement.public_id}/card.md").status_code == 404


# --- statements ---
def test_a_statement_is_filled_in_and_an_unanswered_line_is_named(member: Client, team: Team) -> None:
    answer = member.post(f"{SAID}new/", statement_answers(parameters="", link="javascript:alert(1)"))
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "“unknown” is an answer" in page
    assert page.count('class="errorlist"') == 2
    assert not Statement.objects.exists()
    hostile = '<script>alert(1)</script><img src="https://a.example/b.png">'
    sent = statement_answers(model=hostile, tools=hostile, link="https://example.org/a?b=1&c")
    made_at = member.post(f"{SAID}new/", sent).headers["Location"]
    page = text(member, made_at)
    assert "<script>alert" not in page
    assert '<img src="https://a' not in page
    assert 'href="https://example.org/a?b=1&amp;c"' in page
    assert 'rel="nofollow noopener noreferrer ugc"' in page
    assert 'value="4b-it"' in text(member, f"{SAID}new/"), "the next one is filled with the last"
    card = member.get(f"{made_at}card.md")
    front = yaml.safe_load(card.content.decode().split("---\n")[1])
    assert front["model-index"] == [{"name": hostile, "results": []}]
    assert card.headers["Content-Type"].startswith("text/markdown")


def test_a_coordinator_passes_or_refuses_it(team: Team, log_in: Callable[[User], Client]) -> None:
    first = add_statement(team, statement_answers(), actor=None, at=AT)
    second = add_statement(team, statement_answers(model="Other"), actor=None, at=AT)
    cora = log_in(make_person("Cora", Role.COORDINATOR))
    assert f"{SAID}{first.public_id}/" in text(cora, SENT)
    cora.post(f"{SAID}{first.public_id}/pass/")
    answer = cora.post(f"{SAID}{second.public_id}/refuse/", {"reason": ""}, follow=True)
    assert "Say why the statement is refused." in answer.content.decode()
    cora.post(f"{SAID}{second.public_id}/refuse/", {"reason": "Names a patient"})
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.passed_at, second.refused_because) == (AT, "Names a patient")
    assert "Statements to pass" not in text(cora, SENT)
    member = log_in(team.members.get().user)
    assert "Names a patient" in text(member, f"{SAID}{second.public_id}/")
    assert member.post(f"{SAID}{first.public_id}/pass/").status_code == 403


# --- run here ---
def test_a_coordinator_hands_a_run_in_on_its_page(
    settings: Settings, log_in: Callable[[User], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    name_endpoints(settings)
    make_prompt(images=SentImages.ALL)
    bank = keyed_bank(4)
    images_are_there(bank)
    team = make_team(make_benchmark(bank))
    run = planned(Target(bank))
    answer(run)
    cora = log_in(make_person("Cora", Role.COORDINATOR))
    address = f"/models/at-work/{run.batch.public_id}/"
    assert "Hand in for a team" not in text(cora, address)
    end(run)
    page = text(cora, address)
    assert "Team One (Private test)" in page
    assert "Variants, orders, repeats" not in page
    answered = cora.post(f"{address}hand-in/", {"team": team.public_id, "way": "endpoint"}, follow=True)
    assert "Handed in for Team One as submission 1." in answered.content.decode()
    made = Submission.objects.get()
    assert (made.answers, made.way) == ("BBBB", SubmissionWay.TEAM_ENDPOINT)
    assert f"{SENT}{made.public_id}/" in text(cora, address)
    assert "answers to each: 1; the first counts" in " ".join(text(cora, f"{SENT}{made.public_id}/").split())
    told = text(cora, f"{SENT}{made.public_id}/") + text(cora, address)
    assert not re.search(r"(?i)accura|100(\.0)?\s?%", told), "it is right everywhere, and nothing says so"
    assert Edition.objects.filter(published_at=None).count() == 2
