"""Two coordinators who store the same page in the very same instant: the second is told, on either database."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from annotation.models import User
from readerstudy.forms.drafts import DraftForm
from tests.readerstudy.views.drafts import make_draft
from tests.readerstudy.views.test_cases import asked
from tests.readerstudy.views.test_design_steps import rules_sent

TOGETHER = 0.5  # seconds that one waits for the other between comparing and storing

Sent = dict[str, Any]


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
    compare, meeting = DraftForm.is_overtaken, Barrier(2)

    def compare_together(form: DraftForm) -> bool:
        found = compare(form)
        with suppress(BrokenBarrierError):
            meeting.wait(TOGETHER)
        return found

    def store(client: Client, fields: Sent) -> int:
        try:
            return client.post(address, fields).status_code
        finally:
            connections.close_all()

    monkeypatch.setattr(DraftForm, "is_overtaken", compare_together)
    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(store, people, sent)) == [302, 422]


def as_seen(client: Client, person: User, address: str, fields: Sent) -> Sent:
    """The fields with the marks of the page as this person has it before them, ready to be stored."""
    client.force_login(person)
    page = client.get(address).content.decode()
    marks = dict(re.findall(r'name="(seen|before)" value="(\w{64})"', page))
    if "before" in marks:
        marks["seen"] = client.post(address, fields).context["choice"].sha256
    return {**fields, **marks, "do": "store"}
