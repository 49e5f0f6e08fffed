"""The exact bytes that are sent to a model endpoint: equal values give equal bytes, and so the same SHA-256. Pure."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Route(StrEnum):
    """The path of the request, behind the base URL."""

    CHAT = "chat/completions"
    EMBEDDINGS = "embeddings"


@dataclass(frozen=True)
class ModelRequest:
    route: Route
    body: bytes

    @property
    def sha256(self) -> str:
        """Of the body."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True)
class Message:
    """``parts`` in the order in which the model gets them: a text, or the bytes of a picture as PNG."""

    role: str
    parts: tuple[str | bytes, ...]


@dataclass(frozen=True)
class ChatSettings:
    """None: not sent, so that the endpoint takes its own default.

    ``max_completion_tokens`` is what newer hosted models call ``max_tokens``. ``schema`` is the text of a JSON schema:
    a text keeps the order of its properties, in which an engine makes the model fill them, and a JSON column of
    PostgreSQL does not.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    schema: str = ""

    def kept(self) -> dict[str, Any]:
        """What is sent, but for the schema: a batch keeps it, and its prompt keeps the schema."""
        return {name: value for name, value in asdict(self).items() if name != "schema" and value is not None}


def chat_request(model: str, messages: Sequence[Message], settings: ChatSettings) -> ModelRequest:
    """Raises ValueError for a schema that is not JSON."""
    values = settings.kept()
    if settings.schema:
        schema = {"name": "answer", "strict": True, "schema": json.loads(settings.schema)}
        values["response_format"] = {"type": "json_schema", "json_schema": schema}
    texts = b",".join(
        b'{"role":%b,"content":%b}' % (_json_bytes(message.role), _content_of(message.parts)) for message in messages
    )
    rest = _json_bytes(values)[1:-1]
    body = b'{"model":%b,"messages":[%b]%b}' % (_json_bytes(model), texts, b"," + rest if rest else b"")
    return ModelRequest(Route.CHAT, body)


def embeddings_request(model: str, texts: Sequence[str]) -> ModelRequest:
    return ModelRequest(Route.EMBEDDINGS, _json_bytes({"model": model, "input": list(texts)}))


def _content_of(parts: tuple[str | bytes, ...]) -> bytes:
    """A single text is sent as such: some servers without pictures know no list of parts."""
    if len(parts) == 1 and isinstance(parts[0], str):
        return _json_bytes(parts[0])
    return b"[%b]" % b",".join(_part(part) for part in parts)


def _part(part: str | bytes) -> bytes:
    """Nothing in base64 is escaped in JSON: looking for it in pictures took half of the time of a request."""
    if isinstance(part, str):
        return b'{"type":"text","text":%b}' % _json_bytes(part)
    return b'{"type":"image_url","image_url":{"url":"data:image/png;base64,%b"}}' % base64.b64encode(part)


def _json_bytes(value: str | dict[str, Any]) -> bytes:
    """Fields in the order given: sorting would turn the properties of a schema around."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
