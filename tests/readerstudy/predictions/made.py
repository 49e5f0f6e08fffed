"""Banks whose questions have keys at their source, and files of predictions for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from annotation.enums import IdentifierKind
from annotation.hashes import identifier_digest
from annotation.models import Question, QuestionBank, SourceIdentifier, User
from readerstudy.models import ModelEntry
from readerstudy.predictions.importing import PredictionsImported, SentFile, import_predictions
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import NOON
from tests.readerstudy.design.made import make_questions


def give_keys(bank: QuestionBank, **keys: int) -> None:
    """Name questions of the bank as their source does: ``give_keys(bank, Q1=1)``."""
    kind = IdentifierKind.QUESTION_KEY
    for key, number in keys.items():
        question = Question.objects.get(bank=bank, number=number)
        SourceIdentifier.objects.create(
            digest=identifier_digest(kind, key), kind=kind, value=key, bank=bank, question_id=question.pk
        )


def keyed_bank(n: int = 3, name: str = "Bank") -> QuestionBank:
    """A bank with the questions Q1, Q2, Q3."""
    bank = make_questions(n, name=name)
    give_keys(bank, **{f"Q{number}": number for number in range(1, n + 1)})
    return bank


def lines(*records: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(record) for record in records).encode()


def answers(**given: str) -> bytes:
    """A direct prompt log: ``answers(Q1="B")``."""
    return lines(*({"id": key, "pred_answer": answer} for key, answer in given.items()))


def entry_named(name: str = "Model", **fields: Any) -> ModelEntry:
    return ModelEntry.objects.create(name=name, created_at=NOON, **fields)


def import_file(
    entry: ModelEntry,
    target: Target,
    content: bytes,
    *,
    name: str = "file.jsonl",
    actor: User | None = None,
    at: datetime = NOON,
    **options: Any,
) -> PredictionsImported:
    dry_run = options.pop("dry_run", False)
    file = SentFile(name, content, **options)
    return import_predictions(entry, target, file, actor=actor, at=at, dry_run=dry_run)


def options_of(result: PredictionsImported) -> dict[str, str]:
    """The option of each id."""
    return {one.record.id: one.option for one in result.matching.answers}


def ids(records: Iterable[Any]) -> list[str]:
    return [record.id for record in records]
