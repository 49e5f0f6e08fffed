from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.enums import Role
from annotation.models import Job, User
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard import benchmarks
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.leaderboard.inputs import packed_inputs
from readerstudy.models import Benchmark, Edition, Team
from tests.conftest import make_person
from tests.jobs import work
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.drafts import make_draft, make_public, make_whole
from tests.readerstudy.leaderboard.made import make_benchmark, make_team

pytestmark = pytest.mark.django_db
HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture
def sam() -> User:
    return make_person("Sam", Role.MODEL_SUBMITTER)


@pytest.fixture(autouse=True)
def _few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "FEWEST_IN_BENCHMARK", 3)


def of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def page(person: User, address: str, status: int = 200) -> str:
    answer = of(person).get(address)
    assert answer.status_code == status, answer.content.decode()[:500]
    return " ".join(answer.content.decode().split())


def send(person: User, address: str, **data: Any) -> tuple[int, str]:
    """The status, and what is read afterwards."""
    answer = of(person).post(address, data, follow=True)
    return answer.status_code, " ".join(answer.content.decode().split())


# --- coordinators ---------------------------------------------------------------------------------
def test_the_first_page_says_what_to_do(cora: User, ada: User, sam: User, rita: User) -> None:
    assert "New leaderboard" in page(cora, "/leaderboards/")
    for looker in (ada, sam):
        told = page(looker, "/leaderboards/")
        assert "No leaderboard yet" in told
        assert "New leaderboard" not in told
    page(rita, "/leaderboards/", 403)
    assert "there is none yet" in page(cora, "/leaderboards/new/")
    assert 'href="/leaderboards/"' in page(sam, "/")


def test_a_leaderboard_is_made_decided_about_frozen_and_closed(cora: User) -> None:
    bank = make_whole()
    day = timezone.now().date() + timedelta(days=90)
    status, told = send(cora, "/leaderboards/new/", name="Board", bank=bank.slug, contact="c", editions="2026-13-01")
    assert (status, "“2026-13-01” is no date" in told) == (422, True)
    status, told = send(cora, "/leaderboards/new/", name="Board", bank=bank.slug, contact="c", editions=f"{day}\n")
    assert status == 200
    assert "8 of 8 questions would be asked" in told
    assert "never: fewer than 30 questions" in told
    status, told = send(
        cora, "/leaderboards/board/edit/", name="Board 2", bank=bank.slug, contact="c", about=HOSTILE, editions=f"{day}"
    )
    assert "The draft is saved." in told
    assert HOSTILE not in told
    make_public(bank, 2)
    bank.twins_sought_at = timezone.now()
    bank.save()
    told = page(cora, "/leaderboards/board/")
    assert "Question 2 stands nearly so in a public bank" in told
    assert "like question 1 of Public (2)" in told
    assert "Freeze…" not in told
    assert "Question 2 stands nearly so" in send(cora, "/leaderboards/board/freeze/")[1], "before it is asked about"
    assert "“x” is no number." in send(cora, "/leaderboards/board/decide/", numbers="x")[1]
    assert "The decision is stored." in send(cora, "/leaderboards/board/decide/", reason="common wording")[1]
    status, told = send(cora, "/leaderboards/board/freeze/")
    assert (status, "8 questions, their keys, the rules and the dates are fixed" in told) == (409, True)
    assert Benchmark.objects.get().state == BenchmarkState.DRAFT
    status, told = send(cora, "/leaderboards/board/freeze/", confirmed="yes")
    assert "The leaderboard is frozen" in told
    assert "No team yet" in told
    assert "The file is being written" in told
    assert send(cora, "/leaderboards/board/close/")[0] == 409
    assert "The leaderboard is closed." in send(cora, "/leaderboards/board/close/", confirmed="yes")[1]


def test_what_blocks_freezing_is_told_and_the_comparison_offered(cora: User) -> None:
    draft = make_draft()
    make_public(draft.bank)
    draft.bank.twins_sought_at = None
    draft.bank.save()
    told = page(cora, "/leaderboards/private-test/")
    assert "was not compared with the public banks" in told
    assert "Compare with public banks" in told
    address = page(cora, "/leaderboards/private-test/").split('action="/banks/')[1].split('"')[0]
    send(cora, f"/banks/{address}", across="yes")
    assert Job.objects.get().params["across"] is True


def test_administrators_look_on(ada: User) -> None:
    make_benchmark(make_whole())
    team = make_team(Benchmark.objects.get())
    told = page(ada, "/leaderboards/private-test/")
    assert "Team One" in told
    assert "Close…" not in told
    for act in ("close", "pack", f"teams/{team.public_id}/add-member"):
        assert send(ada, f"/leaderboards/private-test/{act}/", email="x@example.org")[0] == 403
    page(ada, "/leaderboards/private-test/inputs/", 403)
    page(ada, "/leaderboards/private-test/edit/", 403)


def test_teams_are_approved_and_refused(cora: User, sam: User) -> None:
    board = make_benchmark(make_whole())
    waiting = make_team(board, HOSTILE, sam)
    other = make_team(board, "Other")
    Team.objects.update(state=TeamState.ASKED)
    told = page(cora, "/leaderboards/private-test/")
    assert HOSTILE not in told
    assert "waits for approval" in told
    address = f"/leaderboards/private-test/teams/{waiting.public_id}"
    assert "Say why the team is refused" in send(cora, f"{address}/refuse/")[1]
    assert "The team is approved." in send(cora, f"{address}/approve/")[1]
    send(cora, f"/leaderboards/private-test/teams/{other.public_id}/refuse/", reason="not known")
    assert "not known" in page(cora, "/leaderboards/private-test/")
    assert send(sam, f"{address}/approve/")[0] == 403


# --- teams ----------------------------------------------------------------------------------------
def test_a_submitter_asks_for_a_team_and_reads_why_it_was_refused(sam: User, cora: User) -> None:
    make_benchmark(make_whole())
    answer = of(sam).get("/leaderboards/private-test/")
    assert (answer.status_code, answer["Location"]) == (302, "/leaderboards/private-test/team/")
    assert "Take part" in page(sam, "/leaderboards/private-test/team/")
    data = {"name": "Blue", "institution": "Uni", "contact": "t@example.org", "link": "ftp://example.org"}
    status, told = send(sam, "/leaderboards/private-test/team/", **data)
    assert (status, Team.objects.exists()) == (422, False)
    _status, told = send(sam, "/leaderboards/private-test/team/", **{**data, "link": ""})
    assert "A coordinator will decide about the team" in told
    assert "Download" not in told
    team = Team.objects.get()
    send(cora, f"/leaderboards/private-test/teams/{team.public_id}/refuse/", reason="Who are you?")
    told = page(sam, "/leaderboards/private-test/team/")
    assert "The team “Blue” was refused: Who are you?" in told
    assert "Take part" in told


def test_members_see_their_team_and_nobody_elses(sam: User) -> None:
    board = make_benchmark(make_whole())
    team, other = make_team(board, "One", sam), make_team(board, "Two")
    told = page(sam, "/leaderboards/private-test/team/")
    assert "sam@example.org" in told
    assert "Make a token" in told
    assert "Two" not in told
    bea = make_person("Bea", Role.MODEL_SUBMITTER)
    address = f"/leaderboards/private-test/teams/{team.public_id}"
    assert "Nobody who submits models here" in send(sam, f"{address}/add-member/", email="no@example.org")[1]
    assert "The person is in the team." in send(sam, f"{address}/add-member/", email=bea.email)[1]
    assert "Leaderboards" in send(sam, f"{address}/remove-member/", email=sam.email)[1], "who leaves is led to the list"
    assert send(bea, f"/leaderboards/private-test/teams/{other.public_id}/add-member/", email="x@example.org")[0] == 404
    assert send(sam, f"{address}/add-member/", email="x@example.org")[0] == 404


def test_drafts_are_unknown_to_submitters(sam: User) -> None:
    make_draft()
    for address in ("", "team/", "inputs/"):
        page(sam, f"/leaderboards/private-test/{address}", 404)
        page(sam, f"/leaderboards/no-such/{address}", 404)


def test_the_questions_are_taken_by_members_and_a_download_goes_on(sam: User, cora: User) -> None:
    board = make_benchmark(make_questions(3))
    make_team(board, "One", sam)
    bea = make_person("Bea", Role.MODEL_SUBMITTER)
    page(bea, "/leaderboards/private-test/inputs/", 403)
    assert send(bea, "/leaderboards/private-test/pack/")[0] == 403
    assert "The file is not there" in page(sam, "/leaderboards/private-test/team/")
    page(sam, "/leaderboards/private-test/inputs/", 409)
    assert "The file is being written." in send(sam, "/leaderboards/private-test/pack/")[1]
    work()
    assert "Download" in page(sam, "/leaderboards/private-test/team/")
    whole = of(sam).get("/leaderboards/private-test/inputs/")
    content = whole.getvalue()
    assert whole["Content-Disposition"] == 'attachment; filename="private-test-1.zip"'
    assert "no-cache" in whole["Cache-Control"]
    rest = of(sam).get("/leaderboards/private-test/inputs/", headers={"range": "bytes=100-", "if-range": whole["ETag"]})
    assert (rest.status_code, rest.getvalue()) == (206, content[100:])
    found = packed_inputs(board)
    assert found is not None
    assert content == found.read_bytes()
    board.state = BenchmarkState.CLOSED
    board.save()
    page(sam, "/leaderboards/private-test/inputs/", 409)
    assert "given to nobody any more" in page(sam, "/leaderboards/private-test/team/")


def test_the_page_says_which_edition_tells_what(cora: User) -> None:
    board = make_benchmark(make_whole(40), n_editions=2)
    told = page(cora, "/leaderboards/private-test/")
    assert "edition 2" in told
    assert current_version(board).protocol_sha256[:16] in told
    advice = "plan at most this many editions: 1, or ask more questions."
    assert advice not in told, "it is too late for advice"
    draft = make_draft(make_whole(40, name="Second"), name="Draft")
    assert advice in page(cora, "/leaderboards/draft/")
    Edition.objects.filter(benchmark=draft, number=2).delete()
    assert advice not in page(cora, "/leaderboards/draft/")
