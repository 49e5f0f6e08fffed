"""The two answers: their schemas, and what is read of answers that keep to them or do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.generation.kernels.answer_forms import (
    BULLETS_SCHEMA,
    MOST_QUESTIONS,
    QUESTIONS_SCHEMA,
    NotInForm,
    WrittenBullet,
    WrittenOption,
    WrittenQuestion,
    read_bullets,
    read_questions,
)

BULLET = {
    "quote": "No effusion.",
    "statement": "No pleural effusion",
    "polarity": "absent",
    "compares_with_prior": False,
    "location": "",
}
QUESTION = {
    "task": "negation",
    "stem": "Which finding is absent?",
    "options": [{"text": f"Finding {n}", "bullets": [n]} for n in (1, 2, 3, 4)],
    "key": "C",
    "explanation": "Both costophrenic angles are sharp.",
    "category": "Pleura",
    "subcategory": "",
    "question_class": "Detection",
    "difficulty": "easy",
}


def test_what_is_asked_for_is_read() -> None:
    (bullet,) = read_bullets(json.dumps({"bullets": [BULLET]}))
    assert (bullet.quote, bullet.polarity) == ("No effusion.", "absent")
    (question,) = read_questions(json.dumps({"questions": [QUESTION]}))
    assert question.options[question.key_place].bullets == [3]


def test_an_empty_list_is_an_answer() -> None:
    assert read_bullets('{"bullets": []}') == []


@pytest.mark.parametrize("wrapped", ["```json\n{}\n```", "<think>{{maybe}}</think>{}", "Here you are:\n{}\nGood luck!"])
def test_what_stands_around_the_object_is_left_out(wrapped: str) -> None:
    answer = wrapped.replace("{}", json.dumps({"bullets": [BULLET]}))
    assert len(read_bullets(answer)) == 1


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I cannot help with that.",
        "[1, 2]",
        '{"bullets": [',
        '{"bullets": {}}',
        '{"findings": []}',
        json.dumps({"bullets": [{**BULLET, "polarity": "maybe"}]}),
        json.dumps({"bullets": [{**BULLET, "quote": ""}]}),
        json.dumps({"bullets": [{**BULLET, "quote": "No\0 effusion"}]}),
        json.dumps({"bullets": [{**BULLET, "compares_with_prior": "no"}]}),
        '{"bullets": [{"quote": "\\ud800", "statement": "x", "polarity": "absent", "compares_with_prior": false}]}',
        "{" * 100_000 + "}",
    ],
)
def test_another_form_is_refused(answer: str) -> None:
    with pytest.raises(NotInForm):
        read_bullets(answer)


@pytest.mark.parametrize(
    "changes",
    [
        {"options": QUESTION["options"][:3]},
        {"options": [*QUESTION["options"], {"text": "Fifth", "bullets": [1]}]},
        {"options": [{"text": "Finding", "bullets": ["1"]}] * 4},
        {"key": "E"},
        {"key": 2},
        {"task": "essay"},
        {"stem": ""},
        {"category": "x" * 201},
        {"difficulty": "very hard"},
    ],
)
def test_a_question_of_another_form_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(NotInForm):
        read_questions(json.dumps({"questions": [{**QUESTION, **changes}]}))


def test_the_schemas_ask_for_what_is_read_in_its_order() -> None:
    bullets = json.loads(BULLETS_SCHEMA)["properties"]["bullets"]
    assert tuple(bullets["items"]["properties"]) == WrittenBullet.__struct_fields__
    assert bullets["maxItems"] == 40
    questions = json.loads(QUESTIONS_SCHEMA)["properties"]["questions"]
    assert tuple(questions["items"]["properties"]) == WrittenQuestion.__struct_fields__
    options = questions["items"]["properties"]["options"]
    assert tuple(options["items"]["properties"]) == WrittenOption.__struct_fields__
    assert questions["maxItems"] == MOST_QUESTIONS


@pytest.mark.parametrize("schema", [BULLETS_SCHEMA, QUESTIONS_SCHEMA])
def test_every_object_of_a_schema_is_closed_and_asks_for_all(schema: str) -> None:
    """As endpoints that are strict about schemas want it."""

    def check(part: Any) -> None:
        if isinstance(part, dict):
            if part.get("type") == "object":
                assert part["additionalProperties"] is False
                assert part["required"] == list(part["properties"])
            for member in part.values():
                check(member)

    check(json.loads(schema))
