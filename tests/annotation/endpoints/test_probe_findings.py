"""What each reply shows, where the stand-in cannot be told to say it."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from annotation.call_enums import Ending
from annotation.endpoints.kernels.model_requests import Route
from annotation.endpoints.kernels.probe_findings import ProbeFinding, findings_of
from annotation.endpoints.kernels.probe_requests import (
    EQUAL_STEPS,
    LARGE,
    SMALL,
    ProbeReply,
    ProbeStep,
    next_request,
    phantom_picture,
    seconds_between,
)
from annotation.endpoints.kernels.probe_words import ProbeAnswer, ProbeQuestion

MODEL = "llava"
YES, NO, UNKNOWN = ProbeAnswer.YES, ProbeAnswer.NO, ProbeAnswer.UNKNOWN


def answer(text: str = "yes", n_input: int | None = 20, **choice: Any) -> ProbeReply:
    body: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}, **choice}]}
    if n_input is not None:
        body["usage"] = {"prompt_tokens": n_input, "completion_tokens": 2}
    return ProbeReply(Ending.ANSWERED, 200, json.dumps(body).encode())


def refused(status: int, value: object = None) -> ProbeReply:
    return ProbeReply(Ending.HTTP_ERROR, status, json.dumps(value).encode())


def offered(*models: str) -> ProbeReply:
    return ProbeReply(Ending.ANSWERED, 200, json.dumps({"data": [{"id": model} for model in models]}).encode())


def found(question: ProbeQuestion, replies: dict[ProbeStep, ProbeReply]) -> ProbeFinding:
    (one,) = [one for one in findings_of(MODEL, replies) if one.code == question]
    return one


def test_every_question_has_one_finding_also_where_nothing_was_answered() -> None:
    nothing = ProbeReply(Ending.CONNECTION_FAILED, problem="NewConnectionError")
    all_found = findings_of(MODEL, {ProbeStep.MODELS: nothing, ProbeStep.TEXT: nothing})
    assert [one.code for one in all_found] == list(ProbeQuestion)
    assert {one.state for one in all_found} == {UNKNOWN}
    assert "the connection failed (NewConnectionError)" in all_found[0].sentence
    assert [ProbeFinding.from_json(json.loads(json.dumps(one.as_json()))) for one in all_found] == all_found


@pytest.mark.parametrize(
    ("reply", "state", "words"),
    [
        (offered("llava", "other"), YES, "(2)"),
        (offered("llava:latest"), YES, "(1)"),
        (offered("llava:7b"), NO, "llava:7b"),
        (offered(), NO, "none"),
        (offered(*(f"model-{n}" for n in range(20))), NO, "model-7 and others"),
        (refused(404), UNKNOWN, "status 404"),
        (ProbeReply(Ending.ANSWERED, 200, b"[1]"), UNKNOWN, "it gives no list"),
        (ProbeReply(Ending.REDIRECT, 307), UNKNOWN, "redirect"),
    ],
)
def test_offered(reply: ProbeReply, state: ProbeAnswer, words: str) -> None:
    one = found(ProbeQuestion.OFFERED, {ProbeStep.MODELS: reply})
    assert one.state == state
    assert words in one.sentence


@pytest.mark.parametrize(
    ("reply", "state", "words"),
    [
        (answer(n_input=84), YES, "adds 64 tokens"),
        (answer(n_input=25), NO, "left out"),  # a mark in place of the image
        (answer(n_input=None), UNKNOWN, "without a count of tokens"),
        (refused(400, {"error": {"message": "No images.\nPlease"}}), NO, "status 400, “No images. Please”"),
        (refused(422, {"detail": "no"}), NO, "“no”"),
        (refused(500, {"error": "broken"}), UNKNOWN, "status 500, “broken”"),
        (refused(500, {"error": {"message": "image input is not supported"}}), NO, "status 500"),  # llama.cpp
        (refused(429), UNKNOWN, "status 429"),
        (refused(401), UNKNOWN, "status 401"),
        (refused(400, {"error": {"message": "x" * 1000}}), NO, "…"),
        (refused(400, {"error": {"message": "a\x00\ud800b"}}), NO, "“a  b”"),
        (ProbeReply(Ending.TIMED_OUT), UNKNOWN, "no answer came in time"),
        (ProbeReply(Ending.TOO_LARGE, 200), UNKNOWN, "too large"),
        (ProbeReply(Ending.NOT_JSON, 200), UNKNOWN, "not JSON"),
        (ProbeReply(Ending.ANSWERED, 200, b'{"choices": []}'), UNKNOWN, "holds no choice"),
    ],
)
def test_an_image(reply: ProbeReply, state: ProbeAnswer, words: str) -> None:
    one = found(ProbeQuestion.IMAGE, {ProbeStep.TEXT: answer(), ProbeStep.ONE_IMAGE: reply})
    assert one.state == state
    assert words in one.sentence
    assert len(one.sentence) < 300


@pytest.mark.parametrize(("n_large", "state"), [(1044, YES), (84, NO), (None, UNKNOWN)])
def test_the_size_of_an_image(n_large: int | None, state: ProbeAnswer) -> None:
    replies = {
        ProbeStep.TEXT: answer(n_input=20),
        ProbeStep.ONE_IMAGE: answer(n_input=84),
        ProbeStep.LARGE_IMAGE: answer(n_input=n_large),
    }
    one = found(ProbeQuestion.IMAGE_SIZE, replies)
    assert one.state == state
    if n_large:
        assert one.numbers == {"n_small": 64, "n_large": n_large - 20}


@pytest.mark.parametrize(
    ("n_long", "longer", "state", "cut_at"),
    [
        (6_020, answer(n_input=9_020), YES, None),
        (7_500, answer(n_input=11_240), YES, None),  # words of more than one token
        (4_096, answer(n_input=4_096), NO, 4_096),
        (4_095, refused(400), NO, 4_095),
        (7_500, answer(n_input=8_192), NO, 8_192),  # only the longer one was cut
        (6_020, refused(400, {"error": "context of 8192 tokens"}), YES, None),
        (None, answer(n_input=None), UNKNOWN, None),
    ],
)
def test_a_long_prompt(n_long: int | None, longer: ProbeReply, state: ProbeAnswer, cut_at: int | None) -> None:
    replies = {ProbeStep.TEXT: answer(), ProbeStep.LONG: answer(n_input=n_long), ProbeStep.LONGER: longer}
    one = found(ProbeQuestion.LONG_PROMPT, replies)
    assert (one.state, one.numbers.get("cut_at")) == (state, cut_at)


def test_a_long_prompt_that_is_refused_is_not_cut() -> None:
    replies = {ProbeStep.TEXT: answer(), ProbeStep.LONG: refused(400, {"error": "too long"})}
    one = found(ProbeQuestion.LONG_PROMPT, replies)
    assert (one.state, one.numbers) == (NO, {})


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (answer('{"bright": "yes", "parts": 2}'), YES),
        (answer('{"bright": "maybe", "parts": 2}'), NO),
        (answer('{"bright": "yes", "parts": true}'), NO),
        (answer('{"bright": "yes", "parts": 2, "more": 1}'), NO),
        (answer('```json\n{"bright": "yes", "parts": 2}\n```'), NO),
        (answer("Yes."), NO),
        (answer('{"bright": "y', finish_reason="length"), UNKNOWN),
        (refused(400), NO),
        (refused(503), UNKNOWN),
    ],
)
def test_a_schema(reply: ProbeReply, state: ProbeAnswer) -> None:
    assert found(ProbeQuestion.SCHEMA, {ProbeStep.SCHEMA: reply}).state == state


def test_logprobs_and_seed_and_usage() -> None:
    given = {"content": [{"token": "yes", "logprob": -0.1}]}
    for choice, state in ((given, YES), ({"content": []}, NO), (None, NO), ([], NO)):
        reply = answer(logprobs=choice)
        assert found(ProbeQuestion.LOGPROBS, {ProbeStep.LOGPROBS: reply}).state == state
    assert found(ProbeQuestion.SEED, {ProbeStep.SEED: refused(400)}).state == NO
    assert found(ProbeQuestion.SEED, {ProbeStep.SEED: answer()}).state == YES
    assert found(ProbeQuestion.USAGE, {ProbeStep.TEXT: answer(n_input=None)}).state == NO
    assert found(ProbeQuestion.USAGE, {ProbeStep.TEXT: answer()}).numbers == {"n_input": 20, "n_output": 2}


@pytest.mark.parametrize(
    ("texts", "state", "n_different"),
    [
        (["a"] * 5, YES, 0),
        (["a", "a", "b", "a", "c"], NO, 2),
        (["a", "b", None, None, None], NO, 1),
        (["a", "a", None, "a", "a"], UNKNOWN, 0),
    ],
)
def test_equal_requests(texts: list[str | None], state: ProbeAnswer, n_different: int) -> None:
    replies = {
        step: refused(500) if text is None else answer(text) for step, text in zip(EQUAL_STEPS, texts, strict=True)
    }
    one = found(ProbeQuestion.EQUAL, replies)
    assert (one.state, one.numbers["n_different"]) == (state, n_different)


def test_what_cannot_be_told_is_not_asked() -> None:
    """No text, no more questions; no image, no second one. Where max_tokens is refused, the newer word is sent."""
    replies: dict[ProbeStep, ProbeReply] = {ProbeStep.MODELS: offered(MODEL), ProbeStep.TEXT: refused(503)}
    assert next_request(MODEL, replies) is None
    replies[ProbeStep.TEXT] = refused(400, {"error": {"message": "Use max_completion_tokens"}})
    asked = []
    while (following := next_request(MODEL, replies)) is not None:
        step, request = following
        asked.append(step)
        sent = json.loads(request.body)
        assert request.route == Route.CHAT
        assert "max_tokens" not in sent
        assert sent["max_completion_tokens"] > 0
        assert ("seed" in sent) == (step == ProbeStep.SEED)  # refused there, so not sent again
        replies[step] = refused(400) if step in {ProbeStep.ONE_IMAGE, ProbeStep.SEED, ProbeStep.LONG} else answer()
    images = {ProbeStep.TWO_IMAGES, ProbeStep.LARGE_IMAGE}
    assert asked == [step for step in list(ProbeStep)[2:] if step not in images | {ProbeStep.LONGER}]
    assert "max_completion_tokens" in found(ProbeQuestion.TEXT, replies).sentence


@pytest.mark.parametrize("side", [SMALL, LARGE])
def test_a_phantom_picture(side: int) -> None:
    picture = Image.open(io.BytesIO(phantom_picture(side, seed=1)))
    assert (picture.mode, picture.size) == ("L", (side, side))
    grey = np.asarray(picture)
    assert grey[side // 2, side // 2] > grey[5, 5] + 100
    assert phantom_picture(side, seed=1) == phantom_picture(side, seed=1) != phantom_picture(side, seed=2)


def test_a_probe_waits_only_where_it_would_ask_too_often() -> None:
    assert (seconds_between(None), seconds_between(60), seconds_between(10)) == (0, 0, 6)
