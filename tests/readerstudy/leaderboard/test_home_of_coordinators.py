"""What the home page of a coordinator says of leaderboards: who waits, and which edition is due."""

from __future__ import annotations

from datetime import datetime

import pytest

from annotation.enums import Role
from annotation.models import User
from annotation.people.open_work import WorkItem
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard.editions import leaderboards_under_way
from readerstudy.models import Benchmark
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import FROZEN_AT, after, keys_of, make_benchmark, make_submission, make_team

pytestmark = pytest.mark.django_db


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
    assert (item.state, "propose" in sentence, url) == (
        "edition 1 is due",
        True,
        "/leaderboards/private-test/editions/",
    )
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
