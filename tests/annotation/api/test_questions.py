"""Questions of a bank over the API: as its page lists them, by role, blinded where the page is, from end to end."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Role
from annotation.models import AuditEvent, Question, QuestionBank, SeenKey, User
from annotation.models.people import TokenScope
from annotation.questionbank import listing
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import make_bank, make_revisions, make_round
from tests.conftest import make_person

TASKS = ("presence", "negation", "location")


@pytest.fixture
def bank(db: None) -> QuestionBank:
    bank = make_bank("Chest")
    asked: dict[int, dict[str, Any]] = {
        number: {"task": TASKS[number % 3], "category": f"class {number % 4}"} for number in range(1, 61)
    }
    make_revisions(bank, asked)
    return bank


@pytest.fixture
def script(cora: User, bank: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)


def walk(script: Program, address: str) -> list[int]:
    """The numbers of all pages of a list."""
    found: list[int] = []
    following: str | None = address
    while following:
        page = script.get(following).json()
        found += [row["number"] for row in page["results"]]
        following = page["next"]
    return found


QUERIES = [
    "",
    "sort=-number",
    "sort=task",
    "sort=-category",
    "task=negation",
    "category=class+1&task=presence",
    "q=zzz",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("most", [5_000, 10])
def test_a_walk_finds_what_the_page_finds(
    script: Program, coordinator: Client, query: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a bank that is too large to be listed as a whole."""
    monkeypatch.setattr(listing, "MOST_LISTED", most)
    monkeypatch.setattr(listing, "WINDOW", 25)
    monkeypatch.setattr(listing, "PER_PAGE", 100)
    shown = []
    address = f"/banks/chest/?{query}"
    while address:
        context = coordinator.get(address).context
        shown += [row.number for row in context["rows"]]
        address = f"/banks/chest/?{context['next_query']}" if context["next_query"] else ""
    assert walk(script, f"banks/chest/questions/?limit=7&{query}") == shown


def test_a_question_as_it_is_read(script: Program) -> None:
    told = script.get("banks/chest/questions/7/").json()
    assert (told["number"], told["task"], told["state"], told["revision"]) == (7, "negation", "imported", 1)
    assert len(told["options"]) == 4
    assert {"key", "explanation"}.isdisjoint(told)
    assert told["images"]
    assert script.get("banks/chest/questions/?limit=1&fields=number,stem").json()["results"] == [
        {"number": 1, "stem": told["stem"].replace("7", "1")}
    ]


def test_reading_a_key_is_noted(script: Program, cora: User) -> None:
    told = script.get("banks/chest/questions/7/key/")
    assert told.json()["key"] == "B"
    assert told["Cache-Control"] == "private, no-store"
    assert "ETag" not in told
    assert SeenKey.objects.get().question == Question.objects.get(number=7)
    assert AuditEvent.objects.get(act="key.seen").actor == cora


def test_administrators_read_no_key(ada: User, bank: QuestionBank) -> None:
    script = program_of(ada, Role.ADMINISTRATOR)
    assert script.get("banks/chest/questions/7/").status_code == 200
    problem_of(script.get("banks/chest/questions/7/key/"), 403, "forbidden")
    assert not SeenKey.objects.exists()


def test_who_answers_a_question_blind_reads_neither_its_key_nor_its_revisions(cora: User) -> None:
    bank = make_round(cora, name="Blind").plan.bank
    script = program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)
    problem_of(script.get(f"banks/{bank.slug}/questions/1/key/"), 403, "key_hidden")
    assert script.get(f"banks/{bank.slug}/questions/1/revisions/").json()["results"] == []
    problem_of(script.get(f"banks/{bank.slug}/questions/1/revisions/1/"), 404, "not_found")


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.MODEL_SUBMITTER, Role.DEIDENTIFIER])
def test_others_find_no_bank(bank: QuestionBank, role: Role) -> None:

    script = program_of(make_person("Other", role), role)
    for address in ("banks/", "banks/chest/", "banks/chest/questions/", "banks/chest/questions/1/"):
        problem_of(script.get(address), 403, "forbidden")


def test_revisions_do_not_change_and_are_sent_once(script: Program) -> None:
    page = script.get("banks/chest/questions/7/revisions/").json()
    assert [row["number"] for row in page["results"]] == [1]
    first = script.get("banks/chest/questions/7/revisions/1/")
    assert first.json()["author"] is None
    assert script.get("banks/chest/questions/7/revisions/1/", if_none_match=first["ETag"]).status_code == 304
    problem_of(script.get("banks/chest/questions/7/revisions/2/"), 404, "not_found")
    problem_of(script.get("banks/chest/questions/99999999999999999999/"), 404, "not_found")


@pytest.mark.parametrize("cursor", ["x", "AAAA", "WyIiLCAiYSIsICIiXQ", "WyIiLCAxLCAxXQ"])
def test_nonsense_in_a_cursor(script: Program, cursor: str) -> None:
    problem_of(script.get(f"banks/chest/questions/?cursor={cursor}"), 400, "bad_cursor")


def test_few_queries(script: Program, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    addresses = ("questions/", "questions/?task=presence&sort=category", "questions/7/", "questions/7/revisions/")
    script.get("banks/chest/questions/?sort=category")  # the categories of a bank are kept for an hour
    for address in addresses:
        with django_assert_max_num_queries(12):
            assert script.get(f"banks/chest/{address}").status_code == 200
