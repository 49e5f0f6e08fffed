"""The analysis that the results pages show: the newest one, or the one that an address names."""

from __future__ import annotations

from typing import Any

import msgspec

from readerstudy.analysis.seeing import may_see_results
from readerstudy.models import Analysis, ReaderStudy


def newest_analysis(study: ReaderStudy) -> Analysis | None:
    return study.analyses.select_related("study").first()


def is_seen(study: ReaderStudy) -> bool:
    """Whether pages show results by a plain link: they may be seen, and somebody has unblinded the study before."""
    return study.unblinded_at is not None and may_see_results(study)


def stored_result(analysis: Analysis) -> dict[str, Any]:
    result: dict[str, Any] = msgspec.json.decode(analysis.result)
    return result
