"""The schema of an answer describes an object with named properties, or is refused by name."""

from __future__ import annotations

import pytest

from annotation.model_calls.kernels.filling import LONGEST_SCHEMA, prompt_sha256, schema_problem

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
