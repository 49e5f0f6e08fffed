"""Banks whose questions are a benchmark under way: how models do on them is told by its editions alone."""

from __future__ import annotations

from django.db.models import QuerySet

from readerstudy.enums import BenchmarkState
from readerstudy.models import Benchmark


def benchmarked_banks() -> QuerySet[Benchmark, int]:
    """Their ids, for a lookup."""
    return Benchmark.objects.filter(state=BenchmarkState.FROZEN).order_by().values_list("bank", flat=True)


def is_benchmarked(bank_id: int) -> bool:
    return benchmarked_banks().filter(bank=bank_id).exists()
