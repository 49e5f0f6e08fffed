"""The exact bytes that are sent to a model endpoint, and what its answer to them counts as. Pure.

vLLM, llama.cpp, Ollama and hosted endpoints send the same document with other parts left out. Whatever is missing or of
another type is read as not given: the raw answer is kept, so nothing is lost by that.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from annotation.call_enums import CallOutcome, Ending

REFUSAL_RULE = "refusal-1"  # change the version with the rule: stored outcomes name it
FILTERED = {"content_filter", "safety", "refusal"}  # finish reasons
AT_THE_LIMIT = {"length", "max_tokens"}
NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL, and halves of a character that is written as two

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_SORRY = (
    r"(?:(?:i am|i'm|we are|we're) (?:very |so |really )?sorry|i apologi[sz]e|sorry|unfortunately)[,.;:!]?\s*(?:but )?"
)
_AS_AN_AI = r"as an ai\b[^.,]{0,80},\s*"
_WILL_NOT = (
    r"(?:can't|cannot|can not|won't|will not|am unable to|'m unable to|am not able to|'m not able to|must decline to)"
)
_DO_SO = r"(?:help|assist|provide|answer|interpret|analy[sz]e|diagnose|comply|fulfil+|give|offer|do that|view)\b"
_REFUSES = re.compile(rf"\W*(?:{_SORRY})?(?:{_AS_AN_AI})?(?:i|we)\s*{_WILL_NOT}\s+(?:\w+ly\s+)?{_DO_SO}", re.IGNORECASE)
_CHOOSES = re.compile(
    r"(?i:answer|option|choice)\b\W{0,12}(?:is\W{0,12})?[A-D]\b|^\W{0,12}[A-D](?:[.):]|\s*$)", re.MULTILINE
)


class Usage(Struct, frozen=True):
    """Tokens as the endpoint counts them; ``n_cached`` are among ``n_input``."""

    n_input: int | None = None
    n_cached: int | None = None
    n_output: int | None = None


class Completion(Struct, frozen=True):
    """``has_choice``: whether there was an answer at all; an error with status 200 and an empty list have none."""

    has_choice: bool = False
    text: str = ""
    finish_reason: str = ""
    refusal: str = ""
    model: str = ""
    fingerprint: str = ""
    usage: Usage | None = None


def read_completion(body: bytes) -> Completion:
    """Never fails: what is no such document has no choice."""
    try:
        answer = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return Completion()
    choices = _part(answer, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _part(choice, "message")
    text, refusal_in_parts = _text_of(_part(message, "content"))
    return Completion(
        has_choice=isinstance(message, dict),
        text=text,
        finish_reason=_word(_part(choice, "finish_reason")),
        refusal=_word(_part(message, "refusal")) or refusal_in_parts,
        model=_word(_part(answer, "model")),
        fingerprint=_word(_part(answer, "system_fingerprint")),
        usage=_usage_of(_part(answer, "usage")),
    )


def outcome_of(ending: Ending, completion: Completion) -> CallOutcome:
    """By what the endpoint says first: the field, the finish reason; then by ``REFUSAL_RULE`` on the text."""
    if ending != Ending.ANSWERED or not completion.has_choice:
        return CallOutcome.NOT_ASKED
    reason = completion.finish_reason.lower()
    if completion.refusal or reason in FILTERED:
        return CallOutcome.REFUSED
    if reason in AT_THE_LIMIT:
        return CallOutcome.CUT
    return CallOutcome.REFUSED if is_refusal(completion.text) else CallOutcome.ANSWERED


def is_refusal(text: str) -> bool:
    """Rule refusal-1: the text begins by saying that it will not, and names no option; thinking aloud is left out."""
    spoken = _THINKING.sub("", text).replace("’", "'").strip()
    return bool(_REFUSES.match(spoken)) and not _CHOOSES.search(spoken)


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _word(value: Any) -> str:
    return NOT_STORABLE.sub("\ufffd", value) if isinstance(value, str) else ""


def _text_of(content: Any) -> tuple[str, str]:
    """Text and refusal of a content, which is a string or a list of parts."""
    if not isinstance(content, list):
        return _word(content), ""
    return "".join(_word(_part(part, "text")) for part in content), "".join(
        _word(_part(part, "refusal")) for part in content
    )


def _usage_of(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    return Usage(
        n_input=_count(usage.get("prompt_tokens")),
        n_cached=_count(_part(usage.get("prompt_tokens_details"), "cached_tokens")),
        n_output=_count(usage.get("completion_tokens")),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


class Route(StrEnum):
    """The path of the request, behind the base URL."""

    CHAT = "chat/completions"
    EMBEDDINGS = "embeddings"


class ModelRequest(Struct, frozen=True):
    route: Route
    body: bytes

    @property
    def sha256(self) -> str:
        """Of the body."""
        return hashlib.sha256(self.body).hexdigest()


class Message(Struct, frozen=True):
    """``parts`` in the order in which the model gets them: a text, or the bytes of a picture as PNG."""

    role: str
    parts: tuple[str | bytes, ...]


class ChatSettings(Struct, frozen=True):
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
    return b"[%b]" % b",".join(_bytes_of(part) for part in parts)


def _bytes_of(part: str | bytes) -> bytes:
    """Nothing in base64 is escaped in JSON: looking for it in pictures took half of the time of a request."""
    if isinstance(part, str):
        return b'{"type":"text","text":%b}' % _json_bytes(part)
    return b'{"type":"image_url","image_url":{"url":"data:image/png;base64,%b"}}' % base64.b64encode(part)


def _json_bytes(value: str | dict[str, Any]) -> bytes:
    """Fields in the order given: sorting would turn the properties of a schema around."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
