"""The prompts that come with the program are stored once, and what people write stays."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from annotation.call_enums import PromptPurpose, SentImages
from annotation.endpoints.kernels.completions import ChatSettings, Message, chat_request
from annotation.model_calls.kernels.extraction import extract, question_values
from annotation.model_calls.kernels.filling import fill
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
