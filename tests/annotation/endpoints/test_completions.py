"""Answers as different servers give them, and what each counts as.

The bytes of a request can be made again from what it is made of.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.call_enums import CallOutcome, Ending
from annotation.endpoints.kernels.completions import (
    ChatSettings,
    Completion,
    Message,
    ModelRequest,
    Usage,
    chat_request,
    embeddings_request,
    is_refusal,
    outcome_of,
    read_completion,
)
from annotation.model_calls.kernels.extraction import extract

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
    "choices": [{"message": {"content": [{"type": "text", "text": one} for one in "B."]}, "finish_reason": "stop"}],
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
        *(b"", b"{", b"\xff", b"[]", b"null", b"3", b"{}", b'{"choices": []}', b'{"choices": {}}'),
        *(b'{"choices": [null]}', b'{"error": {"message": "overloaded"}}', b"[" * 100_000),
    ],
)
def test_no_answer_is_not_asked(body: bytes) -> None:
    completion = read_completion(body)
    assert not completion.has_choice
    assert outcome(completion) == CallOutcome.NOT_ASKED


def test_a_failed_exchange_is_not_asked_whatever_its_body_says() -> None:
    for ending in set(Ending) - {Ending.ANSWERED}:
        assert outcome_of(ending, read(VLLM)) == CallOutcome.NOT_ASKED, ending


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
        (with_choice({"content": ""}, finish_reason="stop"), CallOutcome.BROKEN),
        (with_choice(finish_reason="error"), CallOutcome.BROKEN),
        (read({"choices": [{"message": "B"}]}), CallOutcome.BROKEN),
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
        "<unused94>thought\nThe answer is B.<unused95>I can't see any image.",
        *("I don't see any image.", "There is no image attached.", "I do not have the ability to view images."),
        *(
            "Lo siento, no puedo ayudar.",
            "Je suis désolé, mais je ne peux pas.",
            "Ich kann leider keine Diagnose stellen.",
        ),
        *("抱歉，我无法查看图像。", "申し訳ありませんが、できません。", "죄송합니다."),
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
        "Lo siento, pero la respuesta es B",
    ],
)
def test_no_refusal(text: str) -> None:
    assert not is_refusal(text)


def test_counts_that_are_none_and_no_usage() -> None:
    for count in (-1, 1.5, "7", True, None, 2**40):
        usage = read({**LLAMA_CPP, "usage": {"prompt_tokens": count, "completion_tokens": 3}}).usage
        assert usage == Usage(None, None, 3), count
    for no_usage in (None, ["none"], "many"):
        assert read({**LLAMA_CPP, "usage": no_usage}).usage is None


def test_a_text_that_no_database_takes_is_made_storable() -> None:
    text = read_completion(b'{"choices": [{"message": {"content": "a\\u0000b\\ud800c \\ud83e\\ude7b"}}]}').text
    assert text == "a\ufffdb\ufffdc \U0001fa7b"
    text.encode()


# --- what servers send: each file of the cases is a reply of one of them, by name ---
def test_a_broken_reply_is_never_a_wrong_answer(shared_data: Path) -> None:
    rows = [json.loads(line) for line in (shared_data.parent / "cases/server/answers.jsonl").open()]
    found = {one["name"]: _outcome_of(one) for one in rows if isinstance(one["answer"], dict)}
    names = {
        CallOutcome.REFUSED: ("refusal_field", "content_filter", "azure_filter_400"),
        CallOutcome.CUT: ("length_letter", "content_null_reasoning_field"),
        CallOutcome.NOT_ASKED: (
            *("choices_empty", "error_200", "loading_503", "mmproj_500", "rate_429_date", "quota_429"),
        ),
        CallOutcome.REJECTED: ("error_object_vllm", "one_image_400", "ctx_400"),
        CallOutcome.BROKEN: ("content_null_reasoning", "tool_call", "content_empty_stop", "text_completion"),
    }
    expected = {name: outcome for outcome, of_it in names.items() for name in of_it}
    assert {name: one for name, one in found.items() if one != expected.get(name, CallOutcome.ANSWERED)} == {}
    texts = {one["name"]: read(one["answer"]).text for one in rows if found.get(one["name"]) == CallOutcome.ANSWERED}
    options = ("Effusion", "Pneumothorax", "Heart", "None")
    assert {name for name, text in texts.items() if extract(text, options) != "B"} == {"json_answer_index"}


def _outcome_of(one: dict[str, Any]) -> CallOutcome:
    ending = Ending.ANSWERED if one["status"] == 200 else Ending.HTTP_ERROR
    return outcome_of(ending, read(one["answer"]), one["status"])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"content": None, "reasoning_content": "The answer is B."}, "reasoning parser"),
        ({"content": [{"type": "thinking", "thinking": []}]}, "reasoning parser"),
        ({"content": None, "tool_calls": [{"id": "1"}]}, "tool choice"),
        ({"content": " "}, "chat template"),
    ],
)
def test_a_broken_answer_says_which_setting_does_it(message: dict[str, Any], words: str) -> None:
    trouble = with_choice(message).trouble
    assert trouble
    assert words in trouble.label


def test_thoughts_in_parts_are_no_part_of_the_answer_and_of_several_choices_the_first_by_its_number_counts() -> None:
    parts = [{"type": "reasoning", "text": "The answer is A?"}, {"type": "text", "text": "B"}]
    assert with_choice({"content": parts}).text == "B"
    choices = [{"index": number, "message": {"content": text}} for number, text in ((1, "C"), (0, "B"))]
    assert read({"choices": choices}).text == "B"


def test_an_error_is_told_in_one_line() -> None:
    assert read({"error": {"code": 400, "message": "too\nlong"}}).error == "400: too long"
    assert read({"object": "error", "message": "At most 1 image", "code": 400}).error == "400: At most 1 image"
    assert (read({"error": "no such model"}).error, read(VLLM).error) == ("no such model", "")
    of_transformers = {"detail": "Server is pinned to 'a'; requested 'b'."}  # "transformers serve" 5.24.0, status 400
    assert read(of_transformers).error == "Server is pinned to 'a'; requested 'b'."


SCHEMA = '{"type": "object", "properties": {"reason": {"type": "string"}, "answer": {"enum": ["A", "B"]}}}'


def request() -> ModelRequest:
    messages = [Message("system", ("Be brief.",)), Message("user", (b"one", "é {{options}}", b"two"))]
    return chat_request("m", messages, ChatSettings(temperature=0, seed=7, max_tokens=300, schema=SCHEMA))


def test_the_exact_bytes() -> None:
    """Held here word by word: a change of them would leave stored requests without a way back."""
    one, two = (base64.b64encode(picture).decode() for picture in (b"one", b"two"))
    expected = (
        '{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":['
        f'{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{one}"}}}},'
        '{"type":"text","text":"\\u00e9 {{options}}"},'
        f'{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{two}"}}}}]}}],'
        '"temperature":0,"seed":7,"max_tokens":300,"response_format":{"type":"json_schema","json_schema":'
        '{"name":"answer","strict":true,"schema":{"type":"object","properties":{"reason":{"type":"string"},'
        '"answer":{"enum":["A","B"]}}}}}}'
    ).encode()
    assert request().body == expected
    assert request().sha256 == hashlib.sha256(expected).hexdigest()


def test_what_is_not_set_is_not_sent() -> None:
    body = json.loads(chat_request("m", [Message("user", ("Q",))], ChatSettings()).body)
    assert body == {"model": "m", "messages": [{"role": "user", "content": "Q"}]}
    assert embeddings_request("e", ["a", "b"]).body == b'{"model":"e","input":["a","b"]}'


def test_what_is_no_json_is_not_made() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        chat_request("m", [], ChatSettings(schema="{"))
    with pytest.raises(ValueError, match="Out of range"):
        chat_request("m", [], ChatSettings(temperature=float("nan")))
