"""What a probe asks of a model: short questions about phantom pictures that are made here, never about an image.

Pure.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from PIL import Image

from annotation.call_enums import Ending
from annotation.endpoints.kernels.completions import Completion, read_completion
from annotation.endpoints.kernels.model_requests import (
    ChatSettings,
    Message,
    ModelRequest,
    chat_request,
    models_request,
)

SMALL, LARGE = 224, 896  # pixels of each side
N_WORDS_LONG, N_WORDS_LONGER = 6_000, 9_000  # above 4,096 tokens, where some servers cut
WORDS = ("lung", "heart", "rib", "line", "air", "side", "left", "right")
SHORT = "Is anything bright in the middle of the picture? Answer yes or no."
SCHEMA = {
    "type": "object",
    "properties": {"bright": {"enum": ["yes", "no"]}, "parts": {"type": "integer"}},
    "required": ["bright", "parts"],
    "additionalProperties": False,
}
SEED = 7
FEW_TOKENS, ENOUGH_TOKENS = 64, 400  # of an answer; a schema wants a whole one
WRONG_SETTING = {400, 422}  # status of an endpoint that knows the path and not what was sent


class ProbeStep(StrEnum):
    """One request, in the order in which they are sent."""

    MODELS = "models"
    TEXT = "text"
    TEXT_OTHER_LIMIT = "text-other-limit"  # newer hosted models refuse max_tokens
    ONE_IMAGE = "one-image"
    TWO_IMAGES = "two-images"
    LARGE_IMAGE = "large-image"
    LONG = "long"
    LONGER = "longer"
    SCHEMA = "schema"
    SEED = "seed"
    LOGPROBS = "logprobs"
    EQUAL_1 = "equal-1"
    EQUAL_2 = "equal-2"
    EQUAL_3 = "equal-3"
    EQUAL_4 = "equal-4"
    EQUAL_5 = "equal-5"


EQUAL_STEPS = tuple(step for step in ProbeStep if step.startswith("equal-"))


@dataclass(frozen=True)
class ProbeReply:
    """How one request ended, with the fields of an Exchange."""

    ending: Ending
    status: int | None = None
    body: bytes = b""
    problem: str = ""

    @property
    def completion(self) -> Completion:
        return read_completion(self.body)

    @property
    def is_answer(self) -> bool:
        return self.ending == Ending.ANSWERED and self.completion.has_choice

    @property
    def n_input(self) -> int | None:
        """Tokens that came in, of an answer that counts them."""
        usage = self.completion.usage if self.is_answer else None
        return usage.n_input if usage else None


Replies = Mapping[ProbeStep, ProbeReply]
NEEDED = {  # what must have been answered before a step can tell anything
    ProbeStep.TWO_IMAGES: ProbeStep.ONE_IMAGE,
    ProbeStep.LARGE_IMAGE: ProbeStep.ONE_IMAGE,
    ProbeStep.LONGER: ProbeStep.LONG,
    **dict.fromkeys(EQUAL_STEPS[1:], EQUAL_STEPS[0]),
}


def next_request(model: str, replies: Replies) -> tuple[ProbeStep, ModelRequest] | None:
    """What is asked after these replies; None where nothing is left that could tell something.

    An endpoint that answers no text is asked nothing more: it would fail as often as there are steps.
    """
    for step in ProbeStep:
        if step not in replies and _is_asked(step, replies):
            return step, _request(step, model, replies)
    return None


def text_reply(replies: Replies) -> ProbeReply | None:
    """To the short text, with the limit of tokens that the endpoint takes."""
    return replies.get(ProbeStep.TEXT_OTHER_LIMIT) or replies.get(ProbeStep.TEXT)


def seconds_between(calls_per_minute: int | None) -> float:
    """How long a probe waits before each request: not at all where all of them fit into a minute."""
    if calls_per_minute is None or calls_per_minute >= len(ProbeStep):
        return 0.0
    return 60 / calls_per_minute


def phantom_picture(side: int, *, seed: int) -> bytes:
    """A square PNG of 8-bit grey: noise, darker at the edges, with a bright disc; no patient was ever near it."""
    rows, columns = np.mgrid[0:side, 0:side] / side - 0.5
    distance = np.hypot(rows, columns)
    grey = 150 - 120 * distance + np.random.default_rng(seed).normal(0, 4, (side, side))
    grey[distance < 0.15] = 230
    file = io.BytesIO()
    Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def long_prompt(n_words: int) -> str:
    """Words of one token each at the least; no two lengths begin alike, or a cache of the endpoint would count less."""
    words = [WORDS[number % len(WORDS)] for number in range(n_words)]
    return f"A list of {n_words} words.\n{' '.join(words)}\nAnswer with the word done."


def _is_asked(step: ProbeStep, replies: Replies) -> bool:
    if step in {ProbeStep.MODELS, ProbeStep.TEXT}:
        return True
    if step == ProbeStep.TEXT_OTHER_LIMIT:
        first = replies[ProbeStep.TEXT]
        return first.ending == Ending.HTTP_ERROR and first.status in WRONG_SETTING
    text = text_reply(replies)
    if text is None or not text.is_answer:
        return False
    needed = replies.get(NEEDED[step]) if step in NEEDED else text
    return needed is not None and needed.is_answer


def _request(step: ProbeStep, model: str, replies: Replies) -> ModelRequest:
    if step == ProbeStep.MODELS:
        return models_request()
    return chat_request(model, [Message("user", _parts(step, replies))], _settings(step, replies))


def _parts(step: ProbeStep, replies: Replies) -> tuple[str | bytes, ...]:
    match step:
        case ProbeStep.ONE_IMAGE:
            return phantom_picture(SMALL, seed=1), SHORT
        case ProbeStep.TWO_IMAGES:
            return phantom_picture(SMALL, seed=1), phantom_picture(SMALL, seed=2), SHORT
        case ProbeStep.LARGE_IMAGE:
            return phantom_picture(LARGE, seed=1), SHORT
        case ProbeStep.LONG:
            return (long_prompt(N_WORDS_LONG),)
        case ProbeStep.LONGER:
            return (long_prompt(N_WORDS_LONGER),)
    image = replies.get(ProbeStep.ONE_IMAGE)
    if step in EQUAL_STEPS and image is not None and image.is_answer:
        return phantom_picture(SMALL, seed=3), SHORT
    return (SHORT,)


def _settings(step: ProbeStep, replies: Replies) -> ChatSettings:
    n_tokens = ENOUGH_TOKENS if step == ProbeStep.SCHEMA else FEW_TOKENS
    is_other_limit = step == ProbeStep.TEXT_OTHER_LIMIT or ProbeStep.TEXT_OTHER_LIMIT in replies
    seed = replies.get(ProbeStep.SEED)
    with_seed = step == ProbeStep.SEED or (step in EQUAL_STEPS and seed is not None and seed.is_answer)
    return ChatSettings(
        temperature=0 if step in EQUAL_STEPS else None,
        seed=SEED if with_seed else None,
        max_tokens=None if is_other_limit else n_tokens,
        max_completion_tokens=n_tokens if is_other_limit else None,
        logprobs=True if step == ProbeStep.LOGPROBS else None,
        schema=json.dumps(SCHEMA) if step == ProbeStep.SCHEMA else "",
    )
