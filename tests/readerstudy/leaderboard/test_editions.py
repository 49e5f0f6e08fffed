"""An edition: two persons, after its date, everything at once, a row that never changes; on its page and by the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from annotation.enums import QuestionState, Role
from annotation.models import AuditEvent, Job, Question, User
from annotation.people.open_work import WorkItem
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard import edition_scoring, editions
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.edition_scoring import score_edition
from readerstudy.leaderboard.editions import VERIFY, confirm_edition, propose_edition
from readerstudy.leaderboard.home import leaderboards_under_way
from readerstudy.models import Benchmark, Edition, EditionResult, PublishedNumber
from tests.annotation.api.asking import problem_of
from tests.conftest import make_person
from tests.jobs import work
from tests.readerstudy.leaderboard.made import (
    FROZEN_AT,
    after,
    browser_of,
    keys_of,
    make_benchmark,
    make_named,
    make_published,
    make_submission,
    make_team,
    post,
    read,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

BEFORE = datetime(2026, 6, 1, 23, 59, tzinfo=UTC)
AFTER = datetime(2026, 6, 2, 0, 0, tzinfo=UTC)


@pytest.fixture
def edition() -> Edition:
    return make_named(60).editions.get()


@pytest.fixture
def omar(db: None) -> User:
    return make_person("omar", Role.COORDINATOR)


def confirmed(edition: Edition) -> Edition:
    edition.proposed_at = edition.confirmed_at = AFTER
    edition.save()
    return edition


def test_two_persons_confirm_and_a_job_scores(edition: Edition, cora: User, omar: User) -> None:
    with refuses(LeaderboardRefused, "not_proposed", match="propose it first"):
        confirm_edition(edition, actor=omar, at=AFTER)
    propose_edition(edition, actor=cora, at=AFTER)
    with refuses(LeaderboardRefused, "same_person", match="another coordinator"):
        confirm_edition(edition, actor=cora, at=AFTER)
    job = confirm_edition(edition, actor=omar, at=AFTER)
    edition.refresh_from_db()
    assert (edition.proposed_by, edition.confirmed_by, edition.published_at) == (cora, omar, None)
    assert (job.kind, job.params["edition"]) == (editions.SCORE, edition.pk)
    assert not EditionResult.objects.exists()
    assert [one.act for one in AuditEvent.objects.order_by("pk")][-2:] == ["edition.proposed", "edition.confirmed"]
    assert confirm_edition(edition, actor=omar, at=AFTER) == job == Job.objects.get()


def test_what_is_not_proposed(edition: Edition, cora: User) -> None:
    with refuses(LeaderboardRefused, "too_early", match="2026-06-01"):
        propose_edition(edition, actor=cora, at=BEFORE)
    edition.entries.all().delete()
    with refuses(LeaderboardRefused, "nothing_named"):
        propose_edition(edition, actor=cora, at=AFTER)
    Benchmark.objects.update(state=BenchmarkState.CLOSED)
    with refuses(LeaderboardRefused, "not_open", match="is closed"):
        propose_edition(edition, actor=cora, at=AFTER)


def test_scored_twice_is_one_row_with_its_ledger(edition: Edition) -> None:
    version = confirmed(edition).benchmark.versions.get()
    first = score_edition(edition, version, actor=None, at=AFTER)
    n_rows = PublishedNumber.objects.count()
    assert score_edition(edition, version, actor=None, at=AFTER + timedelta(days=1)) == first
    assert (EditionResult.objects.count(), PublishedNumber.objects.count()) == (1, n_rows)
    edition.refresh_from_db()
    assert edition.published_at == AFTER
    result = msgspec.json.decode(first.result)
    assert [one["numbers"]["all"]["value"] for one in result["entries"]] == [90.0, 66.7, 50.0]
    rows = PublishedNumber.objects.filter(what="all").order_by("-pk")
    assert [one.value["value"] for one in rows] == [50.0, 66.7, 90.0]
    assert all(one.answers == [one.submission.answers_sha256] for one in rows if one.submission)
    assert sorted(set(PublishedNumber.objects.values_list("told_to", "rule"))) == [("everybody", "score-1 release-1")]


def test_nothing_is_scored_before_two_persons_confirmed_or_with_other_keys(
    edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = edition.benchmark.versions.get()
    with refuses(LeaderboardRefused, "not_confirmed"):
        score_edition(edition, version, actor=None, at=AFTER)
    monkeypatch.setattr(edition_scoring, "commitment_holds", lambda version: False)
    with refuses(LeaderboardRefused, "keys_changed"):
        score_edition(confirmed(edition), version, actor=None, at=AFTER)
    assert not EditionResult.objects.exists()


def test_withdrawn_and_failed_submissions_are_not_scored(edition: Edition) -> None:
    benchmark = edition.benchmark
    for name, fields in (("Four", {"withdrawn_at": BEFORE}), ("Five", {"is_sound": False, "answers": ""})):
        made = make_submission(make_team(benchmark, f"Team {name}"), keys_of(benchmark), edition=edition)
        type(made).objects.filter(pk=made.pk).update(**fields)
    found = score_edition(confirmed(edition), benchmark.versions.get(), actor=None, at=AFTER)
    assert len(msgspec.json.decode(found.result)["entries"]) == 3


# --- on its page -----------------------------------------------------------------------------------
ROOT = "/leaderboards/private-test/"
PAGE = f"{ROOT}editions/"


@pytest.fixture
def named() -> Benchmark:
    """The date of its only edition is long over."""
    made = make_named(300)
    Edition.objects.update(due_on="2026-01-05")
    return made


def test_from_the_proposal_to_the_public_board(named: Benchmark, cora: User, omar: User, tmp_path: Path) -> None:
    page = read(cora, PAGE)
    assert "Propose to score it" in page
    assert "Until then nobody learns a number" in page
    assert "Another coordinator confirms it" in post(cora, f"{PAGE}1/propose/")[1]
    assert "Confirm and score" not in read(cora, PAGE)
    assert "You proposed this edition" in post(cora, f"{PAGE}1/confirm/")[1]
    status, asked = post(omar, f"{PAGE}1/confirm/")
    assert (status, "Team One, Team Three, Team Two" in asked, EditionResult.objects.exists()) == (200, True, False)
    post(omar, f"{PAGE}1/confirm/", confirmed="yes")
    work()
    page = read(omar, PAGE)
    assert "published" in page
    assert 'href="/board/private-test/"' in page
    assert (tmp_path / "boards" / "private-test" / "index.html").is_file()


def test_verifying_shows_what_differs(cora: User) -> None:
    make_published(n=300)
    post(cora, f"{ROOT}publish/")
    post(cora, f"{ROOT}verify/")
    work()
    assert "files are what was published" in read(cora, PAGE)
    PublishedNumber.objects.filter(what="band").delete()
    post(cora, f"{ROOT}verify/")
    work()
    assert Job.objects.get(kind=VERIFY, result__different=3)
    assert "the ledger has no row for band" in read(cora, PAGE)


def test_versions_and_notes_on_the_page(cora: User, ada: User) -> None:
    benchmark = make_published(n=300)
    Question.objects.filter(bank=benchmark.bank, number=4).update(state=QuestionState.WITHDRAWN)
    assert "1 question was withdrawn or corrected since the newest version: 4 (voided)" in read(cora, PAGE)
    assert "This field is required" in post(cora, f"{ROOT}new-version/", reason="")[1]
    post(cora, f"{ROOT}new-version/", reason="Review")
    assert benchmark.versions.count() == 2
    assert "Score on the newest version" in read(cora, PAGE)
    post(cora, f"{ROOT}note/", text="<b>disputed</b>", entry="")
    assert "&lt;b&gt;disputed&lt;/b&gt;" in read(cora, PAGE)
    assert "has the id none" in post(cora, f"{ROOT}note/", text="x", entry="none")[1]
    assert "Write the public board" not in read(ada, PAGE)


def test_a_page_without_editions_says_what_follows(cora: User) -> None:
    make_benchmark(n=30, n_editions=0)
    assert "No edition is planned" in read(cora, PAGE)


# --- the API --------------------------------------------------------------------------------------
def test_editions_and_results_over_the_api(rita: User) -> None:
    benchmark = make_published(n=300, n_editions=2)
    member = browser_of(benchmark.teams.get(name="Team One").members.get().user)
    api = "/api/v1/leaderboards/private-test/"
    found = member.get(f"{api}editions/").json()["results"]
    assert {one["number"]: one["versions"] for one in found} == {1: [1], 2: []}
    assert member.get(f"{api}editions/1/").json()["published_at"]
    taken = member.get(f"{api}editions/1/results/1/")
    assert taken.content.decode() == EditionResult.objects.get().result
    assert member.get(f"{api}editions/1/results/1/", HTTP_IF_NONE_MATCH=taken["ETag"]).status_code == 304
    for path in ("editions/2/results/1/", "editions/1/results/2/", "editions/3/"):
        assert member.get(f"{api}{path}").status_code == 404
    private, unknown = (browser_of(rita).get(f"/api/v1/leaderboards/{one}/editions/") for one in ("private-test", "no"))
    assert problem_of(private, 404, "not_found") == problem_of(unknown, 404, "not_found")


@pytest.fixture
def board() -> Benchmark:
    return make_benchmark(n_editions=1)


def told(person: User, at: datetime = FROZEN_AT) -> tuple[WorkItem, str, str]:
    """The line of the leaderboard; sentence and address of the next step, empty where there is none."""
    section = leaderboards_under_way(person, at)
    assert section is not None
    assert not section.is_own
    [item] = section.items
    return (item, section.step.sentence, section.step.url) if section.step else (item, "", "")


def test_a_quiet_leaderboard_has_a_line_and_no_step(board: Benchmark, cora: User) -> None:
    item, sentence, _url = told(cora)
    assert (item.name, item.words, item.state, sentence) == ("Private test", "next edition 2026-06-01", "", "")


def test_teams_and_statements_that_wait_come_next(board: Benchmark, cora: User) -> None:
    team = make_team(board)
    make_submission(team, keys_of(board))
    team.statements.update(passed_at=None)
    item, _sentence, url = told(cora)
    assert (item.words, url) == ("1 statement to read", "/leaderboards/private-test/submissions/")
    make_team(board, "Other")
    board.teams.filter(name="Other").update(state=TeamState.ASKED)
    item, sentence, url = told(cora)
    assert item.words == "1 team to approve, 1 statement to read"
    assert (sentence, url) == (f"“Private test”: {item.words}.", "/leaderboards/private-test/")


def test_an_edition_that_is_due_comes_first(board: Benchmark, cora: User) -> None:
    edition, carl = board.editions.get(), make_person("Carl", Role.COORDINATOR)
    at = after(edition)
    assert told(cora, at)[1] == "", "nobody named anything"
    make_submission(make_team(board), keys_of(board), edition=edition)
    item, sentence, url = told(cora, at)
    assert (item.state, "propose" in sentence, url) == ("edition 1 is due", True, PAGE)
    edition.proposed_by, edition.proposed_at = cora, at
    edition.save()
    assert told(cora, at)[1] == "", "another coordinator confirms it"
    assert told(carl, at)[1] == "Cora proposed to score edition 1 of “Private test”: confirm it."
    edition.confirmed_by, edition.confirmed_at = carl, at
    edition.save()
    assert told(carl, at)[1] == ""


def test_others_see_none_of_it(board: Benchmark, ada: User, cora: User) -> None:
    assert leaderboards_under_way(ada, FROZEN_AT) is None
    assert leaderboards_under_way(make_person("Mona", Role.MODEL_SUBMITTER), FROZEN_AT) is None
    Benchmark.objects.update(state=BenchmarkState.CLOSED)
    assert leaderboards_under_way(cora, FROZEN_AT) is None
