"""What the simulated models of the stand-in server say: made of a seed and what was asked, by no model. Pure."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import random
import re
import struct
from typing import Any

from tests.annotation.endpoints.simulated_writing import writes, written_for

GOOD, ALWAYS_A, TEXT_ONLY, THINKS_ALOUD, OBEYS_SCHEMA, JUDGES = MODELS = (
    "stand-in-good",
    "stand-in-always-a",
    "stand-in-text-only",
    "stand-in-thinks-aloud",
    "stand-in-json",
    "stand-in-judge",  # keeps to schemas, too: what one of the two wrote, the other may judge
)
EMBEDDING_MODEL = "stand-in-embedding"
EMBEDDING_LENGTH = 64
FINGERPRINT = "simulated"
TOKENS_OF_IMAGE = 256
_OPTION = re.compile(r"^[ \t]*\(?([A-D])[.):][ \t]*(\S.*)$", re.MULTILINE)
_WORD = re.compile(r"\w+")


class WrongRequest(Exception):
    """What a server answers with status 400, or with 404 for a model that it does not have."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


def images_in(body: dict[str, Any]) -> list[str]:
    """The URLs of all pictures of a chat request."""
    return [str(part["image_url"]["url"]) for part in _parts_of(body) if part.get("type") == "image_url"]


def chat_answer(body: dict[str, Any], *, seed: int) -> dict[str, Any]:
    """The answer to a chat request; equal requests get equal answers. Raises WrongRequest."""
    model = body.get("model")
    if not isinstance(model, str):
        raise WrongRequest("model is missing")
    if model not in MODELS:
        raise WrongRequest(f"The model {model!r} does not exist", status=404)
    if body.get("stream"):
        raise WrongRequest("The stand-in does not stream")
    images = images_in(body)
    text = "\n".join(str(part["text"]) for part in _parts_of(body) if part.get("type") == "text")
    if images and model == TEXT_ONLY:
        raise WrongRequest(f"{model} is not a multimodal model")
    asked = _digest(seed, text, *images)  # with the pictures, the longest part: hashed once
    answer_text = _answer_of(model, text, body, random.Random(asked))
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer_text}}
    if body.get("logprobs") and model == GOOD:  # the others leave it out, as some servers do
        choice["logprobs"] = {"content": [{"token": word, "logprob": -0.1} for word in answer_text.split()]}
    n_input, n_output = len(text.split()) + TOKENS_OF_IMAGE * len(images), len(answer_text.split())
    return {
        "id": f"chatcmpl-{_digest(seed, asked.hex(), json.dumps(body | {'messages': []})).hex()[:12]}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "system_fingerprint": FINGERPRINT,
        "choices": [choice],
        "usage": {
            "prompt_tokens": n_input,
            "completion_tokens": n_output,
            "total_tokens": n_input + n_output,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }


def _parts_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    contents = [message["content"] for message in body["messages"]]
    return [
        part
        for content in contents
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


def _digest(seed: int, *of: str) -> bytes:
    return hashlib.sha256("\0".join((str(seed), *of)).encode("utf-8", "surrogatepass")).digest()


def _answer_of(model: str, text: str, body: dict[str, Any], draw: random.Random) -> str:
    if model == ALWAYS_A:
        return "A"
    schema = _schema_of(body)
    if model in (OBEYS_SCHEMA, JUDGES) and schema is not None:
        return json.dumps(written_for(schema, text, draw) if writes(schema) else value_of(schema, draw))
    options = dict(_OPTION.findall(text)) or dict.fromkeys("ABCD", "an option")
    letter = draw.choice(sorted(options))
    answer = f"{letter}. {options[letter]}\nExplanation: simulated; nobody looked at an image."
    if model == THINKS_ALOUD:
        other = draw.choice(sorted(options))
        return (
            f"<think>\nIt could be {other}, option {other} is common. But {letter} fits better.\n</think>\n\n{answer}"
        )
    return answer


def _schema_of(body: dict[str, Any]) -> dict[str, Any] | None:
    asked = body.get("response_format")
    if not isinstance(asked, dict) or asked.get("type") != "json_schema":
        return None
    schema = asked.get("json_schema", {}).get("schema")
    if not isinstance(schema, dict):
        raise WrongRequest("response_format has no schema")
    return schema


def value_of(schema: dict[str, Any], draw: random.Random) -> Any:
    """A value that keeps to a JSON schema, of those parts that are used here. Raises WrongRequest for others."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if "anyOf" in schema:
        return value_of(draw.choice(schema["anyOf"]), draw)
    match schema.get("type"):
        case "object":
            return {name: value_of(part, draw) for name, part in schema.get("properties", {}).items()}
        case "array":
            fewest = schema.get("minItems", 1)
            n_items = draw.randint(fewest, schema.get("maxItems", fewest + 2))
            return [value_of(schema.get("items", {"type": "string"}), draw) for _ in range(n_items)]
        case "string":
            return f"simulated text {draw.randrange(1000)}"
        case "integer":
            return draw.randint(schema.get("minimum", 0), schema.get("maximum", 10))
        case "number":
            return round(draw.uniform(schema.get("minimum", 0), schema.get("maximum", 1)), 3)
        case "boolean":
            return draw.random() < 0.5
        case "null":
            return None
    raise WrongRequest("the stand-in does not know this kind of schema")


def embeddings_answer(body: dict[str, Any], *, seed: int) -> dict[str, Any]:
    """Unit vectors of hashed words: texts that share words are near each other. Raises WrongRequest."""
    texts = [body["input"]] if isinstance(body.get("input"), str) else body.get("input")
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise WrongRequest("input must be a text or a list of texts")
    vectors = [_vector(text, seed) for text in texts]
    if body.get("encoding_format") == "base64":
        shown: list[Any] = [base64.b64encode(struct.pack(f"<{len(one)}f", *one)).decode() for one in vectors]
    else:
        shown = vectors
    n_tokens = sum(len(text.split()) for text in texts)
    return {
        "object": "list",
        "model": EMBEDDING_MODEL,
        "data": [{"object": "embedding", "index": index, "embedding": one} for index, one in enumerate(shown)],
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
    }


def _vector(text: str, seed: int) -> list[float]:
    sums = [0.0] * EMBEDDING_LENGTH
    for word in _WORD.findall(text.lower()) or [""]:
        draw = random.Random(_digest(seed, word))
        sums = [total + draw.gauss(0, 1) for total in sums]
    length = math.sqrt(sum(value * value for value in sums))
    return [value / length for value in sums]
