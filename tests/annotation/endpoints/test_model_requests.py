"""The bytes of a request can be made again from what it is made of."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from annotation.endpoints.kernels.completions import (
    ChatSettings,
    Message,
    ModelRequest,
    chat_request,
    embeddings_request,
)

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


def test_the_other_route() -> None:
    assert embeddings_request("e", ["a", "b"]).body == b'{"model":"e","input":["a","b"]}'


def test_what_is_no_json_is_not_made() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        chat_request("m", [], ChatSettings(schema="{"))
    with pytest.raises(ValueError, match="Out of range"):
        chat_request("m", [], ChatSettings(temperature=float("nan")))
