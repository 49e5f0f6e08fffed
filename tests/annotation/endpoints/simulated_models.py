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

from annotation.endpoints.simulated_endpoint import TOKENS_OF_IMAGE, value_of

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
INVENTED = 8  # one quote in so many is in no report
UNGROUNDED = 5  # one question in so many offers what its report does not state
MOST_FINDINGS = 99  # no report has so many
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
        return json.dumps(_written(schema, text, draw))
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


def _written(schema: dict[str, Any], text: str, draw: random.Random) -> Any:
    """As the models of the demonstration write it, a seeded share at fault as models are."""
    if "verdict" in schema["properties"]:
        verdict = draw.choices(["pass", "fail", "undecided"], weights=[6, 3, 1])[0]
        return {"reason": f"Simulated ({verdict}): nobody looked at the question.", "verdict": verdict}
    written = value_of(schema, text, draw)
    for bullet in written.get("bullets", ()):
        if draw.randrange(INVENTED) == 0:
            bullet["quote"] = "A simulated finding that nobody reported."
    for question in written.get("questions", ()):
        if draw.randrange(UNGROUNDED) == 0:
            question["options"][1]["bullets"] = [MOST_FINDINGS]
    return written


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
