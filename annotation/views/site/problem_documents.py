"""The one shape in which the API tells a program of a refusal: a problem document as RFC 9457 has it.

``type``, ``title``, ``status`` and ``detail``, the word of the refusal as ``code``, and ``errors`` where what was sent
is wrong: one entry for each field or row. The pages of readers have JSON of their own, see docs/reading.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse

CONTENT_TYPE = "application/problem+json"
ADDRESS = "/api/"
_PLAIN = (str, int, float, bool, type(None))


def is_for_api(request: HttpRequest) -> bool:
    """Whether a program asks, also where no view has been found yet."""
    return request.path_info.startswith(ADDRESS)


def problem_document(
    status: int,
    code: str,
    detail: str,
    *,
    errors: Sequence[Mapping[str, Any]] = (),
    facts: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """``facts``: what the refusal carries beside its sentence; what is no plain value is for pages, and left out."""
    document: dict[str, Any] = {
        "type": f"urn:rexvqa:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    if errors:
        document["errors"] = [dict(error) for error in errors]
    known = {name: value for name, value in (facts or {}).items() if isinstance(value, _PLAIN)}
    return document | ({"facts": known} if known else {})


def problem_answer(status: int, code: str, detail: str) -> JsonResponse:
    return JsonResponse(problem_document(status, code, detail), status=status, content_type=CONTENT_TYPE)
