"""Drafts of benchmarks, and questions that nearly stand in a public bank."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from annotation.enums import FindingPlace, ImageState
from annotation.models import BankImport, Finding, Image, QuestionBank
from annotation.quality.kernels.rules import PUBLIC_TWIN
from readerstudy.leaderboard.benchmarks import BenchmarkWanted, create_benchmark
from readerstudy.models import Benchmark
from tests.readerstudy.design.made import make_questions, revision_of

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
DATES = (date(2027, 3, 1), date(2027, 9, 1))


def wanted(bank: QuestionBank, **fields: object) -> BenchmarkWanted:
    named = {"name": "Private test", "bank": bank, "contact": "board@example.org", "editions": DATES}
    return BenchmarkWanted(**{**named, **fields})  # type: ignore[arg-type]


def make_whole(n: int = 8, **fields: Any) -> QuestionBank:
    """Questions with all of their images, of which no pixels are stored."""
    bank = make_questions(n, pixels=False, **fields)
    Image.objects.filter(exam__bank=bank).update(state=ImageState.AVAILABLE)
    return bank


def make_draft(bank: QuestionBank | None = None, **fields: object) -> Benchmark:
    bank = bank or make_whole()
    return create_benchmark(wanted(bank, **fields), actor=None, at=NOW)


def make_public(bank: QuestionBank, *numbers: int, compared_at: datetime | None = None) -> QuestionBank:
    """A public bank with which ``bank`` was compared: these of its questions nearly stand there."""
    public = make_questions(2, name="Public", pixels=False)
    QuestionBank.objects.filter(pk=public.pk).update(is_public=True)
    BankImport.objects.filter(bank__in=(bank, public)).update(finished_at=NOW - timedelta(days=2))
    Finding.objects.bulk_create(
        Finding(
            bank=bank,
            revision=revision_of(bank, number),
            rule=PUBLIC_TWIN,
            rule_version=1,
            place=FindingPlace.QUESTION,
            detail=f"like question 1 of Public ({number})",
            other=revision_of(public, 1),
            found_at=NOW,
        )
        for number in numbers
    )
    bank.twins_sought_at = compared_at or NOW - timedelta(days=1)
    bank.save(update_fields=["twins_sought_at"])
    return public
