"""A bank without questions: made by a command, and over the API by people, never with a token."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from annotation.enums import Role
from annotation.models import QuestionBank, User
from annotation.models.people import TokenScope
from annotation.questionbank.bank_life import make_bank
from annotation.questionbank.kernels.entries import BankRefused
from tests.annotation.api.asking import V1, problem_of, program_of
from tests.annotation.api.schema import faults_of
from tests.conftest import NOON
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def sent(person: User, body: dict[str, Any], **headers: str) -> Any:
    browser = Client()
    browser.force_login(person)
    answer = browser.post(f"{V1}banks/", json.dumps(body), content_type="application/json", headers=headers)
    assert faults_of("POST", f"{V1}banks/", answer) == []
    return answer


@pytest.mark.logs("bank.made")
def test_the_command_makes_one_and_prints_its_address() -> None:
    out = StringIO()
    call_command("make_bank", "  Chest   X-rays ", "--simulated", stdout=out)
    assert out.getvalue() == "chest-x-rays\n"
    bank = QuestionBank.objects.get()
    assert (bank.name, bank.simulated, bank.created_by) == ("Chest X-rays", True, None)
    with pytest.raises(CommandError, match="exists already"):
        call_command("make_bank", "Chest X-rays", stdout=out)


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with refuses(BankRefused, "bad_name"):
        make_bank(name, actor=None, at=NOON)
    assert not QuestionBank.objects.exists()


@pytest.mark.logs("bank.made")
def test_a_coordinator_makes_one_once_for_each_key(cora: User) -> None:
    made = sent(cora, {"name": "Chest"}, idempotency_key="one")
    assert (made.status_code, made["Location"]) == (201, "/api/v1/banks/chest/")
    assert (made.json()["n_questions"], made.json()["simulated"]) == (0, False)
    assert sent(cora, {"name": "Chest"}, idempotency_key="one").json() == made.json()
    problem_of(sent(cora, {"name": "Chest"}), 409, "name_taken")
    problem_of(sent(cora, {"name": "Other", "colour": "red"}), 422, "invalid")
    assert QuestionBank.objects.get().created_by == cora


def test_nobody_else_makes_one_and_no_token(cora: User, ada: User, rita: User) -> None:
    make_bank("Mine", actor=cora, at=NOON)
    for person in (ada, rita):
        problem_of(sent(person, {"name": "Other"}), 403, "forbidden")
    for scope in ((TokenScope.BANK, "mine"), (TokenScope.SITE, "")):
        problem_of(program_of(cora, Role.COORDINATOR, *scope).post("banks/", {"name": "Other"}), 403, "forbidden")
    assert QuestionBank.objects.count() == 1


def test_its_page_and_its_lists_are_there(client: Client, cora: User) -> None:
    make_bank("Mine", actor=cora, at=NOON)
    client.force_login(cora)
    for address in ("/banks/", "/banks/mine/", f"{V1}banks/mine/questions/", f"{V1}banks/mine/"):
        assert client.get(address).status_code == 200, address
