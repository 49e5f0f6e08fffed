"""What a team says of its model: the list of questions, the card, and who passes it.

The card is YAML and Markdown whatever a team writes. A statement is whole or refused, a further number each time.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from annotation.enums import Role
from annotation.models import AuditEvent, User
from readerstudy.enums import TeamState
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.kernels.statement import (
    ASKED,
    CHOICES,
    IDENTIFYING,
    LONGEST,
    OF_DATA,
    QUESTIONS,
    CardResult,
    cleaned,
    model_card,
    problems_of,
    shown,
)
from readerstudy.leaderboard.teams import add_statement, pass_statement, refuse_statement, statements_known_to
from readerstudy.models import Edition, Statement, Team
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import AT, make_submission, make_team, statement_answers
from tests.refusals import refuses

CARD: dict[str, Any] = {"team": "Team One", "benchmark": "Private test", "slug": "private-test", "version": 2}


def front_of(card: str) -> dict[str, Any]:
    start, front, _body = card.split("---\n", 2)
    assert start == ""
    found: dict[str, Any] = yaml.safe_load(front)
    return found


def test_the_list_is_what_the_issue_asks_for() -> None:
    asked = "model version dated_on parameters licence writer_family tools people prompt decoding link contact"
    assert set(asked.split()) < set(ASKED)
    assert len(ASKED) == len(QUESTIONS)
    assert {"mimic-cxr", "chexpert", "padchest", "rexgradient-160k"} < set(OF_DATA.values())
    assert problems_of(statement_answers()) == []


@pytest.mark.parametrize("name", ASKED)
def test_an_unanswered_line_is_named(name: str) -> None:
    [problem] = problems_of(statement_answers(**{name: " \u200b "}))
    assert problem.field == name
    assert problem.message.startswith("Answer this line")
    answers = statement_answers()
    del answers[name]
    assert [one.field for one in problems_of(answers)] == [name]


def test_unknown_is_an_answer_wherever_it_can_be_true() -> None:
    said = dict.fromkeys(ASKED, "unknown")
    assert [one.field for one in problems_of(said)] == ["model", "link", "contact"]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("data_padchest", "perhaps"),
        ("writer_family", "YES"),
        ("dated_on", "May 2026"),
        ("dated_on", "2026-13"),
        ("link", "javascript:alert(1)"),
        ("link", "ftp://example.org/a"),
        ("link", 'https://example.org/"onmouseover=x'),
        ("link", "https://example.org/ x"),
        ("licence", "x" * (LONGEST["line"] + 1)),
        ("prompt", "x" * (LONGEST["text"] + 1)),
        ("score", "99"),
        ("model", ["a list"]),
    ],
)
def test_a_wrong_answer_is_named(name: str, wrong: Any) -> None:
    assert [one.field for one in problems_of({**statement_answers(), name: wrong})] == [name]


def test_characters_that_are_not_shown_go() -> None:
    said = cleaned({"model": "Med\u202eGemma\n 4\x07", "prompt": "Look.\r\n\tAnswer\u2066:\x00 A\ufffe"})
    assert said["model"] == "MedGemma 4"
    assert said["prompt"] == "Look.\n    Answer: A\ufffd"


def test_the_card_is_in_the_form_of_hugging_face() -> None:
    results: list[CardResult] = [
        ("Accuracy, all questions", {"value": 61.2, "low": 60.1, "high": 62.3, "n": 41_007}),
        ("Presence", {"value": 70.0, "low": None, "high": None, "n": 30}),
    ]
    card = model_card(statement_answers(data_padchest="yes"), results, **CARD)
    front = front_of(card)
    assert front["license"] == "apache-2.0"
    assert front["datasets"] == ["padchest"]
    [model] = front["model-index"]
    assert model["name"] == "MedGemma"
    [result] = model["results"]
    assert set(result) == {"task", "dataset", "metrics"}
    assert result["task"]["type"] == "visual-question-answering"
    assert result["dataset"] == {"type": "private-test", "name": "Private test", "split": "test", "revision": "2"}
    assert [(one["type"], one["value"]) for one in result["metrics"]] == [("accuracy", 61.2), ("accuracy", 70)]
    assert result["metrics"][0]["name"] == "Accuracy, all questions (percent, 95% interval 60.1 to 62.3, n = 41,007)"
    assert result["metrics"][1]["name"] == "Presence (percent, n = 30)"
    for one in QUESTIONS:
        assert f"**{one.label}**" in card


def test_a_card_without_results() -> None:
    front = front_of(model_card(statement_answers(licence="Our own, v1: no use"), **CARD))
    assert front["model-index"] == [{"name": "MedGemma", "results": []}]
    assert (front["license"], front["license_name"]) == ("other", "Our own, v1: no use")
    assert "datasets" not in front


HOSTILE = [
    '": {a: 1}\n- x: "',
    "--- \n---\nlicense: mit",
    '\\" \\x41 \U0001f600 \ufeff\ufffe\ud83d\x85\u2028',
    "!!python/object/apply:os.system [x]",
    "&a *a # | > % @ ` '",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_strangers_stays_text_in_the_front(text: str) -> None:
    results: list[CardResult] = [(text, {"value": 50.0, "low": None, "high": None, "n": 30})]
    said = cleaned(statement_answers(model=text, licence=text))
    about: dict[str, Any] = {**CARD, "team": text, "benchmark": text, "slug": text}
    front = front_of(model_card(said, results, **about))
    assert set(front) == {"license", "license_name", "pipeline_tag", "model-index"}
    [model] = front["model-index"]
    assert (model["name"], front["license_name"]) == (said["model"], said["licence"])
    assert isinstance(model["results"][0]["metrics"][0]["name"], str)


def test_text_of_strangers_is_no_markdown_in_the_body() -> None:
    wrong = "![x](https://a.example/b.png) <img src=x> www.a.example @b #c **d** | e"
    card = model_card(statement_answers(model=wrong, tools=wrong, prompt=f"one\n{wrong}\n```\n# two"), **CARD)
    body = card.split("---\n", 2)[2]
    plain = [line for line in body.splitlines() if not line.startswith("      ")]
    bare = re.compile(r"(?<!\\)[!\[\]<>@#|:`*_&~]|www\.")
    labels = [f"**{one.label}**" for one in QUESTIONS]
    told = [line for line in plain if any(one in line for one in labels)]
    assert len(told) == len(QUESTIONS)
    for line in told:
        text = line.split("**", 2)[2]
        assert not bare.search(text), text
    assert "      # two" in body.splitlines()


def test_neither_link_nor_contact_shows_while_a_team_is_anonymous() -> None:
    said = statement_answers(link="https://lab.example.org/x", contact="Ann of the lab")
    assert not any("lab" in text for _asked, text in shown(said, anonymous=True))
    assert "lab" in model_card(said, **CARD)
    assert set(IDENTIFYING) == {"model", "version", "link", "contact"}


def test_nothing_says_that_a_model_is_clean() -> None:
    texts = [part for one in QUESTIONS for part in (one.label, one.help)] + [model_card(statement_answers(), **CARD)]
    assert not any("contaminat" in text.casefold() for text in texts)
    assert CHOICES == ("yes", "no", "unknown")


# --- kept, passed and refused ----------------------------------------------------------------------
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


def test_a_statement_that_is_not_whole_is_refused_by_line(team: Team) -> None:
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
