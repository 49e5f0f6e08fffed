"""Where a question that a model wrote comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from annotation.enums import ImportKind
from annotation.generation.kernels.answer_forms import HISTORY
from annotation.models import AnswerKey, Revision
from annotation.questionbank.kernels.records import parsed


def history_of_generated(revision: Revision) -> dict[str, Any] | None:
    """Report, findings, prompts, model and calls as the importer stored them; None for any other question.

    The caller has seen to it that the person may read the key.
    """
    kept = AnswerKey.objects.filter(pk=revision.pk).values_list("extra", flat=True).first()
    found: dict[str, Any] | None = parsed(kept or "{}").get("fields", {}).get(HISTORY)
    return found


class GroundedOption(Struct, frozen=True):
    """An option as it was generated, with the findings that support it: quote, statement, polarity."""

    letter: str
    text: str
    bullets: list[dict[str, Any]]
    is_key: bool


class QuestionOrigin(Struct, frozen=True):
    """Where a question came from. ``calls``: as ``show_call`` names them."""

    run: str
    model: str
    endpoint: str
    prompts: list[str]
    calls: list[str]
    rules: list[str]
    options: list[GroundedOption]


def origin_of(revisions: Sequence[Revision]) -> QuestionOrigin | None:
    """Of the newest of these wordings that came in as generated; None for a question that nobody generated.

    ``revisions``: with their imports, newest first. The caller has seen to it that the person may read the key.
    """
    brought = next((one for one in revisions if one.bank_import.kind == ImportKind.GENERATED), None)
    history = history_of_generated(brought) if brought is not None else None
    if brought is None or history is None:
        return None
    key = AnswerKey.objects.filter(pk=brought.pk).values_list("key", flat=True).get()
    by_number = {one["number"]: one for one in history["bullets"]}
    options = [
        GroundedOption(letter, text, [by_number[number] for number in numbers], letter == key)
        for letter, text, numbers in zip("ABCD", brought.options, history["options"], strict=True)
    ]
    prompts = [one["name"] for one in history["prompts"]]
    return QuestionOrigin(
        *(history["run"], history["model"], history["endpoint"], prompts, history["calls"], history["rules"], options)
    )
