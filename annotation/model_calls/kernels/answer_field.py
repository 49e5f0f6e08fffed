"""The answer within a JSON object that a prompt asked for; any other text is the answer itself. Pure."""

from __future__ import annotations

import json

ANSWER_FIELD_RULE = "answer-field-1"  # change the version with the rule: stored attempts name it
ANSWER, EXPLANATIONS = "answer", ("explanation", "model_explanation")


def answer_in(text: str) -> str:
    """An explanation that comes before the answer may name other options: only the field is asked for the letter."""
    return _field(text, (ANSWER,)) or text


def explanation_in(text: str) -> str:
    """Empty where the text is no JSON object."""
    return _field(text, EXPLANATIONS)


def _field(text: str, names: tuple[str, ...]) -> str:
    if not text.lstrip().startswith("{"):
        return ""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), "")
