"""Versions of prompts: what is refused, how they are numbered and hashed, and that the database keeps them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest

from annotation.call_enums import PromptPurpose, SentImages
from annotation.model_calls.kernels.extraction import question_values
from annotation.model_calls.kernels.filling import KNOWN
from annotation.model_calls.versions import LONGEST_TEXT, PromptRefused, make_version, prompt_named
from annotation.models import AuditEvent, PromptVersion, User
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
