"""The same page sent twice in the very same instant: one is stored and the other is told, on either database."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any, TypeVar

import pytest
from django.db import connections
from django.test import Client

from annotation.models import User
from readerstudy.design import creating, drafting
from readerstudy.forms.drafts import DraftForm
from tests.readerstudy.design.drafts import make_draft
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.design.test_cases import asked
from tests.readerstudy.design.test_drafts import rules_sent

TOGETHER = 0.5  # seconds that one waits for the other between comparing and storing

Sent = dict[str, Any]
Checked = TypeVar("Checked")
Answer = TypeVar("Answer")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("step", "first", "second"),
    [
        ("cases", asked(seed="7"), asked(seed="8")),
        ("arms", {"information": "age_sex", "aid": "none"}, {"information": "indication", "aid": "none"}),
        ("rules", rules_sent(contact="Cora, 123"), rules_sent(contact="Cora, 456")),
        ("readers", {"n_readers": "4"}, {"n_readers": "5"}),
    ],
)
def test_one_is_stored_and_the_other_is_told(
    cora: User, step: str, first: Sent, second: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_draft(cora)
    address = f"/studies/trial/{step}/"
    people = [Client(), Client()]
    sent = [as_seen(client, cora, address, fields) for client, fields in zip(people, (first, second), strict=True)]
    monkeypatch.setattr(DraftForm, "is_overtaken", together(DraftForm.is_overtaken))
    assert sent_at_once(people, address, sent) == [302, 422]


@pytest.mark.django_db(transaction=True)
def test_who_clicks_twice_makes_one_study(cora: User, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = make_questions(1)
    people = [Client(), Client()]
    for client in people:
        client.force_login(cora)
    monkeypatch.setattr(creating, "check_name", together(drafting.check_name))
    assert sent_at_once(people, "/studies/new/", [{"name": "Trial", "bank": bank.slug}] * 2) == [302, 422]


def together(check: Callable[[Checked], Answer]) -> Callable[[Checked], Answer]:
    """A check after which two wait for each other, as far as the other comes to it at all."""
    meeting = Barrier(2)

    def checked(what: Checked) -> Answer:
        answer = check(what)
        with suppress(BrokenBarrierError):
            meeting.wait(TOGETHER)
        return answer

    return checked


def sent_at_once(people: list[Client], address: str, sent: list[Sent]) -> list[int]:
    """The statuses of what is sent there by both at the same time, sorted."""

    def send(client: Client, fields: Sent) -> int:
        try:
            return client.post(address, fields).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        return sorted(threads.map(send, people, sent))


def as_seen(client: Client, person: User, address: str, fields: Sent) -> Sent:
    """The fields with the marks of the page as this person has it before them, ready to be stored."""
    client.force_login(person)
    page = client.get(address).content.decode()
    marks = dict(re.findall(r'name="(seen|before)" value="(\w{64})"', page))
    if "before" in marks:
        marks["seen"] = client.post(address, fields).context["choice"].sha256
    return {**fields, **marks, "do": "store"}
