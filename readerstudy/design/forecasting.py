"""The forecast of a study: from the cases and readers that it has, as pages show it and as the protocol keeps it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Count
from msgspec.structs import replace

from annotation.models import User
from readerstudy.design.drafting import update_analysis
from readerstudy.design.kernels.analysis_plan import read_analysis, readable_analysis
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.drawing import CellCount
from readerstudy.enums import Block
from readerstudy.models import ReaderStudy, StudyCase
from readerstudy.study.locking import lock_study

if TYPE_CHECKING:
    from readerstudy.design.kernels.forecast import Forecast


def forecast_of(study: ReaderStudy) -> Forecast | None:
    """For the cases that are stored and the readers that are planned. None for a plan that cannot be read."""
    from readerstudy.design.kernels.forecast import forecast  # loads numpy: not at every start

    plan = readable_analysis(study.analysis)
    if plan is None:
        return None
    sets: dict[int, list[int]] = {}
    through = StudyCase.sets.through.objects.filter(caseset__study=study, studycase__block=Block.MAIN)
    for number, case in through.order_by("caseset__number").values_list("caseset__number", "studycase__number"):
        sets.setdefault(number, []).append(case)
    first = study.cases.filter(block=Block.MAIN, sets__number=min(sets, default=0)).order_by()
    counts = first.values_list("revision__task").annotate(n=Count("pk"))
    cells = [CellCount(task, "", n, n) for task, n in counts]
    return forecast(cells, sets=list(sets.values()) or [[]], n_readers=study.n_readers, plan=plan)


def frozen_forecast_of(study: ReaderStudy) -> Forecast | None:
    """The same for a study that froze its forecast; None for one that was frozen before there was any."""
    return forecast_of(study) if "forecast" in json.loads(study.protocol or "{}") else None


def forecast_document(study: ReaderStudy, *, actor: User | None, at: datetime) -> dict[str, Any]:
    """What the protocol keeps: assumptions, who made them, what follows. Who freezes defaults has made them."""
    found = forecast_of(study)
    if found is None:
        return {}
    made_by, made_at = found.assumed.made_by, found.assumed.made_at
    are_defaults = read_analysis(study.analysis).assumptions is None
    assumed = replace(
        found.assumed, made_by=made_by or (str(actor) if actor else ""), made_at=made_at or at.isoformat()
    )
    return {"assumptions": assumed.as_json(), "are_defaults": are_defaults, **found.as_json()}


@transaction.atomic
def update_assumptions(study: ReaderStudy, assumed: Assumptions, *, actor: User | None, at: datetime) -> None:
    """Store what the forecast assumes, with who assumed it and when. Raises StudyRefused once the study is frozen."""
    lock_study(study)
    plan = read_analysis(study.analysis)
    before = plan.assumptions
    if before is not None and replace(assumed, made_by=before.made_by, made_at=before.made_at) == before:
        return
    made = replace(assumed, made_by=str(actor) if actor else "", made_at=at.isoformat())
    update_analysis(study, replace(plan, assumptions=made), actor=actor, at=at)
