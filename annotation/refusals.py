"""What an act says that cannot be done: one exception, with the sentence that the person reads. Pure.

Also the one shape in which the API tells a program of a refusal: a problem document as RFC 9457 has it. ``type``,
``title``, ``status`` and ``detail``, the word of the refusal as ``code``, and ``errors`` where what was sent is wrong:
one entry for each field or row. The pages of readers have JSON of their own, see docs/reading.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

CONTENT_TYPE = "application/problem+json"
NOTHING_HERE = "There is nothing at this address, or you have no access to it."  # the same for both
SECONDS_UNTIL_BACK = 2  # a database that is restarted
_PLAIN = (str, int, float, bool, type(None))


class Refused(Exception):
    """An act was refused, and nothing of it was stored.

    A room has one subclass. Whoever raises it writes the sentence, which pages, forms, commands and scripts show as it
    is. ``code`` is the word that scripts and tests know. ``status``: 409 where the state of things does not allow the
    act, 422 where what was sent is wrong, 403, 404 or 410 where the page itself is refused. ``field``: the field of a
    form, or the column of a file, that the sentence is about. ``facts`` go to a script beside the code.
    """

    def __init__(self, code: str, sentence: str = "", *, status: int = 409, field: str = "", **facts: Any) -> None:
        super().__init__(sentence or code)
        self.code = code
        self.sentence = sentence
        self.status = status
        self.field = field
        self.facts = facts


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
