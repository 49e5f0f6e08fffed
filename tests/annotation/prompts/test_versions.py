"""Versions of prompts: what is refused, how they are numbered and hashed, and that the database keeps them.

Two texts side by side: the runs of a side give its text, and those that both have are the same on both sides.

Coordinators read and write prompts; reviewers and others never see them.
"""

from __future__ import annotations

import json
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
from annotation.endpoints.kernels.completions import ChatSettings, Message, chat_request
from annotation.model_calls.kernels.extraction import extract, question_values
from annotation.model_calls.kernels.filling import (
    KNOWN,
    LONGEST_SCHEMA,
    fill,
    names_in,
    prompt_sha256,
    schema_problem,
    undeclared,
    unused,
)
from annotation.model_calls.versions import (
    COPIED,
    LETTER_ALONE,
    LONGEST_TEXT,
    MOST_COMPARED,
    OUR_READING,
    SHIPPED,
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
    assert [str(one) for one in (first, second, other)] == ["our prompt v1", "our prompt v2", "another v1"]
    assert second.parent == first
    assert len({first.sha256, second.sha256, other.sha256}) == 3
    events = AuditEvent.objects.filter(act="prompt.version_made").order_by("pk")
    assert [event.facts["number"] for event in events] == [1, 2, 1]
    assert [event.actor for event in events] == [cora, cora, None]


def test_lines_end_in_one_way_so_that_a_browser_changes_nothing(noon: datetime) -> None:
    first = write(noon)
    with refuses(PromptRefused, "unchanged", match="plain v1"):
        write(noon, text="{{question}}\r\n{{options}}\r\n", variables=["options", "question", "options"], parent=first)


def test_bad_input_is_named_and_nothing_is_stored(noon: datetime) -> None:
    wrong: list[tuple[dict[str, Any], str, str, str]] = [
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
    ]
    for fields, code, field, said in wrong:
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


def test_the_list_costs_the_same_whatever_its_length_and_a_version_is_shown_as_sent(
    client: Client, cora: User, letter: PromptVersion
) -> None:
    make_batch(1, prompt=letter)
    client.force_login(cora)
    with CaptureQueriesContext(connection) as queries:
        page = markup(client.get(reverse("prompts")))
    assert len(queries) <= 8
    for shown in ("letter alone", "came with the program", '<td class="number">1</td>'):
        assert shown in page
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


def test_a_bad_form_is_told_at_its_field(client: Client, cora: User, letter: PromptVersion) -> None:
    wrong: list[tuple[dict[str, object], str, str]] = [
        ({"reason": ""}, "reason", "required"),
        ({"schema": "{"}, "schema", "not JSON"),
        ({"variables": ["planted"]}, "variables", "planted"),
        ({}, "text", "Nothing that is sent differs"),
        ({"images": "swapped"}, "images", "swapped"),
        ({"name": "a\x00b"}, "name", "Null characters"),
    ]
    client.force_login(cora)
    for changes, field, said in wrong:
        answer = client.post(reverse("prompt-next", args=[letter.public_id]), sent(letter, **changes))
        assert answer.status_code == 422
        assert said in " ".join(answer.context["form"].errors[field])
    assert PromptVersion.objects.count() == 2


# --- the prompts that come with the program are stored once, and what people write stays ---
OPTIONS = ["Effusion", "Pneumothorax", "Mass", "None of these"]


def test_they_are_stored_once(noon: datetime) -> None:
    assert [str(one) for one in store_shipped(at=noon)] == ["our reading v1", "letter alone v1"]
    assert store_shipped(at=noon) == []
    assert list(PromptVersion.objects.values_list("author", flat=True)) == [None, None]


def test_what_a_person_wrote_under_the_name_stays_and_is_the_newest(noon: datetime, cora: User) -> None:
    store_shipped(at=noon)
    own = make_version(
        LETTER_ALONE,
        PromptPurpose.ANSWER,
        "{{question}}",
        variables=["question"],
        reason="shorter",
        actor=cora,
        at=noon,
    )
    assert store_shipped(at=noon) == []
    assert prompt_named(LETTER_ALONE) == own


def test_another_wording_in_a_later_program_is_the_next_version(noon: datetime) -> None:
    before = make_version(OUR_READING, PromptPurpose.ANSWER, "Answer.", reason="an older one", actor=None, at=noon)
    store_shipped(at=noon)
    newest = prompt_named(OUR_READING)
    assert (newest.number, newest.parent) == (2, before)


def test_our_reading_is_that_of_the_paper_and_says_what_it_does_not_print(noon: datetime) -> None:
    store_shipped(at=noon)
    prompt = prompt_named(OUR_READING)
    assert prompt.images == SentImages.ALL
    assert "prints no prompt" in prompt.reason
    assert list(json.loads(prompt.schema)["properties"]) == ["explanation", "answer"]
    filled = fill(prompt.text, question_values("Which finding is there?", OPTIONS))
    assert "Which finding is there?\n\nA. Effusion\nB. Pneumothorax\nC. Mass\nD. None of these\n" in filled
    assert "{{" not in filled
    request = chat_request("m", [Message("user", (filled,))], ChatSettings(schema=prompt.schema))
    assert request.body.index(b'"explanation"') < request.body.index(b'"answer":{')


@pytest.mark.parametrize("letter", "ABCD")
def test_the_rule_of_extraction_reads_what_both_ask_for(letter: str) -> None:
    answer = json.dumps({"explanation": "The pleural line is absent; A pneumothorax is ruled out.", "answer": letter})
    assert extract(answer, OPTIONS) == letter
    assert extract(letter, OPTIONS) == letter


def test_letter_alone_gives_the_first_image_and_asks_for_plain_text(noon: datetime) -> None:
    store_shipped(at=noon)
    prompt = prompt_named(LETTER_ALONE)
    assert (prompt.images, prompt.schema, prompt.instruction) == (SentImages.FIRST, "", "")
    filled = fill(prompt.text, question_values("Q?", OPTIONS))
    assert filled.startswith("Question: Q?\n\nA. Effusion\nB. Pneumothorax\n")


def test_names_are_found_once_each_and_what_no_value_is_given_for_stays_as_it_stands() -> None:
    assert len({one.name for one in SHIPPED}) == len(SHIPPED)
    assert names_in("{{ options }} {{question}} {{options}}") == ["options", "question"]
    values = {"question": "What is {{options}} and {{question}}?", "options": "A. {{question}}"}
    filled = fill("{{question}}\n{{options}}", values)
    assert filled == "What is {{options}} and {{question}}?\nA. {{question}}", "a value is never looked at again"
    assert fill("{{question}} {{ report }} {key} {{Key}}", {"question": "Q"}) == "Q {{ report }} {key} {{Key}}"


@given(st.text(), st.text())
def test_any_two_values_stand_there_as_they_are(question: str, options: str) -> None:
    assert fill("<{{question}}|{{options}}>", {"question": question, "options": options}) == f"<{question}|{options}>"


def test_undeclared_names_also_those_that_no_variable_can_have() -> None:
    text = "{{question}} {{Question}} {{report}} {{the answer}} {{report}}"
    assert undeclared(text, ["question"]) == ["Question", "report", "the answer"]
    assert undeclared('{"a": {"b": 1}}', []) == []
    assert unused("{{question}} {{Options}}", ["question", "options"]) == ["options"]


GOOD = '{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}'


def sha256(
    *, instruction: str = "i", text: str = "t", variables: str = "a b", images: str = "all", schema: str = GOOD
) -> str:
    return prompt_sha256(instruction=instruction, text=text, variables=variables.split(), images=images, schema=schema)


def test_good_and_bad_schemas() -> None:
    for good in ("", GOOD, '{"type": "object", "properties": {"a": {}}}'):
        assert schema_problem(good) == ""
    wrong = [
        ("{", "it is not JSON (line 1, column 2)"),
        ("[" * 20_000, "it is nested too deeply"),
        (" " * (LONGEST_SCHEMA + 1), "it is longer than 20,000 characters"),
        ("NaN", "it is not strict JSON: A number in '' is NaN, which is not JSON"),
        ('{"type": "object", "type": "array"}', "it is not strict JSON: The field 'type' is there twice"),
        ("[]", 'it is not an object with "type": "object"'),
        ('"object"', 'it is not an object with "type": "object"'),
        ('{"type": "array"}', 'it is not an object with "type": "object"'),
        ('{"type": "object"}', 'it names no "properties"'),
        ('{"type": "object", "properties": {}}', 'it names no "properties"'),
        ('{"type": "object", "properties": []}', 'it names no "properties"'),
        ('{"type": "object", "properties": {"a": "string"}}', 'its property "a" is not described by an object'),
        ('{"type": "object", "properties": {"a": {}}, "required": "a"}', '"required" is not a list of names'),
        ('{"type": "object", "properties": {"a": {}}, "required": [1]}', '"required" is not a list of names'),
        (
            '{"type": "object", "properties": {"a": {}}, "required": ["b"]}',
            '"required" names "b", which is none of its properties',
        ),
    ]
    for text, problem in wrong:
        assert schema_problem(text) == problem


def test_the_hash_is_over_everything_that_is_sent_but_not_the_order_of_variables() -> None:
    for part in ("instruction", "text", "variables", "images", "schema"):
        assert sha256(**{part: "other"}) != sha256()
    assert sha256(variables="b a") == sha256()
