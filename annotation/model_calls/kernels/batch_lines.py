"""Lines of the batch form of OpenAI, as ``vllm run-batch`` reads and writes them. Pure.

A request: ``{"custom_id", "method", "url", "body"}``. A response: ``{"id", "custom_id", "response": {"status_code",
"request_id", "body"}, "error"}``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import msgspec

from annotation.endpoints.kernels.model_requests import ModelRequest

MOST_REQUESTS = 50_000  # of one file
MOST_BYTES = 200_000_000
LONGEST_ANSWER = 4 * 1024 * 1024


@dataclass(frozen=True)
class ResponseLine:
    """``body`` as it is in the file; empty where the line reports an error instead."""

    row: int
    id: str
    status: int | None = None
    request_id: str = ""
    body: bytes = b""
    problem: str = ""


class _Response(msgspec.Struct):
    status_code: int = 0
    request_id: str = ""
    body: msgspec.Raw = msgspec.Raw(b"")


class _ResponseDocument(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_ResponseDocument)


def request_line(custom_id: str, request: ModelRequest) -> bytes:
    """The body is in it byte by byte, so that its SHA-256 is that of a request over the wire."""
    head = json.dumps({"custom_id": custom_id, "method": "POST", "url": f"/v1/{request.route}"}, separators=(",", ":"))
    return head[:-1].encode() + b',"body":' + request.body + b"}\n"


def read_line(row: int, line: bytes) -> ResponseLine | str:
    """A response, or what is wrong with the line."""
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return f"The line is no response in the batch form: {error}."
    if found.response is None or found.error is not None:
        problem = found.error.get("message", "") if isinstance(found.error, dict) else str(found.error or "")
        return ResponseLine(row, found.custom_id, problem=_one_line(problem or "no response"))
    body = bytes(found.response.body)
    if len(body) > LONGEST_ANSWER:
        return f"The answer has more than {LONGEST_ANSWER} bytes."
    if "\0" in body.decode("utf-8", "replace") or not _is_text(body):
        return "The answer is not UTF-8, or holds a NUL character."
    return ResponseLine(row, found.custom_id, found.response.status_code, found.response.request_id[:200], body)


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _one_line(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())[:200]
