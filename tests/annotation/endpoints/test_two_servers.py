"""One contract for two servers: the stand-in, and llama.cpp with a model of random weights; and where they differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from annotation.call_enums import Ending, EndpointPlace, ProbeQuestion
from annotation.endpoints.client import Exchange, Limits, ModelClient
from annotation.endpoints.kernels.completions import (
    ChatSettings,
    Completion,
    Message,
    ModelRequest,
    chat_request,
    embeddings_request,
    read_completion,
)
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.generation.kernels.answer_forms import BULLETS_SCHEMA, QUESTIONS_SCHEMA, read_bullets, read_questions
from annotation.model_calls.kernels.extraction import answer_in
from annotation.model_calls.probing import probe
from annotation.model_calls.versions import OUR_READING, SHIPPED
from tests.annotation.endpoints.llama_server import MODEL, llama_server, write_model, write_projector
from tests.annotation.endpoints.simulated_models import OBEYS_SCHEMA
from tests.annotation.endpoints.stand_in import StandIn
from tests.architecture.source import ROOT

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
STAND_IN, LLAMA = "stand-in", "llama.cpp"
SERVERS = (STAND_IN, LLAMA)
QUESTION = "Which side?\nA. Left\nB. Right\nC. Both\nD. Neither"
REPORT = "Report:\nThe heart is enlarged. A nodule lies in the right upper lobe. No pleural effusion."
FINDINGS = "Write 2 questions\n" + "\n".join(
    f"{n}. [{'absent' if n == 4 else 'present'}] Finding {n}" for n in (1, 2, 3, 4)
)
READING_SCHEMA = next(one.schema for one in SHIPPED if one.name == OUR_READING)


@dataclass
class Asked:
    """A server under the contract."""

    name: str
    model: str
    client: ModelClient

    def send(self, request: ModelRequest) -> Exchange:
        return self.client.send(request, at=AT)

    def chat(self, *parts: str | bytes, model: str = "", **settings: Any) -> Exchange:
        request = chat_request(model or self.model, [Message("user", parts)], ChatSettings(**settings))
        return self.send(request)

    def completion(self, *parts: str | bytes, **settings: Any) -> Completion:
        exchange = self.chat(*parts, **settings)
        assert (exchange.ending, exchange.status) == (Ending.ANSWERED, 200), exchange
        return read_completion(exchange.body)


@pytest.fixture(scope="module")
def llama_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_server(tmp_path_factory.mktemp("llama")) as url:
        yield url


@pytest.fixture
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    name: str = request.param
    with StandIn(seed=1) as stand_in:
        url = stand_in.url if name == STAND_IN else request.getfixturevalue("llama_url")
        endpoint = Endpoint(name.replace(".", "-"), url, EndpointPlace.MACHINE)
        with ModelClient(endpoint, None, limits=Limits(total_seconds=60)) as client:
            yield Asked(name, OBEYS_SCHEMA if name == STAND_IN else MODEL, client)


both = pytest.mark.parametrize("asked", SERVERS, indirect=True)


def test_the_model_is_small_and_always_the_same(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="gguf of requirements-dev.txt is not installed")
    for name in ("one", "other"):
        write_model(tmp_path / name, seed=1)
        write_projector(tmp_path / f"sees-{name}", seed=2)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert (tmp_path / "sees-one").read_bytes() == (tmp_path / "sees-other").read_bytes()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2 * 2 * 1024 * 1024


@both
def test_a_chat_is_answered_with_its_usage(asked: Asked) -> None:
    found = asked.completion(QUESTION, temperature=0, max_tokens=40)
    assert (bool(found.text), found.model, bool(found.fingerprint)) == (True, asked.model, True), found
    assert found.finish_reason in ("stop", "length")
    assert found.usage is not None
    assert (found.usage.n_input or 0) > 5
    assert 0 < (found.usage.n_output or 0) <= 40
    assert (found.usage.n_cached or 0) <= (found.usage.n_input or 0)


@both
def test_equal_requests_with_a_seed_have_equal_answers(asked: Asked) -> None:
    first, second = (asked.completion(QUESTION, temperature=1, seed=5, max_tokens=20).text for _again in range(2))
    assert first == second


@both
@pytest.mark.parametrize(
    ("schema", "text", "read"),
    [
        (READING_SCHEMA, QUESTION, lambda text: answer_in(text) in [*"ABCD"] and [answer_in(text)]),
        (BULLETS_SCHEMA, REPORT, read_bullets),
        (QUESTIONS_SCHEMA, FINDINGS, read_questions),
    ],
    ids=["options", "bullets", "questions"],
)
def test_an_answer_keeps_to_our_schemas(asked: Asked, schema: str, text: str, read: Callable[[str], list[Any]]) -> None:
    """With llama.cpp nonsense, but well-formed: it can be read whatever the seed, and is not always empty."""
    answers = [asked.completion(text, schema=schema, seed=seed, max_tokens=6000).text for seed in range(1, 9)]
    found = [read(answer) for answer in answers]
    assert any(found)


@both
def test_an_answer_in_a_schema_that_is_cut_says_so(asked: Asked) -> None:
    found = asked.completion(QUESTION, schema=READING_SCHEMA, seed=1, max_tokens=4)
    assert found.finish_reason == ("length" if asked.name == LLAMA else "stop")  # the stand-in cuts only when told to


@both
@pytest.mark.parametrize("body", [b"{", b"[]", b'{"model": "m"}'])
def test_what_is_no_request_is_refused(asked: Asked, body: bytes) -> None:
    request = chat_request(asked.model, [Message("user", (QUESTION,))], ChatSettings())
    exchange = asked.send(replace(request, body=body))
    assert exchange.ending == Ending.HTTP_ERROR
    assert exchange.status in (400, 404, 500)
    assert json.loads(exchange.body)["error"]["message"]


REFUTED: dict[str, set[str]] = {STAND_IN: set(), LLAMA: {ProbeQuestion.LONG_PROMPT}}


@both
@pytest.mark.django_db
def test_a_probe_says_what_each_can_do(asked: Asked) -> None:
    made = probe(asked.client.endpoint, asked.model, actor=None, at=AT)
    found = {one["code"]: one["state"] for one in made.findings}
    assert {code for code, state in found.items() if state == "no"} == REFUTED[asked.name]
    assert "unknown" not in found.values()


# Where they differ: what is asked, and what comes of it at the stand-in and at llama.cpp. docs/models-at-work.md has
# the same lines.


def _status(exchange: Exchange) -> str:
    return "answered" if exchange.ending == Ending.ANSWERED else f"status {exchange.status}"


DIFFERENCES: dict[str, tuple[Callable[[Asked], str], str, str]] = {
    "a model that is not on offer": (
        lambda asked: _status(asked.chat(QUESTION, model="nobody", max_tokens=4)),
        "status 404",
        "answered",
    ),
    "an image that is none": (
        lambda asked: _status(asked.chat(QUESTION, b"picture", max_tokens=4)),
        "answered",
        "status 400",
    ),
    "embeddings": (
        lambda asked: _status(asked.send(embeddings_request(asked.model, ["nodule"]))),
        "answered",
        "status 501",
    ),
    "a prompt of 9,000 words": (lambda asked: _status(asked.chat("word " * 9000)), "answered", "status 400"),
    "more than `max_tokens`": (
        lambda asked: asked.completion(QUESTION, temperature=0, max_tokens=4).finish_reason,
        "stop",
        "length",
    ),
    "another seed": (
        lambda asked: str(len({asked.completion(QUESTION, temperature=1, seed=n, max_tokens=9).text for n in (1, 2)})),
        "1",
        "2",
    ),
    "log-probabilities": (
        lambda asked: str(b'"logprobs"' in asked.chat(QUESTION, logprobs=True, max_tokens=4).body),
        "False",
        "True",
    ),
    "the same prompt again": (
        lambda asked: str((asked.completion(REPORT, max_tokens=4), _cached(asked))[1] > 0),
        "False",
        "True",
    ),
}


def _cached(asked: Asked) -> int:
    usage = asked.completion(REPORT, max_tokens=4).usage
    return (usage.n_cached or 0) if usage else 0


@both
@pytest.mark.parametrize("what", DIFFERENCES)
def test_where_they_differ(asked: Asked, what: str) -> None:
    look, at_stand_in, at_llama = DIFFERENCES[what]
    assert look(asked) == (at_stand_in if asked.name == STAND_IN else at_llama)


def test_the_documentation_lists_where_they_differ() -> None:
    page = (ROOT / "docs/models-at-work.md").read_text()
    missing = [what for what in DIFFERENCES if f"\n| {what} |" not in page]
    assert missing == []
