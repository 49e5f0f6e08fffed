"""The stand-in speaks as the protocol says, and is the same twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Any

import pytest

from annotation.endpoints.client import Exchange, ModelClient
from annotation.endpoints.kernels.completions import read_completion
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.kernels.model_requests import (
    ChatSettings,
    Message,
    ModelRequest,
    Route,
    chat_request,
    embeddings_request,
    models_request,
)
from tests.annotation.endpoints.simulated_models import ALWAYS_A, GOOD, MODELS, OBEYS_SCHEMA, TEXT_ONLY, THINKS_ALOUD
from tests.annotation.endpoints.stand_in import HOST, StandIn

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
QUESTION = "Where is the opacity?\nA. Right upper lobe\nB. Lingula\nC. Left lower lobe\nD. Right middle lobe"
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "answer": {"enum": ["A", "B", "C", "D"]},
            "sure": {"type": "boolean"},
            "bullets": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "integer"}},
        },
    }
)


def ask(request: ModelRequest, *, seed: int = 1) -> Exchange:
    with StandIn(seed=seed) as server, ModelClient(Endpoint("stand-in", server.url), None) as client:
        return client.send(request, at=AT)


def question_to(model: str, *parts: str | bytes, schema: str = "") -> ModelRequest:
    return chat_request(model, [Message("user", parts or (QUESTION,))], ChatSettings(schema=schema))


def said_by(model: str, *parts: str | bytes, schema: str = "", seed: int = 1) -> str:
    return read_completion(ask(question_to(model, *parts, schema=schema), seed=seed).body).text


def test_it_offers_its_models() -> None:
    assert [one["id"] for one in json.loads(ask(models_request()).body)["data"]] == [*MODELS, "stand-in-embedding"]


@pytest.mark.parametrize("model", MODELS)
def test_equal_requests_get_equal_answers(model: str) -> None:
    assert ask(question_to(model)).body == ask(question_to(model)).body


def test_the_seed_and_the_picture_change_the_answer() -> None:
    assert len({said_by(GOOD, QUESTION, b"picture", seed=seed) for seed in range(8)}) > 1
    assert len({said_by(GOOD, QUESTION, bytes([n])) for n in range(8)}) > 1


def test_each_model_speaks_in_its_own_way() -> None:
    assert said_by(GOOD)[0] in "ABCD"
    assert said_by(ALWAYS_A) == "A"
    assert said_by(THINKS_ALOUD).startswith("<think>")
    assert list(json.loads(said_by(OBEYS_SCHEMA, schema=SCHEMA))) == ["reason", "answer", "sure", "bullets"]
    assert "Explanation" in said_by(GOOD, schema=SCHEMA)  # ignores the schema, as some servers do


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (question_to(TEXT_ONLY, QUESTION, b"picture"), 400),
        (question_to("gpt-0"), 404),
        (question_to(OBEYS_SCHEMA, schema='{"type": "odd"}'), 400),
        (embeddings_request("stand-in-embedding", []), 400),
        (ModelRequest(Route.CHAT, b"{}"), 400),
        (ModelRequest(Route.CHAT, b"no json"), 400),
        (ModelRequest(Route.CHAT, b"[1]"), 400),
    ],
)
def test_a_wrong_request_is_answered_as_such(request_: ModelRequest, status: int) -> None:
    assert ask(request_).status == status


def test_texts_that_share_words_are_near_each_other() -> None:
    answer = json.loads(ask(embeddings_request("stand-in-embedding", ["lung nodule", "nodule", "rib fracture"])).body)
    one, near, far = (entry["embedding"] for entry in answer["data"])
    assert _cosine(one, one) == pytest.approx(1)
    assert _cosine(one, near) > _cosine(one, far) + 0.3


def _cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_the_ledger_says_what_it_was_asked() -> None:
    request = question_to(GOOD, QUESTION, b"one", b"two")
    with StandIn(seed=1) as server, ModelClient(Endpoint("stand-in", server.url), None) as client:
        client.send(request, at=AT)
        client.send(models_request(), at=AT)
        offered = _ledger_page(server)
    assert [(line["path"], line["n_images"], line["status"]) for line in offered] == [
        ("/v1/chat/completions", 2, 200),
        ("/v1/models", 0, 200),
    ]
    assert offered[0]["sha256"] == request.sha256


def _ledger_page(server: StandIn) -> list[dict[str, Any]]:
    connection = HTTPConnection(HOST, server.server_port, timeout=10)
    connection.request("GET", "/ledger")
    found: list[dict[str, Any]] = json.loads(connection.getresponse().read())
    connection.close()
    return found
