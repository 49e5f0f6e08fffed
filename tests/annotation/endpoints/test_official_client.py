"""The official client of OpenAI gets along with the stand-in: its answers are read, its faults become errors."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator

import openai
import pytest
from openai.types.chat import ChatCompletion

from tests.annotation.endpoints.simulated_models import (
    EMBEDDING_LENGTH,
    EMBEDDING_MODEL,
    GOOD,
    MODELS,
    TOKENS_OF_IMAGE,
)
from tests.annotation.endpoints.stand_in import StandIn, StandInFault

PICTURE = "data:image/png;base64,cGljdHVyZQ=="
Fault = StandInFault
TIMEOUT = 0.5  # seconds
ERRORS: dict[StandInFault, type[Exception]] = {
    Fault.TOO_MANY: openai.RateLimitError,
    Fault.TOO_MANY_RETRY_AFTER: openai.RateLimitError,
    Fault.BROKEN: openai.InternalServerError,
    Fault.UNAVAILABLE: openai.InternalServerError,
    Fault.SLOW_FIRST_BYTE: openai.APITimeoutError,
    Fault.SLOW_HEADERS: openai.APIConnectionError,
    Fault.SLOW_BODY: openai.APIConnectionError,
    Fault.CUT_BODY: openai.APIConnectionError,
    Fault.BROKEN_JSON: json.JSONDecodeError,  # none of its own
    Fault.REDIRECT: openai.NotFoundError,  # it follows, and asks what is not there
    Fault.KEY_ECHOED: openai.AuthenticationError,
    Fault.ENDLESS: json.JSONDecodeError,  # none of its own
}
HOLDING = (Fault.SLOW_HEADERS, Fault.SLOW_BODY, Fault.ENDLESS)  # its timeout counts from byte to byte
READ: dict[StandInFault, Callable[[ChatCompletion], bool]] = {
    Fault.HTML: lambda answer: str(answer).startswith("<!doctype html>"),  # a text in place of an answer
    Fault.EMPTY_CHOICES: lambda answer: answer.choices == [],
    Fault.REFUSAL: lambda answer: (answer.choices[0].message.refusal or "").startswith("I'm sorry"),
    Fault.LENGTH: lambda answer: answer.choices[0].finish_reason == "length",
    Fault.NO_USAGE: lambda answer: answer.usage is None and bool(answer.choices[0].message.content),
    Fault.OTHER_MODEL: lambda answer: answer.model == "another-model-2026-01-01",
}


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn(seed=1) as started:
        yield started


@pytest.fixture
def client(server: StandIn) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url, api_key="planted", max_retries=0, timeout=TIMEOUT) as opened:
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


def ask(client: openai.OpenAI) -> ChatCompletion:
    return client.chat.completions.create(model=GOOD, messages=[{"role": "user", "content": "Which?"}])


@pytest.mark.parametrize("fault", StandInFault)
def test_what_the_client_makes_of_each_fault(client: openai.OpenAI, server: StandIn, fault: StandInFault) -> None:
    """An error, or an answer in which the fault can be read; three of them hold it until the server is ended."""
    server.faults.append(fault)
    ending = threading.Timer(3 * TIMEOUT, server.is_closing.set)
    if fault in HOLDING:
        ending.start()
    began = time.monotonic()
    if fault in ERRORS:
        with pytest.raises(ERRORS[fault]):
            ask(client)
    else:
        assert READ[fault](ask(client))
    assert fault not in HOLDING or time.monotonic() - began > 2 * TIMEOUT
    assert server.ledger[0].fault == fault
    assert len(server.ledger) == (2 if fault == Fault.REDIRECT else 1)
