"""The audit log over the API: for administrators who see all of it, by page and as a file."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import AuditEvent, User
from annotation.models.people import TokenScope
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import make_bank, make_round
from tests.conftest import NOON


@pytest.fixture
def log(ada: User, cora: User) -> list[AuditEvent]:
    bank = make_bank("Chest")
    return [
        record("bank.archived", actor=(ada, cora)[n % 2], at=NOON + timedelta(days=n), subject=bank, facts={"n": n})
        for n in range(5)
    ]


@pytest.fixture
def script(ada: User, log: list[AuditEvent]) -> Program:
    return program_of(ada, Role.ADMINISTRATOR)


def numbers(script: Program, query: str = "") -> list[int]:
    rows = script.get(f"audit-events/?act=bank.archived&{query}").json()["results"]
    return [row["facts"]["n"] for row in rows]


def test_events_by_page_and_filter(
    script: Program, cora: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    assert numbers(script) == [4, 3, 2, 1, 0]
    assert numbers(script, "person=Cora") == [3, 1]
    assert numbers(script, "kind=questionbank&thing=chest&since=2026-11-23T12:00:00Z") == numbers(script, "limit=3")
    assert numbers(script, "thing=elsewhere") == []
    problem_of(script.get("audit-events/?since=yesterday"), 422, "invalid")
    with django_assert_max_num_queries(6):
        page = script.get("audit-events/?limit=2").json()
    assert len(page["results"]) == 2
    assert page["results"][0]["previous_sha256"] == page["results"][1]["sha256"]
    assert len(script.get(page["next"]).json()["results"]) == 2


def test_the_log_as_a_file_is_that_of_the_button(script: Program, administrator: Client) -> None:
    """Up to the event of taking it, which is the last line of each."""
    head = script.get("audit-log/head/").json()["head"]
    button = b"".join(administrator.post("/audit/export/")).splitlines()
    told = b"".join(script.get("audit-log/")).splitlines()
    assert told[: len(button)] == button
    assert json.loads(button[-1])["previous_sha256"] == head
    assert json.loads(told[-1])["act"] == "audit.exported"
    after = json.loads(told[-2])["id"]
    assert len(b"".join(script.get(f"audit-log/?after={after}")).splitlines()) == 2
    problem_of(script.get("audit-log/?after=-1"), 400, "bad_number")


ADDRESSES = ("audit-events/", "audit-log/", "audit-log/head/")


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_log_is_for_administrators_of_the_site(cora: User, log: list[AuditEvent], address: str) -> None:
    before = AuditEvent.objects.count()
    problem_of(program_of(cora, Role.COORDINATOR).get(address), 403, "forbidden")
    of_bank = program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")
    problem_of(of_bank.get(address), 403, "forbidden")
    assert AuditEvent.objects.filter(act="audit.exported").count() == 0
    assert AuditEvent.objects.count() == before + 2  # the tokens


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_administrator_who_reviews_blind_reads_none_of_it(ada: User, log: list[AuditEvent], address: str) -> None:
    make_round(ada, name="Blind")
    answer = program_of(ada, Role.ADMINISTRATOR).get(address)
    assert answer.status_code == 403
    assert b"bank.archived" not in answer.content


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_token_of_one_place_has_none_of_it(ada: User, log: list[AuditEvent], address: str) -> None:
    review_round = make_round(name="Open")
    script = program_of(ada, Role.ADMINISTRATOR, TokenScope.ROUND, review_round.slug)
    problem_of(script.get(address), 403, "out_of_reach")
    assert not AuditEvent.objects.filter(act="audit.exported").exists()
