from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.enums import Role
from annotation.models import User
from annotation.models.people import TokenScope
from readerstudy.enums import TeamState
from readerstudy.leaderboard import benchmarks
from readerstudy.models import Team
from tests.annotation.api.asking import Program, program_of, send_json
from tests.conftest import make_person
from tests.jobs import work
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.drafts import make_draft, make_whole
from tests.readerstudy.leaderboard.made import make_benchmark, make_team

pytestmark = pytest.mark.django_db
SLUG = "private-test"


@pytest.fixture(autouse=True)
def _few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "FEWEST_IN_BENCHMARK", 3)


@pytest.fixture
def sam() -> User:
    return make_person("Sam", Role.MODEL_SUBMITTER)


def program_of_team(person: User, team: Team) -> Program:
    return program_of(person, Role.MODEL_SUBMITTER, TokenScope.TEAM, team.public_id)


def read(person: User, address: str) -> Any:
    browser = Client()
    browser.force_login(person)
    return browser.get(f"/api/v1/{address}").json()


def test_a_coordinator_makes_and_freezes_a_leaderboard(cora: User) -> None:
    bank = make_whole()
    day = timezone.now().date() + timedelta(days=90)
    sent: dict[str, Any] = {"name": "Board", "bank": bank.slug, "contact": "c@example.org", "editions": [f"{day}"]}
    wrong = send_json(cora, "leaderboards/", {**sent, "editions": ["2020-01-01"]})
    assert (wrong.status_code, "in the past" in wrong.json()["detail"]) == (422, True)
    made = send_json(cora, "leaderboards/", sent)
    assert (made.status_code, made["Location"]) == (201, "/api/v1/leaderboards/board/")
    changed = send_json(cora, "leaderboards/board/edit/", {**sent, "name": "B"})
    assert (changed.json()["name"], changed.json()["bank"], changed.json()["problems"]) == ("B", bank.slug, [])
    assert send_json(cora, "leaderboards/board/decide/", {"numbers": "1", "reason": "x"}).status_code == 422
    frozen = send_json(cora, "leaderboards/board/freeze/", {}).json()
    assert (frozen["state"], frozen["version"], frozen["cells"][0]["n"]) == ("frozen", 1, 8)
    assert send_json(cora, "leaderboards/board/close/", {}).json()["state"] == "closed"


def test_a_token_of_one_bank_runs_no_leaderboard(cora: User) -> None:
    bank = make_draft().bank
    program = program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)
    assert program.get(f"leaderboards/{SLUG}/").status_code == 404
    sent = {"name": "Board", "bank": bank.slug, "contact": "c", "editions": ["2999-01-01"]}
    assert program.post("leaderboards/", sent).status_code == 403


def test_a_token_of_a_team_reads_its_leaderboard_and_no_more(sam: User) -> None:
    board = make_benchmark(make_whole())
    draft = make_draft(make_whole(3, name="Second"), name="Draft")
    mine, other = make_team(board, "One", sam), make_team(board, "Two")
    program = program_of_team(sam, mine)
    assert [one["slug"] for one in program.get("leaderboards/").json()["results"]] == [SLUG]
    told = program.get(f"leaderboards/{SLUG}/").json()
    assert (told["bank"], told["decisions"], told["problems"]) == (None, None, None)
    assert program.get(f"leaderboards/{SLUG}/teams/{mine.public_id}/").json()["name"] == "One"
    unknown = [
        f"leaderboards/{draft.slug}/",
        "leaderboards/no-such/",
        f"leaderboards/{SLUG}/teams/{other.public_id}/",
        f"leaderboards/{SLUG}/teams/none/",
    ]
    answers = [program.get(address) for address in unknown]
    assert {(one.status_code, one.json()["detail"]) for one in answers} == {(404, answers[0].json()["detail"])}
    assert program.post(f"leaderboards/{SLUG}/close/", {}).status_code == 403
    assert program.post(f"leaderboards/{SLUG}/teams/{mine.public_id}/approve/", {}).status_code == 403
    assert program.get("models/").json()["results"] == []


def test_a_token_of_a_team_does_not_outlive_its_approval(sam: User) -> None:
    team = make_team(make_benchmark(make_whole()), "One", sam)
    program = program_of_team(sam, team)
    team.members.all().delete()
    assert program.get("leaderboards/").status_code == 401


def test_members_are_added_and_removed_by_a_program(sam: User) -> None:
    team = make_team(make_benchmark(make_whole()), "One", sam)
    bea = make_person("Bea", Role.MODEL_SUBMITTER)
    program, address = program_of_team(sam, team), f"leaderboards/{SLUG}/teams/{team.public_id}"
    added = program.post(f"{address}/add-member/", {"email": bea.email})
    assert [one["email"] for one in added.json()["members"]] == ["sam@example.org", "bea@example.org"]
    assert program.post(f"{address}/add-member/", {"email": "no@example.org"}).status_code == 422
    assert program.post(f"{address}/remove-member/", {"email": bea.email}).json()["members"][0]["name"] == "Sam"


def test_coordinators_decide_about_teams(sam: User, cora: User) -> None:
    team = make_team(make_benchmark(make_whole()), "One", sam)
    Team.objects.update(state=TeamState.ASKED)
    address = f"leaderboards/{SLUG}/teams/{team.public_id}"
    assert send_json(cora, f"{address}/refuse/", {}).status_code == 422
    assert send_json(cora, f"{address}/approve/", {}).json()["state"] == "approved"
    again = send_json(cora, f"{address}/refuse/", {"reason": "unknown"})
    assert (again.status_code, again.json()["code"]) == (409, "decided")


def test_a_program_takes_the_questions_and_goes_on_where_it_broke_off(sam: User) -> None:
    board = make_benchmark(make_questions(3))
    program = program_of_team(sam, make_team(board, "One", sam))
    address = f"leaderboards/{SLUG}/inputs/"
    assert program.get(address).json()["code"] == "not_packed"
    assert program.post(f"leaderboards/{SLUG}/pack/", {}).json()["inputs_bytes"] is None
    work()
    whole = program.get(address)
    content = whole.getvalue()
    assert program.get(f"leaderboards/{SLUG}/").json()["inputs_bytes"] == len(content)
    rest = program.get(address, Range="bytes=1000-", If_Range=whole["ETag"])
    assert (rest.status_code, rest.getvalue()) == (206, content[1000:])
    assert rest["Content-Range"] == f"bytes 1000-{len(content) - 1}/{len(content)}"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert len(json.loads(archive.read("questions.json"))) == 3
