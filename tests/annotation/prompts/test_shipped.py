"""The prompts that come with the program are stored once, and what people write stays.

Names in double braces are replaced once, and no others.

The schema of an answer describes an object with named properties, or is refused by name.
"""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.call_enums import PromptPurpose, SentImages
from annotation.endpoints.kernels.completions import ChatSettings, Message, chat_request
from annotation.model_calls.kernels.extraction import extract, question_values
from annotation.model_calls.kernels.filling import (
    LONGEST_SCHEMA,
    fill,
    names_in,
    prompt_sha256,
    schema_problem,
    undeclared,
    unused,
)
from annotation.model_calls.versions import (
    LETTER_ALONE,
    OUR_READING,
    SHIPPED,
    make_version,
    prompt_named,
    store_shipped,
)
from annotation.models import PromptVersion, User

pytestmark = pytest.mark.django_db
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


def test_names_stand_once() -> None:
    assert len({one.name for one in SHIPPED}) == len(SHIPPED)


def test_names_are_found_once_each_in_their_order() -> None:
    assert names_in("{{ options }} {{question}} {{options}}") == ["options", "question"]


def test_a_value_is_never_looked_at_again() -> None:
    values = {"question": "What is {{options}} and {{question}}?", "options": "A. {{question}}"}
    filled = fill("{{question}}\n{{options}}", values)
    assert filled == "What is {{options}} and {{question}}?\nA. {{question}}"


def test_what_no_value_is_given_for_stays_as_it_stands() -> None:
    assert fill("{{question}} {{ report }} {key} {{Key}}", {"question": "Q"}) == "Q {{ report }} {key} {{Key}}"


@given(st.text(), st.text())
def test_any_two_values_stand_there_as_they_are(question: str, options: str) -> None:
    assert fill("<{{question}}|{{options}}>", {"question": question, "options": options}) == f"<{question}|{options}>"


def test_undeclared_names_also_those_that_no_variable_can_have() -> None:
    text = "{{question}} {{Question}} {{report}} {{the answer}} {{report}}"
    assert undeclared(text, ["question"]) == ["Question", "report", "the answer"]
    assert undeclared('{"a": {"b": 1}}', []) == []


def test_unused_names() -> None:
    assert unused("{{question}} {{Options}}", ["question", "options"]) == ["options"]


GOOD = '{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}'


def sha256(
    *, instruction: str = "i", text: str = "t", variables: str = "a b", images: str = "all", schema: str = GOOD
) -> str:
    return prompt_sha256(instruction=instruction, text=text, variables=variables.split(), images=images, schema=schema)


@pytest.mark.parametrize("text", ["", GOOD, '{"type": "object", "properties": {"a": {}}}'])
def test_good_ones(text: str) -> None:
    assert schema_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
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
    ],
)
def test_bad_ones(text: str, problem: str) -> None:
    assert schema_problem(text) == problem


@pytest.mark.parametrize("part", ["instruction", "text", "variables", "images", "schema"])
def test_the_hash_is_over_everything_that_is_sent(part: str) -> None:
    assert sha256(**{part: "other"}) != sha256()


def test_the_order_of_variables_is_not_sent() -> None:
    assert sha256(variables="b a") == sha256()
