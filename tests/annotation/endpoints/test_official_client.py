"""The official client of OpenAI gets along with the stand-in: its answers are read, its faults become errors."""

from __future__ import annotations

import json
from collections.abc import Iterator

import openai
import pytest

from annotation.endpoints.kernels.simulated_models import (
    EMBEDDING_LENGTH,
    EMBEDDING_MODEL,
    GOOD,
    MODELS,
    TOKENS_OF_IMAGE,
)
from annotation.endpoints.stand_in import StandIn, StandInFault

PICTURE = "data:image/png;base64,cGljdHVyZQ=="
Fault = StandInFault
ERRORS: dict[StandInFault, type[openai.APIError]] = {
    Fault.TOO_MANY: openai.RateLimitError,
    Fault.TOO_MANY_RETRY_AFTER: openai.RateLimitError,
    Fault.BROKEN: openai.InternalServerError,
    Fault.UNAVAILABLE: openai.InternalServerError,
    Fault.SLOW_FIRST_BYTE: openai.APITimeoutError,
    Fault.KEY_ECHOED: openai.AuthenticationError,
}


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn(seed=1) as started:
        yield started


@pytest.fixture
def client(server: StandIn) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url, api_key="planted", max_retries=0, timeout=0.5) as opened:
        yield opened


def test_it_lists_the_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [*MODELS, EMBEDDING_MODEL]


def test_it_sends_two_images_and_reads_the_usage(client: openai.OpenAI, server: StandIn) -> None:
    answer = client.chat.completions.create(
        model=GOOD,
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Which?\nA. Left\nB. Right"},
                    {"type": "image_url", "image_url": {"url": PICTURE}},
                    {"type": "image_url", "image_url": {"url": PICTURE}},
                ],
            }
        ],
    )
    assert server.ledger[0].n_images == 2
    assert answer.choices[0].message.content
    assert answer.usage is not None
    assert answer.usage.prompt_tokens > 2 * TOKENS_OF_IMAGE


def test_it_reads_an_embedding(client: openai.OpenAI) -> None:
    answer = client.embeddings.create(model=EMBEDDING_MODEL, input="nodule", encoding_format="float")
    assert len(answer.data[0].embedding) == EMBEDDING_LENGTH


def test_a_schema_is_obeyed(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="stand-in-json",
        messages=[{"role": "user", "content": "Which?"}],
        response_format={
            "type": "json_schema",
            "json_schema": {
                "name": "answer",
                "schema": {"type": "object", "properties": {"answer": {"enum": ["A", "B"]}}},
            },
        },
    )
    assert json.loads(answer.choices[0].message.content or "")["answer"] in ("A", "B")


@pytest.mark.parametrize("fault", ERRORS)
def test_a_fault_becomes_the_error_of_the_client(client: openai.OpenAI, server: StandIn, fault: StandInFault) -> None:
    server.faults.append(fault)
    with pytest.raises(ERRORS[fault]):
        client.chat.completions.create(model=GOOD, messages=[{"role": "user", "content": "Which?"}])
