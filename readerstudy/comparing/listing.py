"""Which comparison a person meets: on which banks, and of which models."""

from __future__ import annotations

import io
from typing import Any

import msgspec
from django.db.models import QuerySet

from annotation.exports.tables import Column, Format, Kind, write_table
from annotation.models import QuestionBank, User
from annotation.permissions import is_administrator, is_coordinator
from readerstudy.comparing.showing import own_only
from readerstudy.comparing.tables import FILE_COLUMNS, file_rows
from readerstudy.enums import EntryState
from readerstudy.models import ModelComparison
from readerstudy.predictions.listing import runs_known_to

NUMBERS = {"n": Kind.WHOLE, "run": Kind.WHOLE, "failed": Kind.WHOLE, "missing": Kind.WHOLE}
NUMBERS |= {"accuracy": Kind.REAL, "low": Kind.REAL, "high": Kind.REAL}
NUMBERS |= {"best_rank": Kind.WHOLE, "worst_rank": Kind.WHOLE}


def banks_compared(person: User) -> QuerySet[QuestionBank]:
    """Banks for which a model that the person knows has a named run."""
    runs = runs_known_to(person).filter(study__isnull=True, is_named=True, entry__state=EntryState.LISTED)
    return QuestionBank.objects.filter(pk__in=runs.values("bank"))


def sees_all_models(person: User) -> bool:
    return is_coordinator(person) or is_administrator(person)


def newest_comparison(bank: QuestionBank) -> ModelComparison | None:
    return ModelComparison.objects.filter(bank=bank).first()


def comparison_for(person: User, comparison: ModelComparison) -> dict[str, Any]:
    """The stored result; to others than coordinators and administrators only what it says of their own models."""
    result: dict[str, Any] = msgspec.json.decode(comparison.result)
    if sees_all_models(person):
        return result
    own = runs_known_to(person).filter(study__isnull=True, bank=comparison.bank_id)
    return own_only(result, set(own.values_list("entry__public_id", flat=True)))


def comparison_file(result: dict[str, Any]) -> bytes:
    """As CSV; text that a spreadsheet could take for a formula is neutralised."""
    file = io.BytesIO()
    write_table(
        file, [Column(name, NUMBERS.get(name, Kind.TEXT), "") for name in FILE_COLUMNS], file_rows(result), Format.CSV
    )
    return file.getvalue()
