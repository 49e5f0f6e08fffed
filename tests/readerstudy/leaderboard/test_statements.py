"""The statement of a team: whole or refused, a further number each time, and shown once a coordinator passed it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from annotation.enums import Role
from annotation.models import AuditEvent, User
from readerstudy.enums import TeamState
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.statements import add_statement, pass_statement, refuse_statement, statements_known_to
from readerstudy.models import Edition, Statement, Team
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import make_benchmark, make_submission, make_team, statement_answers
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def team() -> Team:
    return make_team(make_benchmark(n=3))


@pytest.fixture
def cora() -> User:
    return make_person("Cora", Role.COORDINATOR)


def add(team: Team, **said: str) -> Statement:
    return add_statement(team, statement_answers(**said), actor=None, at=AT)


def test_each_one_is_a_further_number_and_none_changes(team: Team) -> None:
    first = add(team)
    assert add(team).pk == first.pk, "the same again changes nothing"
    second = add(team, version="2\u202e.0")
    first.refresh_from_db()
    assert [(one.number, one.answers["version"]) for one in (first, second)] == [(1, "4b-it"), (2, "2.0")]
    assert list(second.answers)[:2] == ["model", "version"]
    assert AuditEvent.objects.filter(act="statement.added").count() == 2


def test_an_unanswered_line_is_refused_by_name(team: Team) -> None:
    with refuses(LeaderboardRefused, "unanswered", match="2. The first is “Number of parameters”") as refused:
        add(team, parameters="", link="ftp://x")
    assert refused.value.status == 422
    assert [one.field for one in refused.value.facts["faults"]] == ["parameters", "link"]
    with refuses(LeaderboardRefused, "unanswered", match="“score”"):
        add(team, score="99")
    assert not Statement.objects.exists()


def test_only_an_approved_team_says_something(team: Team) -> None:
    Team.objects.update(state=TeamState.REFUSED)
    with refuses(LeaderboardRefused, "not_approved"):
        add(team)


def test_a_coordinator_passes_it_once(team: Team, cora: User) -> None:
    made = add(team)
    passed = pass_statement(made, actor=cora, at=AT)
    assert (passed.passed_by, passed.passed_at) == (cora, AT)
    pass_statement(made, actor=cora, at=AT)
    assert AuditEvent.objects.filter(act="statement.passed").count() == 1
    with refuses(LeaderboardRefused, "decided"):
        refuse_statement(made, "Too late", actor=cora, at=AT)


def test_a_refused_one_never_shows_and_says_why(team: Team, cora: User) -> None:
    made = add(team)
    with refuses(LeaderboardRefused, "bad_text"):
        refuse_statement(made, " ", actor=cora, at=AT)
    refuse_statement(made, "Names a patient", actor=cora, at=AT)
    made.refresh_from_db()
    assert (made.passed_at, made.refused_because) == (None, "Names a patient")
    with refuses(LeaderboardRefused, "decided"):
        pass_statement(made, actor=cora, at=AT)
    assert add(team).number == 2, "the same words are another statement, once one was refused"


def test_the_next_one_takes_the_place_of_a_refused_one(team: Team, cora: User) -> None:
    edition = Edition.objects.get(number=1)
    submissions = [
        make_submission(team, "AAA", edition=edition),
        make_submission(team, "BBB"),
        make_submission(team, "C--"),
    ]
    first, second, third = (one.statement for one in submissions)
    assert third is not None
    Statement.objects.exclude(pk=third.pk).update(passed_at=None, refused_because="Wrong")
    Edition.objects.filter(pk=edition.pk).update(published_at=AT)
    made = add(team)
    for one in submissions:
        one.refresh_from_db()
    assert [one.statement for one in submissions] == [first, made, third]
    assert second != made


def test_a_team_knows_its_own_and_coordinators_all(team: Team, cora: User) -> None:
    other = make_team(team.benchmark, "Team Two")
    mine, theirs = add(team), add(other)
    person = team.members.get().user
    assert list(statements_known_to(person, team.benchmark)) == [mine]
    assert set(statements_known_to(cora, team.benchmark)) == {mine, theirs}
    assert not statements_known_to(make_person("Rita", Role.REVIEWER), team.benchmark).exists()
