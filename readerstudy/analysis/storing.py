"""Gather, compute, store: one analysis of a study, as one row that never changes."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from annotation import VERSION
from annotation.audit.recording import record
from annotation.models import User
from readerstudy.design.kernels.documents import sha256_of
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.study.kernels.states import may_become
from readerstudy.study.locking import StudyRefused, lock_study

if TYPE_CHECKING:
    from readerstudy.analysis.kernels.arrays import StudyArrays
    from readerstudy.analysis.kernels.scoring import Settings


def analyse_study(
    study: ReaderStudy, *, actor: User | None, at: datetime, settings: Settings | None = None
) -> Analysis:
    """Compute and store; nobody has seen a result by that. A closed study is analysed from then on.

    The same inputs, settings and software give the same bytes, and then the row that is there already. Raises
    StudyRefused for a draft and for a study without any reading.
    """
    from readerstudy.analysis.kernels.computing import compute
    from readerstudy.analysis.marking import gathered

    if study.state == StudyState.DRAFT:
        raise StudyRefused("draft", _("The study is a draft: there is nothing to analyse."))
    chosen = settings or default_settings(study)
    arrays, inputs = gathered(study)
    check_readings(arrays)
    software = software_versions()
    text = as_text({**compute(arrays, chosen), "inputs_sha256": inputs, "software": software})
    return _store(study, text, chosen, software, inputs, actor=actor, at=at)


@transaction.atomic
def _store(
    study: ReaderStudy,
    text: str,
    settings: Settings,
    software: dict[str, str],
    inputs: str,
    *,
    actor: User | None,
    at: datetime,
) -> Analysis:
    lock_study(study)
    hashed = sha256_of(text)
    there = Analysis.objects.filter(study=study, result_sha256=hashed).first()
    if there is not None:
        return there
    analysis = Analysis.objects.create(
        study=study,
        inputs_sha256=inputs,
        seed=settings.seed,
        settings=settings.as_json(),
        software=software,
        result=text,
        result_sha256=hashed,
        created_by=actor,
        created_at=at,
    )
    facts = {"analysis": analysis.public_id, "inputs_sha256": inputs, "result_sha256": hashed}
    record("study.analysed", actor=actor, at=at, subject=study, facts=facts)
    if may_become(study.state, StudyState.ANALYSED):
        study.state = StudyState.ANALYSED
        study.save(update_fields=["state"])
    return analysis


def default_settings(study: ReaderStudy, draws: int | None = None) -> Settings:
    from annotation.statistics.kernels.bootstrap import DRAWS
    from readerstudy.analysis.kernels.scoring import Settings

    return Settings(seed=study.seed, draws=draws or DRAWS)


def check_readings(arrays: StudyArrays) -> None:
    """Raises StudyRefused where nobody answered anything."""
    if not arrays.raters:
        raise StudyRefused(
            "no_answers", _("The study holds no readings and no predictions: there is nothing to analyse.")
        )
    if not len(arrays.questions):
        raise StudyRefused("no_cases", _("The study holds no cases."))


def software_versions() -> dict[str, str]:
    from readerstudy.analysis.kernels.computing import RULE

    return {
        "program": VERSION,
        "rule": RULE,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
    }


def as_text(result: Mapping[str, object]) -> str:
    """JSON without spaces, its names in the order in which they were computed."""
    return json.dumps(result, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
