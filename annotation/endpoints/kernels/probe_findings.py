"""What the replies to a probe show. Where an endpoint failed, or does not count tokens, it stays unknown. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from annotation.call_enums import Ending
from annotation.endpoints.kernels.probe_requests import (
    EQUAL_STEPS,
    LARGE,
    N_WORDS_LONG,
    N_WORDS_LONGER,
    SMALL,
    ProbeReply,
    ProbeStep,
    Replies,
    text_reply,
)
from annotation.endpoints.kernels.probe_words import ProbeAnswer, ProbeQuestion

LEAST_OF_IMAGE = 16  # tokens: a server that drops an image may put a mark of a few tokens in its place
WHOLE = 0.95  # of the tokens that a prompt should have; fewer: it was cut
REFUSING = {400, 404, 405, 413, 415, 422, 501}  # status: this request is not taken; any other may be taken later
UNSUPPORTED = re.compile(r"not support|unsupported", re.IGNORECASE)  # llama.cpp says it of images with status 500
AT_THE_LIMIT = {"length", "max_tokens"}
SHOWN_MODELS, SHOWN_CHARACTERS = 8, 200
FAILURES = {
    Ending.REDIRECT: "it answered with a redirect, which is refused",
    Ending.TOO_LARGE: "its answer was too large",
    Ending.TIMED_OUT: "no answer came in time",
    Ending.NOT_JSON: "its answer is not JSON",
    Ending.ANSWERED: "its answer holds no choice",
}


@dataclass(frozen=True)
class ProbeFinding:
    """The answer to one question, with a sentence that says on what ground, and what was counted for it."""

    code: ProbeQuestion
    state: ProbeAnswer
    sentence: str
    numbers: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code.value,
            "state": self.state.value,
            "sentence": self.sentence,
            "numbers": self.numbers,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(ProbeQuestion(value["code"]), ProbeAnswer(value["state"]), value["sentence"], value["numbers"])


def findings_of(model: str, replies: Replies) -> list[ProbeFinding]:
    """One for each question, in their order."""
    found = {
        ProbeQuestion.OFFERED: _offered(model, replies),
        **{question: find(replies) for question, find in _FINDERS.items()},
    }
    return [ProbeFinding(question, state, sentence, numbers) for question, (state, sentence, numbers) in found.items()]


Found = tuple[ProbeAnswer, str, dict[str, int]]


def _yes(sentence: str, **numbers: int) -> Found:
    return ProbeAnswer.YES, sentence, numbers


def _no(sentence: str, **numbers: int) -> Found:
    return ProbeAnswer.NO, sentence, numbers


def _unknown(sentence: str, **numbers: int) -> Found:
    return ProbeAnswer.UNKNOWN, sentence, numbers


def _failed(reply: ProbeReply | None, what: str) -> Found:
    """What it means that ``what`` was not answered: refused, or unknown."""
    if reply is None:
        return _unknown("Not asked, since what it needs was not answered.")
    why = _why(reply)
    is_unsupported = UNSUPPORTED.search(_message_of(reply.body))
    if reply.ending == Ending.HTTP_ERROR and (reply.status in REFUSING or is_unsupported):
        return _no(f"{what} was refused: {why}.")
    return _unknown(f"{what} was not answered: {why}.")


def _why(reply: ProbeReply) -> str:
    if reply.ending == Ending.HTTP_ERROR:
        message = _message_of(reply.body)
        return f"status {reply.status}, “{message}”" if message else f"status {reply.status}"
    if reply.ending == Ending.CONNECTION_FAILED:
        return f"the connection failed ({reply.problem})"
    return FAILURES[reply.ending]


def _message_of(body: bytes) -> str:
    """What an endpoint says of an error, in the forms in which servers say it."""
    value = _json_of(body)
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and name in value:
            value = value[name]
    return _shown(value) if isinstance(value, str) else ""


def _json_of(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _shown(text: str) -> str:
    """What others wrote, in one line and not too long."""
    line = "".join(character if character.isprintable() else " " for character in text).strip().rstrip(".")
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[: SHOWN_CHARACTERS - 1]}…"


def _offered(model: str, replies: Replies) -> Found:
    reply = replies.get(ProbeStep.MODELS)
    offered = _models_in(reply)
    if reply is None or offered is None:
        why = _why(reply) if reply and reply.ending != Ending.ANSWERED else "it gives no list"
        return _unknown(f"Which models there are is not known: {why}.")
    if model in offered or f"{model}:latest" in offered:  # as Ollama writes a model without a tag
        return _yes(f"It is among the models on offer ({len(offered)}).", n_models=len(offered))
    names = ", ".join(_shown(name) for name in offered[:SHOWN_MODELS]) or "none"
    more = " and others" if len(offered) > SHOWN_MODELS else ""
    return _no(f"It is not among the models on offer: {names}{more}.", n_models=len(offered))


def _models_in(reply: ProbeReply | None) -> list[str] | None:
    if reply is None or reply.ending != Ending.ANSWERED:
        return None
    value = _json_of(reply.body)
    models = value.get("data") if isinstance(value, dict) else None
    if not isinstance(models, list):
        return None
    return [one["id"] for one in models if isinstance(one, dict) and isinstance(one.get("id"), str)]


def _text(replies: Replies) -> Found:
    reply = text_reply(replies)
    if reply is None or not reply.is_answer:
        return _failed(reply, "A short text")
    if ProbeStep.TEXT_OTHER_LIMIT in replies:
        return _yes("A short text was answered, with max_completion_tokens; max_tokens is refused.")
    return _yes("A short text was answered.")


def _image(replies: Replies) -> Found:
    return _one_more_image(replies, None, ProbeStep.ONE_IMAGE, "An image")


def _second_image(replies: Replies) -> Found:
    return _one_more_image(replies, ProbeStep.ONE_IMAGE, ProbeStep.TWO_IMAGES, "A second image")


def _one_more_image(replies: Replies, fewer: ProbeStep | None, more: ProbeStep, what: str) -> Found:
    """Whether the image reaches the model: a server that drops it answers all the same, and counts no more tokens."""
    before, after = replies.get(fewer) if fewer else text_reply(replies), replies.get(more)
    if after is None or not after.is_answer:
        return _failed(after, what)
    if before is None or before.n_input is None or after.n_input is None:
        return _unknown(f"{what} was accepted; without a count of tokens it cannot be seen whether the model gets it.")
    grown = after.n_input - before.n_input
    numbers = {"n_without": before.n_input, "n_with": after.n_input}
    if grown < LEAST_OF_IMAGE:
        return _no(f"{what} was accepted and left out: the input has no more tokens with it.", **numbers)
    return _yes(f"{what} was accepted and adds {grown:,} tokens to the input.", **numbers)


def _image_size(replies: Replies) -> Found:
    text, small, large = text_reply(replies), replies.get(ProbeStep.ONE_IMAGE), replies.get(ProbeStep.LARGE_IMAGE)
    if large is None or not large.is_answer:
        return _failed(large, f"An image of {LARGE} by {LARGE} pixels")
    if text is None or text.n_input is None or small is None or small.n_input is None or large.n_input is None:
        return _unknown("Tokens are not counted.")
    n_small, n_large = small.n_input - text.n_input, large.n_input - text.n_input
    numbers = {"n_small": n_small, "n_large": n_large}
    sizes = f"{n_small:,} tokens for {SMALL} by {SMALL} pixels, {n_large:,} for {LARGE} by {LARGE}"
    if n_large < n_small + LEAST_OF_IMAGE:
        return _no(f"Every image counts the same: {sizes}. It may be made smaller there.", **numbers)
    return _yes(f"The tokens grow with the image: {sizes}.", **numbers)


def _long_prompt(replies: Replies) -> Found:
    """Servers that cut a prompt say nothing about it: two prompts of different length then have equal counts."""
    long, longer = replies.get(ProbeStep.LONG), replies.get(ProbeStep.LONGER)
    if long is None or not long.is_answer:
        return _failed(long, f"A prompt of {N_WORDS_LONG:,} words")
    if long.n_input is None:
        return _unknown("It was answered; without a count of tokens it cannot be seen whether it was cut.")
    text = text_reply(replies)
    n_text, n_longer = (text.n_input or 0) if text else 0, longer.n_input if longer else None
    numbers = {"n_long": long.n_input} | ({"n_longer": n_longer} if n_longer is not None else {})
    expected = long.n_input + (long.n_input - n_text) * (N_WORDS_LONGER - N_WORDS_LONG) / N_WORDS_LONG
    is_longer_cut = n_longer is not None and n_longer < WHOLE * expected
    if long.n_input < N_WORDS_LONG or is_longer_cut:
        cut_at = max(long.n_input, n_longer or 0)
        return _no(f"A long prompt is cut without an error, at about {cut_at:,} tokens.", cut_at=cut_at, **numbers)
    if n_longer is None:
        refused = f", one of {N_WORDS_LONGER:,} was not answered: {_why(longer)}" if longer else ""
        return _yes(f"A prompt of {N_WORDS_LONG:,} words came whole{refused}.", **numbers)
    return _yes(f"Prompts of {N_WORDS_LONG:,} and {N_WORDS_LONGER:,} words came whole.", **numbers)


def _schema(replies: Replies) -> Found:
    reply = replies.get(ProbeStep.SCHEMA)
    if reply is None or not reply.is_answer:
        return _failed(reply, "A JSON schema")
    completion = reply.completion
    if _keeps_to_schema(completion.text):
        return _yes("The answer keeps to the schema.")
    if completion.finish_reason.lower() in AT_THE_LIMIT:
        return _unknown("The answer was cut at its limit of tokens before it was whole.")
    return _no("A JSON schema is accepted and ignored: the answer does not keep to it.")


def _keeps_to_schema(text: str) -> bool:
    value = _json_of(text.encode("utf-8", "replace"))
    if not isinstance(value, dict) or set(value) != {"bright", "parts"}:
        return False
    return value["bright"] in ("yes", "no") and isinstance(value["parts"], int) and not isinstance(value["parts"], bool)


def _seed(replies: Replies) -> Found:
    reply = replies.get(ProbeStep.SEED)
    if reply is None or not reply.is_answer:
        return _failed(reply, "A seed")
    return _yes("A seed is accepted; whether it has an effect shows in the equal requests.")


def _logprobs(replies: Replies) -> Found:
    reply = replies.get(ProbeStep.LOGPROBS)
    if reply is None or not reply.is_answer:
        return _failed(reply, "A request for log-probabilities")
    value = _json_of(reply.body)
    given = value["choices"][0].get("logprobs")
    if isinstance(given, dict) and given.get("content"):
        return _yes("Log-probabilities of the tokens came with the answer.")
    return _no("The request was answered without log-probabilities.")


def _usage(replies: Replies) -> Found:
    reply = text_reply(replies)
    if reply is None or not reply.is_answer:
        return _failed(None, "")
    usage = reply.completion.usage
    if usage is None or usage.n_input is None or usage.n_output is None:
        return _no("Answers come without a count of their tokens: what a run costs would not be known.")
    return _yes("Tokens of input and output are counted.", n_input=usage.n_input, n_output=usage.n_output)


def _equal(replies: Replies) -> Found:
    sent = [replies[step] for step in EQUAL_STEPS if step in replies]
    texts = [reply.completion.text for reply in sent if reply.is_answer]
    if not texts:
        return _failed(sent[0] if sent else None, "A request with temperature 0")
    n_different = len(texts) - Counter(texts).most_common(1)[0][1]
    numbers = {"n_asked": len(EQUAL_STEPS), "n_answered": len(texts), "n_different": n_different}
    if n_different:
        return _no(f"{n_different} of {len(texts)} answers to equal requests differ from the most frequent.", **numbers)
    if len(texts) < len(EQUAL_STEPS):
        return _unknown(f"Only {len(texts)} of {len(EQUAL_STEPS)} equal requests were answered.", **numbers)
    return _yes(f"{len(texts)} equal requests with temperature 0 had equal answers.", **numbers)


_FINDERS: dict[ProbeQuestion, Callable[[Replies], Found]] = {
    ProbeQuestion.TEXT: _text,
    ProbeQuestion.IMAGE: _image,
    ProbeQuestion.SECOND_IMAGE: _second_image,
    ProbeQuestion.IMAGE_SIZE: _image_size,
    ProbeQuestion.LONG_PROMPT: _long_prompt,
    ProbeQuestion.SCHEMA: _schema,
    ProbeQuestion.SEED: _seed,
    ProbeQuestion.LOGPROBS: _logprobs,
    ProbeQuestion.USAGE: _usage,
    ProbeQuestion.EQUAL: _equal,
}
