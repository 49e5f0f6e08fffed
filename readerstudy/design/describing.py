"""The page of rules: how cases are read, what readers are told, how the study is analysed; stored together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.models import User
from readerstudy.design.drafting import update_analysis, update_rules, update_texts
from readerstudy.design.kernels.rules import AnalysisPlan, Rules
from readerstudy.models import ReaderStudy


@transaction.atomic
def describe_study(
    study: ReaderStudy,
    *,
    rules: Rules,
    analysis: AnalysisPlan,
    texts: Mapping[str, Any],
    actor: User | None,
    at: datetime,
) -> None:
    """All three or nothing. Raises StudyRefused once the study is frozen."""
    update_rules(study, rules, actor=actor, at=at)
    update_analysis(study, analysis, actor=actor, at=at)
    update_texts(study, texts, actor=actor, at=at)
