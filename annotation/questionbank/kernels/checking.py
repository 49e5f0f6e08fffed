"""Checks that question fields and exam fields share; each problem is a tuple of field, code and sentence."""

from __future__ import annotations

import json
from typing import Any

from annotation.questionbank.kernels.records import MAX_DEPTH, MAX_NAME_CHARS, MAX_TEXT_CHARS, kind_of
from annotation.questionbank.kernels.strictjson import Fault

encode_json = json.JSONEncoder(
    check_circular=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
).encode


class FieldCheck:
    """Collects the problems of the fields that it is asked to read; a field keeps the first one found."""

    def __init__(self) -> None:
        self.problems: list[Fault] = []

    def refuse(self, name: str, code: str, message: str) -> None:
        if not any(problem.field == name for problem in self.problems):
            self.problems.append(Fault(name, code, message))

    def required_text(self, name: str, text: object, limit: int = MAX_TEXT_CHARS) -> str:
        """A text that must be there and not empty."""
        if type(text) is str and text and len(text) <= limit and not text.isspace():
            return text
        if text is None or text == "" or (isinstance(text, str) and text.isspace()):
            self.refuse(name, "completeness", f"{name!r} is empty.")
        elif isinstance(text, str):
            self.refuse(name, "too_long", f"{name!r} has {len(text):,} characters; at most {limit:,} are taken.")
        else:
            self.refuse(name, "data_type", f"{name!r} must be text, not {kind_of(text)}.")
        return ""

    def optional_text(self, name: str, text: object, limit: int = MAX_NAME_CHARS) -> str:
        """A text, or null where it is known to be absent."""
        if text is None:
            return ""
        if type(text) is str and len(text) <= limit:
            return text
        if isinstance(text, str):
            self.refuse(name, "too_long", f"{name!r} has {len(text):,} characters; at most {limit:,} are taken.")
        else:
            self.refuse(name, "data_type", f"{name!r} must be text or null, not {kind_of(text)}.")
        return ""

    def further_fields(self, members: dict[str, Any]) -> str:
        """JSON text of fields that are kept as they are; "" when one is nested too deeply."""
        for name, member in members.items():
            if type(member) in (list, dict) and is_deeper(member, MAX_DEPTH):
                self.refuse(name, "too_deep", f"{name!r} is nested more than {MAX_DEPTH} deep.")
        return "" if self.problems else encode_json(members)


def is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects in ``value`` are nested more than ``depth`` deep."""
    level = [value]
    while level and depth > 0:
        depth -= 1
        parts = [part.values() if type(part) is dict else part for part in level]
        level = [member for part in parts for member in part if type(member) in (list, dict)]
    return bool(level)
