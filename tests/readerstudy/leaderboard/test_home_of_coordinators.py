"""What the home page of a coordinator says of leaderboards: who waits, and which edition is due."""

from __future__ import annotations

from datetime import datetime

import pytest

from annotation.enums import Role
from annotation.models import User
from annotation.people.open_work import WorkSection
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard.home import leaderboards_under_way
from readerstudy.models import Benchmark
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import FROZEN_AT, keys_of, make_benchmark, make_submission, make_team
from tests.readerstudy.leaderboard.published import after

pytestmark = pytest.mark.django_db


@pytest.fixture
def board() -> Benchmark:
    return make_benchmark(n_editions=1)


def section_of(person: User, at: datetime = FROZEN_AT) -> WorkSection:
    section = leaderboards_under_way(person, at)
    assert section is not None
    return section


def test_a_quiet_leaderboard_has_a_line_and_no_step(board: Benchmark, cora: User) -> None:
    section = section_of(cora)
    assert [(one.name, one.words, one.state) for one in section.items] == [
        ("Private test", "next edition 2026-06-01", "")
    ]
    assert section.step is None
    assert not section.is_own


def test_teams_and_statements_that_wait_come_next(board: Benchmark, cora: User) -> None:
    team = make_team(board)
    make_submission(team, keys_of(board))
    team.statements.update(passed_at=None)
    section = section_of(cora)
    assert section.items[0].words == "1 statement to read"
    assert section.step is not None
    assert section.step.url == "/leaderboards/private-test/submissions/"
    make_team(board, "Other")
    board.teams.filter(name="Other").update(state=TeamState.ASKED)
    section = section_of(cora)
    assert section.items[0].words == "1 team to approve, 1 statement to read"
    assert section.step is not None
    assert (section.step.sentence, section.step.url) == (
        "“Private test”: 1 team to approve, 1 statement to read.",
        "/leaderboards/private-test/",
    )


def test_an_edition_that_is_due_comes_first(board: Benchmark, cora: User) -> None:
    edition, carl = board.editions.get(), make_person("Carl", Role.COORDINATOR)
    at = after(edition)
    assert section_of(cora, at).step is None  # nobody named anything
    make_submission(make_team(board), keys_of(board), edition=edition)
    section = section_of(cora, at)
    assert section.items[0].state == "edition 1 is due"
    assert section.step is not None
    assert section.step.url == "/leaderboards/private-test/editions/"
    assert "propose" in section.step.sentence
    edition.proposed_by, edition.proposed_at = cora, at
    edition.save()
    assert section_of(cora, at).step is None  # another coordinator confirms it
    step = section_of(carl, at).step
    assert step is not None
    assert step.sentence == "Cora proposed to score edition 1 of “Private test”: confirm it."
    edition.confirmed_by, edition.confirmed_at = carl, at
    edition.save()
    assert section_of(carl, at).step is None


def test_others_see_none_of_it(board: Benchmark, ada: User, cora: User) -> None:
    assert leaderboards_under_way(ada, FROZEN_AT) is None
    assert leaderboards_under_way(make_person("Mona", Role.MODEL_SUBMITTER), FROZEN_AT) is None
    Benchmark.objects.update(state=BenchmarkState.CLOSED)
    assert leaderboards_under_way(cora, FROZEN_AT) is None
