"""Answers as different servers give them, and what each counts as."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.call_enums import CallOutcome, Ending
from annotation.endpoints.kernels.completions import Completion, Usage, is_refusal, outcome_of, read_completion

VLLM: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "org/model-7b",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "reasoning_content": "so",
                "content": "B",
                "tool_calls": [],
                "refusal": None,
            },
            "logprobs": None,
            "finish_reason": "stop",
            "stop_reason": None,
        }
    ],
    "usage": {"prompt_tokens": 812, "total_tokens": 813, "completion_tokens": 1, "prompt_tokens_details": None},
    "prompt_logprobs": None,
}
LLAMA_CPP = {
    "choices": [{"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": "B"}}],
    "created": 1,
    "model": "gguf",
    "system_fingerprint": "b4000-abc",
    "usage": {"completion_tokens": 1, "prompt_tokens": 10, "total_tokens": 11},
    "timings": {"prompt_n": 10},
}
HOSTED = {
    "model": "hosted-2026-01-01",
    "system_fingerprint": None,
    "choices": [
        {
            "message": {"content": [{"type": "text", "text": "B"}, {"type": "text", "text": "."}]},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 512}, "completion_tokens": 2},
}


def read(answer: Any) -> Completion:
    return read_completion(json.dumps(answer).encode())


def with_choice(message: Any = None, **choice: Any) -> Completion:
    return read({"choices": [{"message": message or {"content": "B"}, **choice}]})


def outcome(completion: Completion) -> CallOutcome:
    return outcome_of(Ending.ANSWERED, completion)


def test_the_answers_of_known_servers() -> None:
    assert read(VLLM) == Completion(True, "B", "stop", "", "org/model-7b", "", Usage(812, None, 1))
    assert read(LLAMA_CPP) == Completion(True, "B", "stop", "", "gguf", "b4000-abc", Usage(10, None, 1))
    assert read(HOSTED) == Completion(True, "B.", "stop", "", "hosted-2026-01-01", "", Usage(900, 512, 2))


@pytest.mark.parametrize(
    "body",
    [
        *(
            b"",
            b"{",
            b"\xff",
            b"[]",
            b"null",
            b"3",
            b"{}",
            b'{"choices": []}',
            b'{"choices": {}}',
            b'{"choices": [null]}',
        ),
        *(b'{"choices": [{"message": "B"}]}', b'{"error": {"message": "overloaded"}}', b"[" * 100_000),
    ],
)
def test_no_answer_is_not_asked(body: bytes) -> None:
    completion = read_completion(body)
    assert not completion.has_choice
    assert outcome(completion) == CallOutcome.NOT_ASKED


@pytest.mark.parametrize("ending", [ending for ending in Ending if ending != Ending.ANSWERED])
def test_a_failed_exchange_is_not_asked_whatever_its_body_says(ending: Ending) -> None:
    assert outcome_of(ending, read(VLLM)) == CallOutcome.NOT_ASKED


@pytest.mark.parametrize(
    ("completion", "found"),
    [
        (with_choice({"content": None, "refusal": "No."}, finish_reason="stop"), CallOutcome.REFUSED),
        (with_choice({"content": [{"type": "refusal", "refusal": "No."}]}), CallOutcome.REFUSED),
        (with_choice(finish_reason="content_filter"), CallOutcome.REFUSED),
        (with_choice(finish_reason="length"), CallOutcome.CUT),
        (with_choice({"content": None}, finish_reason="length"), CallOutcome.CUT),
        (with_choice({"content": "I cannot help, sor", "refusal": "No."}, finish_reason="length"), CallOutcome.REFUSED),
        (with_choice({"content": "I'm sorry, but I can't assist with that."}), CallOutcome.REFUSED),
        (with_choice({"content": ""}, finish_reason="stop"), CallOutcome.ANSWERED),
        (with_choice({"content": "Nothing of that."}), CallOutcome.ANSWERED),
    ],
)
def test_what_an_answer_counts_as(completion: Completion, found: CallOutcome) -> None:
    assert outcome(completion) == found


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I cannot provide a medical diagnosis.",
        "Sorry, I am unable to interpret radiographs.",
        "I can't assist with that request.",
        "As an AI language model, I cannot analyze medical images.",
        "**Unfortunately, I'm not able to safely interpret this image.**",
        "<think>Options A and B. The answer is B.</think>\n\nI cannot answer that.",
    ],
)
def test_a_refusal_in_words(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "B",
        "I cannot see a pneumothorax, so the answer is B.",
        "I can't interpret images, but from the text: Answer: C",
        "I cannot provide a diagnosis.\n\nC. Left lower lobe",
        "The patient says: I'm sorry, but I can't help with that.",
        "",
        "I will answer: none of these.",
    ],
)
def test_no_refusal(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize("count", [-1, 1.5, "7", True, None, 2**40])
def test_counts_that_are_none(count: Any) -> None:
    assert read({**LLAMA_CPP, "usage": {"prompt_tokens": count, "completion_tokens": 3}}).usage == Usage(None, None, 3)


@pytest.mark.parametrize("usage", [None, [], "many"])
def test_no_usage(usage: Any) -> None:
    assert read({**LLAMA_CPP, "usage": usage}).usage is None


def test_a_text_that_no_database_takes_is_made_storable() -> None:
    text = read_completion(b'{"choices": [{"message": {"content": "a\\u0000b\\ud800c \\ud83e\\ude7b"}}]}').text
    assert text == "a\ufffdb\ufffdc \U0001fa7b"
    text.encode()
