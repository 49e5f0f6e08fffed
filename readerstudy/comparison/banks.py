"""The banks on which models are compared, the newest comparison of each, and the same as a file."""

from __future__ import annotations

import io
from typing import Any

import msgspec
from django.db.models import QuerySet

from annotation.exports.tables import Column, Format, Kind, write_table
from annotation.models import QuestionBank
from readerstudy.comparison.kernels.comparison_tables import FILE_COLUMNS, file_rows
from readerstudy.enums import EntryState
from readerstudy.models import ModelComparison, PredictionRun

NUMBERS = {"n": Kind.WHOLE, "run": Kind.WHOLE, "failed": Kind.WHOLE, "missing": Kind.WHOLE}
NUMBERS |= {"accuracy": Kind.REAL, "low": Kind.REAL, "high": Kind.REAL}
NUMBERS |= {"best_rank": Kind.WHOLE, "worst_rank": Kind.WHOLE}


def banks_compared() -> QuerySet[QuestionBank]:
    """Banks for which a model has a named run."""
    runs = PredictionRun.objects.filter(study__isnull=True, is_named=True, entry__state=EntryState.LISTED)
    return QuestionBank.objects.filter(pk__in=runs.values("bank"))


def newest_comparison(bank: QuestionBank) -> ModelComparison | None:
    return ModelComparison.objects.filter(bank=bank).first()


def result_of(comparison: ModelComparison) -> dict[str, Any]:
    """The stored result."""
    result: dict[str, Any] = msgspec.json.decode(comparison.result)
    return result


def comparison_file(result: dict[str, Any]) -> bytes:
    """As CSV; text that a spreadsheet could take for a formula is neutralised."""
    file = io.BytesIO()
    write_table(
        file, [Column(name, NUMBERS.get(name, Kind.TEXT), "") for name in FILE_COLUMNS], file_rows(result), Format.CSV
    )
    return file.getvalue()
