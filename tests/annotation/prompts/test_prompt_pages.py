"""Coordinators read and write prompts; reviewers and others never see them."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.model_calls.versions import COPIED, LETTER_ALONE, prompt_named, store_shipped
from annotation.models import PromptVersion, User
from tests.annotation.model_calls.simulated_calls import make_batch
from tests.pages import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def letter(noon: datetime) -> PromptVersion:
    store_shipped(at=noon)
    return prompt_named(LETTER_ALONE)


def sent(version: PromptVersion, **changes: object) -> dict[str, object]:
    """The form as the page gives it, with what a person changed."""
    return {name: getattr(version, name) for name in COPIED} | {"reason": "to try it"} | changes


def test_the_list_asks_the_database_equally_often_whatever_its_length(
    client: Client, cora: User, letter: PromptVersion
) -> None:
    make_batch(1, prompt=letter)
    client.force_login(cora)
    with CaptureQueriesContext(connection) as queries:
        page = markup(client.get(reverse("prompts")))
    assert len(queries) <= 8
    assert "letter alone" in page
    assert "came with the program" in page
    assert '<td class="number">1</td>' in page


def test_the_page_of_a_version_shows_everything_as_sent(client: Client, cora: User, letter: PromptVersion) -> None:
    make_batch(1, prompt=letter)
    client.force_login(cora)
    with CaptureQueriesContext(connection) as queries:
        page = client.get(reverse("prompt", args=[letter.public_id])).content.decode()
    assert len(queries) <= 8
    for shown in ("A. {{option_a}}", letter.sha256, "leaderboard", "1 run", "Write a new version"):
        assert shown in page


def test_a_new_version_is_written_from_an_old_one(client: Client, cora: User, letter: PromptVersion) -> None:
    client.force_login(cora)
    address = reverse("prompt-next", args=[letter.public_id])
    assert "{{option_a}}: the first option" in client.get(address).content.decode()
    done = client.post(address, sent(letter, text=letter.text.replace("nothing else", "no other word")))
    made = prompt_named(LETTER_ALONE)
    assert (made.number, made.parent, made.author) == (2, letter, cora)
    assert done["Location"] == reverse("prompt", args=[made.public_id])
    page = markup(client.get(reverse("prompt-difference", args=[letter.public_id, made.public_id])))
    assert "<del>nothing</del>" in page
    assert "<ins>no</ins>" in page


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"reason": ""}, "reason", "required"),
        ({"schema": "{"}, "schema", "not JSON"),
        ({"variables": ["planted"]}, "variables", "planted"),
        ({}, "text", "Nothing that is sent differs"),
        ({"images": "swapped"}, "images", "swapped"),
        ({"name": "a\x00b"}, "name", "Null characters"),
    ],
)
def test_a_bad_form_is_told_at_its_field(
    client: Client, cora: User, letter: PromptVersion, changes: dict[str, object], field: str, said: str
) -> None:
    client.force_login(cora)
    answer = client.post(reverse("prompt-next", args=[letter.public_id]), sent(letter, **changes))
    assert answer.status_code == 422
    assert said in " ".join(answer.context["form"].errors[field])
    assert PromptVersion.objects.count() == 2
