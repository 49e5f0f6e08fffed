from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from annotation.contributions import conflicts
from annotation.enums import ImportKind, KeySource, Role
from annotation.models import (
    Assignment,
    AuditEvent,
    BankImport,
    Edit,
    Membership,
    Question,
    Revision,
    SamplingPlan,
    SeenKey,
    User,
)
from annotation.models.people import TokenScope
from annotation.people.roles import held_roles
from annotation.people.tokens import PeopleRefused, make_token, person_of, place_named, places_of
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard.access import LeaderboardRefused, own_team, teams_known_to
from readerstudy.leaderboard.home import leaderboards_of_submitter
from readerstudy.leaderboard.teams import (
    add_member,
    approve_team,
    ask_for_team,
    barred_because,
    data_of_member,
    refuse_team,
    refused_team,
    remove_member,
)
from readerstudy.models import Benchmark, Team
from tests.annotation.review.cases import make_round
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import NOW, make_team, make_whole
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def ask(board: Benchmark, person: User, **fields: Any) -> Team:
    named = {"name": "Blue team", "institution": "Example University", "contact": "team@example.org"}
    return ask_for_team(board, **{**named, **fields}, actor=person, at=NOW)


# --- asking ---------------------------------------------------------------------------------------
def test_a_team_waits_for_a_coordinator(board: Benchmark, sam: User, cora: User) -> None:
    team = ask(board, sam, name=" Blue\u202e team ", link="https://example.org/x", anonymous_until=date(2027, 12, 1))
    assert (team.name, team.state) == ("Blue team", TeamState.ASKED)
    assert own_team(sam, board) is None
    approve_team(team, actor=cora, at=NOW)
    assert own_team(sam, board) == team
    assert [one.act for one in AuditEvent.objects.filter(act__startswith="team.").order_by("pk")] == [
        "team.asked",
        "team.approved",
    ]


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"name": "\u200b"}, "name", "Give the team a name"),
        ({"name": "bLUE TEAM"}, "name", "has this name already"),
        ({"institution": "i" * 201}, "institution", "at most 200"),
        ({"link": "javascript:alert(1)"}, "link", "http://"),
        ({"link": "https://example.org/ onclick"}, "link", "http://"),
        ({"anonymous_until": date(2026, 12, 1)}, "anonymous_until", "12 months"),
        ({"anonymous_until": date(2027, 12, 3)}, "anonymous_until", "12 months"),
    ],
)
def test_a_team_that_cannot_be_is_refused(board: Benchmark, sam: User, fields: Any, field: str, says: str) -> None:
    ask(board, make_person("Bea", Role.MODEL_SUBMITTER))
    with pytest.raises(LeaderboardRefused, match=says) as refused:
        ask(board, sam, **{"name": "Other", **fields})
    assert refused.value.field == field
    assert Team.objects.count() == 1


@pytest.mark.parametrize(
    ("state", "name", "code"),
    [
        (BenchmarkState.DRAFT, "Sam", "not_open"),
        (BenchmarkState.CLOSED, "Sam", "not_open"),
        (BenchmarkState.FROZEN, "Rex", "no_role"),
        (BenchmarkState.FROZEN, "Bea", "in_a_team"),
    ],
)
def test_submitters_in_no_team_ask_while_it_is_frozen(
    board: Benchmark, sam: User, state: str, name: str, code: str
) -> None:
    bea = make_person("Bea", Role.MODEL_SUBMITTER)
    ask(board, bea)
    Benchmark.objects.update(state=state)
    with refuses(LeaderboardRefused, code):
        ask(board, {"Sam": sam, "Bea": bea}.get(name) or make_person(name), name="Other")


def test_who_was_refused_reads_why_and_asks_again(board: Benchmark, sam: User, cora: User) -> None:
    team = ask(board, sam)
    with pytest.raises(LeaderboardRefused, match="Say why"):
        refuse_team(team, " ", actor=cora, at=NOW)
    refuse_team(team, "No such institution.", actor=cora, at=NOW)
    found = refused_team(sam, board)
    assert found is not None
    assert found.refused_because == "No such institution."
    assert not teams_known_to(sam).exists()
    with pytest.raises(LeaderboardRefused, match="refused already"):
        approve_team(team, actor=cora, at=NOW)
    assert ask(board, sam).state == TeamState.ASKED


# --- who could have seen answers ------------------------------------------------------------------
def _saw_a_key(person: User, revision: Revision) -> None:
    SeenKey.objects.create(person=person, question_id=revision.question_id, source=KeySource.BANK_EXPORT, seen_at=NOW)


def _reviewed(person: User, revision: Revision) -> None:
    make_round(person, n_questions=1)
    Assignment.objects.update(revision=revision)


def _adjudicates(person: User, revision: Revision) -> None:
    review_round = make_round(n_questions=1)
    SamplingPlan.objects.update(bank=revision.bank)
    Membership.objects.create(user=person, role=Role.ADJUDICATOR, round=review_round, granted_at=NOW)


def _imported(person: User, revision: Revision) -> None:
    BankImport.objects.filter(bank=revision.bank, kind=ImportKind.FILE).update(actor=person)


def _revised(person: User, revision: Revision) -> None:
    Edit.objects.create(revision=revision, before=revision, author=person, reason="typo", made_at=NOW)


def _coordinates(person: User, _revision: Revision) -> None:
    Membership.objects.create(user=person, role=Role.COORDINATOR, granted_at=NOW)


WAYS = {
    _saw_a_key: "has seen keys of “Bank”",
    _reviewed: "reviews or adjudicates questions of “Bank”",
    _adjudicates: "reviews or adjudicates questions of “Bank”",
    _imported: "imported questions of “Bank”",
    _revised: "revised questions of “Bank”",
    _coordinates: "coordinates or administers this site",
}


@pytest.mark.parametrize("way", WAYS)
def test_who_could_have_seen_answers_is_in_no_team(board: Benchmark, sam: User, cora: User, way: Any) -> None:
    assert barred_because(sam, board) == ""
    waiting = ask(board, sam)
    way(sam, Revision.objects.in_bank(board.bank).order_by("pk")[0])
    assert WAYS[way] in barred_because(sam, board)
    with pytest.raises(LeaderboardRefused, match=WAYS[way]):
        approve_team(waiting, actor=cora, at=NOW)
    refuse_team(waiting, "as they said", actor=cora, at=NOW)
    other = make_team(board, "Other")
    for refused in (lambda: add_member(other, sam.email, actor=cora, at=NOW), lambda: ask(board, sam)):
        with pytest.raises(LeaderboardRefused, match="could have seen answers") as told:
            refused()
        assert WAYS[way] not in str(told.value), "the reason is for coordinators"


def test_keys_of_another_bank_do_not_bar(board: Benchmark, sam: User) -> None:
    elsewhere = make_whole(2, name="Elsewhere")
    _saw_a_key(sam, Revision.objects.in_bank(elsewhere).order_by("pk")[0])
    assert barred_because(sam, board) == ""


# --- members --------------------------------------------------------------------------------------
def test_members_come_by_their_address(board: Benchmark, sam: User) -> None:
    team = make_team(board, "One", sam)
    bea = make_person("Bea", Role.MODEL_SUBMITTER)
    add_member(team, " BEA@example.org ", actor=sam, at=NOW)
    assert own_team(bea, board) == team


def test_nothing_is_told_of_accounts_that_cannot_be_added(board: Benchmark, sam: User) -> None:
    team = make_team(board, "One", sam)
    make_person("Rita", Role.REVIEWER)
    make_team(board, "Two", make_person("Taken", Role.MODEL_SUBMITTER))
    User.objects.filter(pk=make_person("Gone", Role.MODEL_SUBMITTER).pk).update(is_active=False)
    said = set()
    for name in ("nobody", "rita", "taken", "gone"):
        with pytest.raises(LeaderboardRefused) as refused:
            add_member(team, f"{name}@example.org", actor=sam, at=NOW)
        said.add((refused.value.code, refused.value.status, str(refused.value).replace(name, "x")))
    assert len(said) == 1
    assert team.members.count() == 1


def test_who_leaves_loses_their_tokens_and_the_last_one_stays(board: Benchmark, sam: User) -> None:
    bea = make_person("Bea", Role.MODEL_SUBMITTER)
    team = make_team(board, "One", sam, bea)
    token = token_of(bea, team)
    remove_member(team, bea.email, actor=sam, at=NOW)
    with pytest.raises(PeopleRefused, match="revoked"):
        person_of(token, address="", at=NOW)
    with pytest.raises(LeaderboardRefused, match="last member"):
        remove_member(team, sam.email, actor=sam, at=NOW)
    with pytest.raises(LeaderboardRefused, match="Nobody with the address"):
        remove_member(team, bea.email, actor=sam, at=NOW)


# --- tokens ---------------------------------------------------------------------------------------
def token_of(person: User, team: Team) -> str:
    place = place_named(person, TokenScope.TEAM, team.public_id)
    return make_token(person, "script", role=Role.MODEL_SUBMITTER, place=place, days=30, actor=person, at=NOW).text


def test_a_token_is_good_for_the_own_approved_team(board: Benchmark, sam: User) -> None:
    team, other = make_team(board, "One", sam), make_team(board, "Two")
    program = person_of(token_of(sam, team), address="", at=NOW)
    assert list(teams_known_to(program)) == [team]
    assert own_team(program, board) == team
    with pytest.raises(PeopleRefused, match="no role in a team"):
        place_named(sam, TokenScope.TEAM, other.public_id)
    scopes = [(one.scope, one.name) for one in places_of(sam) if one.scope == TokenScope.TEAM]
    assert scopes == [(TokenScope.TEAM, "One, Private test")]


def test_a_token_ends_with_the_approval_the_role_or_its_day(board: Benchmark, sam: User) -> None:
    team = make_team(board, "One", sam)
    token = token_of(sam, team)
    with pytest.raises(PeopleRefused, match="expired"):
        person_of(token, address="", at=NOW.replace(year=2027))
    Team.objects.update(state=TeamState.REFUSED)
    with pytest.raises(PeopleRefused, match="not known, or was revoked"):
        person_of(token, address="", at=NOW)
    with pytest.raises(PeopleRefused, match="no role in a team"):
        place_named(sam, TokenScope.TEAM, team.public_id)


def test_the_page_of_a_person_names_their_team(board: Benchmark, sam: User, cora: User) -> None:
    make_team(board, "One", sam)
    held = [(one.name, one.roles) for one in held_roles(sam) if one.kind == "team of a leaderboard"]
    assert held == [("One, Private test", (Role.MODEL_SUBMITTER,))]


def test_members_of_a_team_are_given_no_question_of_its_bank(board: Benchmark, sam: User) -> None:
    questions = list(Question.objects.filter(bank=board.bank).values_list("pk", flat=True)[:2])
    assert conflicts([sam.pk], questions) == []
    make_team(board, "One", sam)
    assert {(one.person_id, one.question_id) for one in conflicts([sam.pk], questions)} == {
        (sam.pk, question) for question in questions
    }


# --- elsewhere ------------------------------------------------------------------------------------
def test_the_home_page_of_a_submitter_has_a_line(board: Benchmark, sam: User, cora: User) -> None:
    section = leaderboards_of_submitter(sam, NOW)
    assert section is not None
    assert [(one.name, one.words) for one in section.items] == [("Private test", "no team yet")]
    make_team(board, "One", sam)
    section = leaderboards_of_submitter(sam, NOW)
    assert section is not None
    assert [(one.words, one.state) for one in section.items] == [("One", "approved")]
    assert leaderboards_of_submitter(cora, NOW) is None
    Benchmark.objects.update(state=BenchmarkState.CLOSED)
    assert leaderboards_of_submitter(sam, NOW) is None


def test_a_person_gets_their_teams_with_their_data(board: Benchmark, sam: User) -> None:
    make_team(board, "One", sam)
    (table,) = data_of_member(sam)
    assert [row["team__name"] for row in table.rows] == ["One"]
