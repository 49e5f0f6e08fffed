"""Versions of prompts: what is refused, how they are numbered and hashed, and that the database keeps them.

Two texts side by side: the runs of a side give its text, and those that both have are the same on both sides.

Coordinators read and write prompts; reviewers and others never see them.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotation.call_enums import PromptPurpose, SentImages
from annotation.model_calls.kernels.extraction import question_values
from annotation.model_calls.kernels.filling import KNOWN
from annotation.model_calls.versions import (
    COPIED,
    LETTER_ALONE,
    LONGEST_TEXT,
    MOST_COMPARED,
    PromptRefused,
    Run,
    make_version,
    prompt_named,
    side_by_side,
    store_shipped,
)
from annotation.models import AuditEvent, PromptVersion, User
from tests.annotation.model_calls.simulated_calls import make_batch
from tests.pages import markup
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

SCHEMA = '{"type": "object", "properties": {"answer": {"type": "string"}}}'


def write(noon: datetime, **fields: Any) -> PromptVersion:
    given: dict[str, Any] = {
        "name": "plain",
        "purpose": PromptPurpose.ANSWER,
        "text": "{{question}}\n{{options}}",
        "variables": ["question", "options"],
        "reason": "a test",
        "actor": None,
        "at": noon,
    }
    return make_version(**given | fields)


def test_versions_of_a_name_are_numbered_from_1(cora: User, noon: datetime) -> None:
    first = write(noon, name="  our   prompt ", actor=cora)
    second = write(noon, name="our prompt", parent=first, images=SentImages.ALL, actor=cora)
    other = write(noon, name="another", parent=first, schema=SCHEMA)
    assert [(one.name, one.number) for one in (first, second, other)] == [
        ("our prompt", 1),
        ("our prompt", 2),
        ("another", 1),
    ]
    assert second.parent == first
    assert len({first.sha256, second.sha256, other.sha256}) == 3
    events = AuditEvent.objects.filter(act="prompt.version_made").order_by("pk")
    assert [event.facts["number"] for event in events] == [1, 2, 1]
    assert [event.actor for event in events] == [cora, cora, None]


def test_lines_end_in_one_way_so_that_a_browser_changes_nothing(noon: datetime) -> None:
    first = write(noon)
    with refuses(PromptRefused, "unchanged", match="plain v1"):
        write(noon, text="{{question}}\r\n{{options}}\r\n", variables=["options", "question", "options"], parent=first)


@pytest.mark.parametrize(
    ("fields", "code", "field", "said"),
    [
        ({"text": "{{question}} {{key}}"}, "undeclared", "variables", "{{key}}"),
        ({"text": "{{question}} {{options}} {{Report}}"}, "undeclared", "variables", "{{Report}}"),
        ({"instruction": "{{report}}"}, "undeclared", "variables", "{{report}}"),
        ({"text": "{{question}}"}, "unused", "variables", "{{options}}"),
        ({"variables": ["question", "options", "key"]}, "unknown_variable", "variables", "called key"),
        ({"schema": "{"}, "bad_schema", "schema", "not JSON"),
        ({"schema": '{"type": "string"}'}, "bad_schema", "schema", '"type": "object"'),
        ({"reason": "  "}, "no_reason", "reason", "why"),
        ({"reason": "x" * 5_000}, "no_reason", "reason", "at most"),
        ({"name": " "}, "bad_name", "name", "name"),
        ({"name": "x" * 101}, "bad_name", "name", "100"),
        ({"text": " \n", "variables": []}, "no_text", "text", "text"),
        ({"text": "x" * (LONGEST_TEXT + 1), "variables": []}, "too_long", "text", "50000"),
        ({"instruction": "x" * (LONGEST_TEXT + 1)}, "too_long", "instruction", "50000"),
        ({"images": SentImages.SWAPPED}, "bad_images", "images", "first one"),
    ],
)
def test_bad_input_is_named_and_nothing_is_stored(
    noon: datetime, fields: dict[str, Any], code: str, field: str, said: str
) -> None:
    with refuses(PromptRefused, code, field=field, status=422, match=re.escape(said)):
        write(noon, **fields)
    assert not PromptVersion.objects.exists()
    assert not AuditEvent.objects.exists()


def test_a_name_keeps_its_purpose(noon: datetime) -> None:
    write(noon)
    with refuses(PromptRefused, "other_purpose", match="answer questions"):
        write(noon, purpose=PromptPurpose.BULLETS, text="{{report}}", variables=["report"])


def test_the_instruction_may_hold_the_variable(noon: datetime) -> None:
    assert write(noon, text="Answer.", instruction="{{question}} {{options}}").number == 1


def test_a_prompt_is_found_by_name_and_number(noon: datetime) -> None:
    first = write(noon)
    second = write(noon, parent=first, images=SentImages.FIRST)
    assert prompt_named("plain") == second
    assert prompt_named("plain", 1) == first
    with refuses(PromptRefused, "no_prompt", match=r"“plain v3”. Prompts: plain"):
        prompt_named("plain", 3)
    with refuses(PromptRefused, "no_prompt", match="“plane”"):
        prompt_named("plane")


def test_every_purpose_has_its_variables_and_those_of_answers_are_what_a_question_fills() -> None:
    assert set(KNOWN) == set(PromptPurpose)
    assert set(KNOWN[PromptPurpose.ANSWER]) == set(question_values("Q", ["a", "b", "c", "d"]))


TEXTS = st.text(alphabet="ab \n", max_size=60)


def test_words_of_a_line_that_differs() -> None:
    sides = side_by_side("Same.\nGive the letter.", "Same.\nGive one letter.")
    assert [run for run in sides.before if run.is_own] == [Run("the", True)]
    assert [run for run in sides.after if run.is_own] == [Run("one", True)]


def test_equal_texts_have_nothing_of_their_own() -> None:
    sides = side_by_side("one\ntwo", "one\ntwo")
    assert not any(run.is_own for run in (*sides.before, *sides.after))
    assert side_by_side("", "") == ([], [])


def test_the_words_of_long_passages_are_not_compared() -> None:
    old, new = "x " * MOST_COMPARED, "x " * MOST_COMPARED + "y"
    assert side_by_side(old, new) == ([Run(old, True)], [Run(new, True)])


@given(TEXTS, TEXTS)
def test_nothing_is_lost(before: str, after: str) -> None:
    sides = side_by_side(before, after)
    assert "".join(run.text for run in sides.before) == before
    assert "".join(run.text for run in sides.after) == after
    shared = ["".join(run.text for run in side if not run.is_own) for side in sides]
    assert shared[0] == shared[1]


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
