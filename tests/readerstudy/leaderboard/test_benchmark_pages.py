"""Leaderboards on pages, for programs and on the command line: made, frozen and closed; teams; what these take."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from annotation.enums import Role
from annotation.models import AccessToken, Job, User
from annotation.models.people import TokenScope
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard import benchmarks
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.models import Benchmark, Edition, Team
from tests.annotation.api.asking import problem_of, program_of, send_json
from tests.conftest import make_person
from tests.jobs import work
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.made import (
    browser_of,
    make_benchmark,
    make_draft,
    make_public,
    make_team,
    make_whole,
    post,
    program_of_team,
    read,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small")]
HOSTILE = '<img src=x onerror="alert(1)">'
PAGE, NEW, API = "/leaderboards/private-test/", "/leaderboards/new/", "leaderboards/private-test/"


def test_the_first_page_says_what_to_do(cora: User, ada: User, sam: User) -> None:
    assert "New leaderboard" in read(cora, "/leaderboards/")
    for looker in (ada, sam):
        told = read(looker, "/leaderboards/")
        assert "No leaderboard yet" in told
        assert "New leaderboard" not in told
    assert "there is none yet" in read(cora, NEW)
    assert 'href="/leaderboards/"' in read(sam, "/")


def test_a_leaderboard_is_made_decided_about_frozen_and_closed(cora: User) -> None:
    bank, day = make_whole(), f"{timezone.now().date() + timedelta(days=90)}"
    about = {"name": "Board", "bank": bank.slug, "contact": "c"}
    status, told = post(cora, NEW, **about, editions="2026-13-01")
    assert (status, "“2026-13-01” is no date" in told) == (422, True)
    told = post(cora, NEW, **about, editions=f"{day}\n")[1]
    assert "8 of 8 questions would be asked" in told
    assert "never: fewer than 30 questions" in told
    told = post(cora, "/leaderboards/board/edit/", **about, about=HOSTILE, editions=day)[1]
    assert "The draft is saved." in told
    assert HOSTILE not in told
    make_public(bank, 2, at=timezone.now())
    told = read(cora, "/leaderboards/board/")
    assert "Question 2 stands nearly so in a public bank" in told
    assert "like question 1 of Public" in told
    assert "Freeze…" not in told
    assert "Question 2 stands nearly so" in post(cora, "/leaderboards/board/freeze/")[1], "before it is asked about"
    assert "“x” is no number." in post(cora, "/leaderboards/board/decide/", numbers="x")[1]
    assert "The decision is stored." in post(cora, "/leaderboards/board/decide/", reason="common wording")[1]
    status, told = post(cora, "/leaderboards/board/freeze/")
    assert (status, "8 questions, their keys, the rules and the dates are fixed" in told) == (200, True)
    assert Benchmark.objects.get().state == BenchmarkState.DRAFT
    told = post(cora, "/leaderboards/board/freeze/", confirmed="yes")[1]
    for said in ("The leaderboard is frozen", "No team yet", "The file is being written"):
        assert said in told
    assert post(cora, "/leaderboards/board/close/")[0] == 200
    assert "The leaderboard is closed." in post(cora, "/leaderboards/board/close/", confirmed="yes")[1]


def test_the_comparison_with_public_banks_is_offered(cora: User) -> None:
    draft = make_draft()
    make_public(draft.bank)
    draft.bank.twins_sought_at = None
    draft.bank.save()
    told = read(cora, PAGE)
    assert "was not compared with the public banks" in told
    address = told.split('action="/banks/')[1].split('"')[0]
    post(cora, f"/banks/{address}", across="yes")
    assert Job.objects.get().params["across"] is True


def test_administrators_look_on(ada: User) -> None:
    team = make_team(make_benchmark(make_whole()))
    told = read(ada, PAGE)
    assert "Team One" in told
    assert "Close…" not in told
    for act in ("close", "pack", f"teams/{team.public_id}/add-member"):
        assert post(ada, f"{PAGE}{act}/", email="x@example.org")[0] == 403


def test_teams_are_approved_and_refused(cora: User, sam: User) -> None:
    board = make_benchmark(make_whole())
    waiting, other = make_team(board, HOSTILE, sam), make_team(board, "Other")
    Team.objects.update(state=TeamState.ASKED)
    told = read(cora, PAGE)
    assert HOSTILE not in told
    assert "waits for approval" in told
    address = f"{PAGE}teams/{waiting.public_id}"
    assert "Say why the team is refused" in post(cora, f"{address}/refuse/")[1]
    assert "The team is approved." in post(cora, f"{address}/approve/")[1]
    post(cora, f"{PAGE}teams/{other.public_id}/refuse/", reason="not known")
    assert "not known" in read(cora, PAGE)


# --- teams ----------------------------------------------------------------------------------------
def test_a_submitter_asks_for_a_team_and_reads_why_it_was_refused(sam: User, cora: User) -> None:
    make_benchmark(make_whole())
    assert browser_of(sam).get(PAGE).headers["Location"] == f"{PAGE}team/"
    assert "Take part" in read(sam, f"{PAGE}team/")
    data = {"name": "Blue", "institution": "Uni", "contact": "t@example.org"}
    assert (post(sam, f"{PAGE}team/", **data, link="ftp://example.org")[0], Team.objects.exists()) == (422, False)
    told = post(sam, f"{PAGE}team/", **data)[1]
    assert "A coordinator will decide about the team" in told
    assert "Download" not in told
    post(cora, f"{PAGE}teams/{Team.objects.get().public_id}/refuse/", reason="Who are you?")
    told = read(sam, f"{PAGE}team/")
    assert "The team “Blue” was refused: Who are you?" in told
    assert "Take part" in told


def test_members_see_their_team_and_nobody_elses(sam: User) -> None:
    board, bea = make_benchmark(make_whole()), make_person("Bea", Role.MODEL_SUBMITTER)
    team, other = make_team(board, "One", sam), make_team(board, "Two")
    told = read(sam, f"{PAGE}team/")
    for said in ("sam@example.org", "Make a token"):
        assert said in told
    assert "Two" not in told
    address = f"{PAGE}teams/{team.public_id}"
    assert "Nobody who submits models here" in post(sam, f"{address}/add-member/", email="no@example.org")[1]
    assert "The person is in the team." in post(sam, f"{address}/add-member/", email=bea.email)[1]
    assert "Leaderboards" in post(sam, f"{address}/remove-member/", email=sam.email)[1], "who leaves is led to the list"
    assert post(bea, f"{PAGE}teams/{other.public_id}/add-member/", email="x@example.org")[0] == 404
    assert post(sam, f"{address}/add-member/", email="x@example.org")[0] == 404


def test_the_questions_are_taken_by_members_and_a_download_goes_on(sam: User) -> None:
    program = program_of_team(make_team(make_benchmark(make_questions(3)), "One", sam))
    bea = make_person("Bea", Role.MODEL_SUBMITTER)
    read(bea, f"{PAGE}inputs/", 403)
    assert post(bea, f"{PAGE}pack/")[0] == 403
    assert "The file is not there" in read(sam, f"{PAGE}team/")
    problem_of(program.get(f"{API}inputs/"), 409, "not_packed")
    assert "The file is being written." in post(sam, f"{PAGE}pack/")[1]
    work()
    assert "Download" in read(sam, f"{PAGE}team/")
    whole = browser_of(sam).get(f"{PAGE}inputs/")
    content = whole.getvalue()
    assert program.get(f"{API}inputs/").getvalue() == content
    assert program.get(API).json()["inputs_bytes"] == len(content)
    assert whole["Content-Disposition"] == 'attachment; filename="private-test-1.zip"'
    assert "no-cache" in whole["Cache-Control"]
    rest = browser_of(sam).get(f"{PAGE}inputs/", headers={"range": "bytes=100-", "if-range": whole["ETag"]})
    assert (rest.status_code, rest.getvalue()) == (206, content[100:])
    Benchmark.objects.update(state=BenchmarkState.CLOSED)
    read(sam, f"{PAGE}inputs/", 409)
    assert "given to nobody any more" in read(sam, f"{PAGE}team/")


def test_the_page_says_which_edition_tells_what(cora: User) -> None:
    board = make_benchmark(make_whole(40), n_editions=2)
    told = read(cora, PAGE)
    assert "edition 2" in told
    assert current_version(board).protocol_sha256[:16] in told
    advice = "plan at most this many editions: 1, or ask more questions."
    assert advice not in told, "it is too late for advice"
    draft = make_draft(make_whole(40, name="Second"), name="Draft")
    assert advice in read(cora, "/leaderboards/draft/")
    Edition.objects.filter(benchmark=draft, number=2).delete()
    assert advice not in read(cora, "/leaderboards/draft/")


# --- for programs ----------------------------------------------------------------------------------
def test_a_program_of_a_coordinator_makes_and_freezes_a_leaderboard(cora: User) -> None:
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
    assert program.get(API).status_code == 404
    sent = {"name": "Board", "bank": bank.slug, "contact": "c", "editions": ["2999-01-01"]}
    assert program.post("leaderboards/", sent).status_code == 403


def test_a_token_of_a_team_reads_its_leaderboard_and_no_more(sam: User) -> None:
    board = make_benchmark(make_whole())
    draft = make_draft(make_whole(3, name="Second"), name="Draft")
    mine, other = make_team(board, "One", sam), make_team(board, "Two")
    program = program_of_team(mine)
    assert [one["slug"] for one in program.get("leaderboards/").json()["results"]] == ["private-test"]
    told = program.get(API).json()
    assert (told["bank"], told["decisions"], told["problems"]) == (None, None, None)
    assert program.get(f"{API}teams/{mine.public_id}/").json()["name"] == "One"
    unknown = (
        f"leaderboards/{draft.slug}/",
        "leaderboards/no-such/",
        *(f"{API}teams/{one}/" for one in (other.public_id, "none")),
    )
    assert len({problem_of(program.get(address), 404, "not_found")["detail"] for address in unknown}) == 1
    assert program.post(f"{API}close/", {}).status_code == 403
    assert program.post(f"{API}teams/{mine.public_id}/approve/", {}).status_code == 403
    assert program.get("models/").json()["results"] == []


def test_teams_and_their_members_by_programs(sam: User, cora: User) -> None:
    team, bea = make_team(make_benchmark(make_whole()), "One", sam), make_person("Bea", Role.MODEL_SUBMITTER)
    program, address = program_of_team(team), f"{API}teams/{team.public_id}"
    added = program.post(f"{address}/add-member/", {"email": bea.email})
    assert [one["email"] for one in added.json()["members"]] == ["sam@example.org", "bea@example.org"]
    assert program.post(f"{address}/add-member/", {"email": "no@example.org"}).status_code == 422
    assert program.post(f"{address}/remove-member/", {"email": bea.email}).json()["members"][0]["name"] == "Sam"
    Team.objects.update(state=TeamState.ASKED)
    assert send_json(cora, f"{address}/refuse/", {}).status_code == 422
    assert send_json(cora, f"{address}/approve/", {}).json()["state"] == "approved"
    problem_of(send_json(cora, f"{address}/refuse/", {"reason": "unknown"}), 409, "decided")


# --- on the command line ---------------------------------------------------------------------------
def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def refused(*words: str) -> str:
    with pytest.raises(CommandError) as error:
        run(*words)
    assert error.value.returncode == 2
    return str(error.value)


def test_a_leaderboard_is_made_and_frozen_by_commands() -> None:
    bank = make_whole(40)
    days = [f"{timezone.now().date() + timedelta(days=n)}" for n in (30, 60)]
    made = run("create_benchmark", "Board", "--bank", bank.slug, "--edition", *days, "--contact", "c@example.org")
    assert "Leaderboard “Board” (board), a draft." in made
    assert "All questions (n = 40): edition 2" in made
    assert "plan at most this many editions: 1." in made
    make_public(bank, 3, at=timezone.now())
    with pytest.raises(CommandError, match="It cannot be frozen yet"):
        run("freeze_benchmark", "board", "--dry-run")
    assert "Question 3 stands nearly so" in refused("freeze_benchmark", "board")
    frozen = run("freeze_benchmark", "board", "--decide-all", "common wording")
    assert "“Board” is frozen: 40 questions." in frozen
    assert Benchmark.objects.get().decisions == {"all": "common wording"}
    assert "Nothing was frozen." in refused("freeze_benchmark", "board")


@pytest.mark.parametrize(
    ("bank", "day", "says"),
    [
        ("bank", "2020-01-01", "Nothing was stored."),
        ("no", "2999-01-01", "There is no bank named"),
        ("bank", "tomorrow", "invalid fromisoformat value"),
    ],
)
def test_what_is_refused_leaves_nothing(bank: str, day: str, says: str) -> None:
    make_whole()
    with pytest.raises(CommandError, match=says):
        run("create_benchmark", "Board", "--bank", bank, "--edition", day, "--contact", "c")
    assert not Benchmark.objects.exists()
    assert "There is no leaderboard named 'no'. Leaderboards: none so far." in refused("freeze_benchmark", "no")


def test_a_decision_is_not_kept_where_freezing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    draft = make_draft()
    make_public(draft.bank, 2)
    monkeypatch.setattr(benchmarks, "FEWEST_IN_BENCHMARK", 300)
    assert "at least 300" in refused("freeze_benchmark", draft.slug, "--decide-all", "common wording")
    draft.refresh_from_db()
    assert (draft.decisions, draft.state) == ({}, BenchmarkState.DRAFT)


def test_a_dry_run_says_what_would_be_frozen() -> None:
    days = tuple(timezone.now().date() + timedelta(days=n) for n in (30, 60))
    told = run("freeze_benchmark", make_draft(editions=days).slug, "--dry-run")
    assert "8 of 8 questions; 0 nearly stand in a public bank" in told
    assert "All questions (n = 8): never: fewer than 30 questions" in told.splitlines()
    assert Benchmark.objects.get().state == BenchmarkState.DRAFT


def test_a_token_of_a_team_is_made_by_a_command(sam: User) -> None:
    team = make_team(make_benchmark(make_whole()), "One", sam)
    words = ("make_token", "--person", sam.email, "--name", "script", "--role", "model_submitter", "--team")
    assert run(*words, team.public_id).startswith("rexvqa_")
    token = AccessToken.objects.get()
    assert (token.scope, token.place_id, token.place_name) == (TokenScope.TEAM, team.pk, "One, Private test")
    assert "has no role in a team of a leaderboard" in refused(*words, "none")
