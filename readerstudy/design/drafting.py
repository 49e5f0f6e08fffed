"""What a coordinator changes in a draft, one act for each page of the designer; and its forecast, from the cases and
readers that it has, as pages show it and as the protocol keeps it. A frozen study refuses every change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.models import User
from annotation.site.sorted_tables import OneAtATime, lock
from annotation.statistics.kernels.sampling import SEED_MAX
from readerstudy.design.kernels.analysis_plan import AnalysisPlan, proposed_inference, read_analysis, readable_analysis
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.documents import Rules
from readerstudy.design.kernels.drawing import CellCount
from readerstudy.enums import Aid, Block, Information
from readerstudy.models import Arm, ReaderStudy, StudyCase
from readerstudy.study.permissions import StudyRefused, check_draft, lock_study

if TYPE_CHECKING:
    from readerstudy.design.kernels.forecast import Forecast


TEXTS = ("name", "instructions", "consent", "contact", "deadline_at", "time_zone")


@transaction.atomic
def update_rules(study: ReaderStudy, rules: Rules, *, actor: User | None, at: datetime) -> None:
    _change(study, {"rules": rules.as_json()}, "rules", actor=actor, at=at)


@transaction.atomic
def update_analysis(study: ReaderStudy, analysis: AnalysisPlan, *, actor: User | None, at: datetime) -> None:
    _change(study, {"analysis": analysis.as_json()}, "analysis plan", actor=actor, at=at)


@transaction.atomic
def update_readers(study: ReaderStudy, *, n_readers: int, n_orders: int = 0, actor: User | None, at: datetime) -> None:
    """How many readers are invited, and how many orders are drawn for each set (0: twice the readers).

    A plan that names the inference proposed for the readers so far goes on to name the one that is proposed.
    """
    if not 1 <= n_readers <= 500 or not 0 <= n_orders <= 2000:
        raise StudyRefused("out_of_range", _("A study has 1 to 500 readers and at most 2000 orders."))
    values: dict[str, Any] = {"n_readers": n_readers, "n_orders": n_orders}
    if study.analysis.get("inference") == proposed_inference(study.n_readers):
        values["analysis"] = study.analysis | {"inference": proposed_inference(n_readers)}
    _change(study, values, "readers", actor=actor, at=at)


@transaction.atomic
def update_seed(study: ReaderStudy, seed: int, *, actor: User | None, at: datetime) -> None:
    """The seed of the orders, and of the next draw of cases."""
    if not 0 <= seed <= SEED_MAX:
        raise StudyRefused("out_of_range", _("The seed must be a whole number from 0 to %(max)s.") % {"max": SEED_MAX})
    _change(study, {"seed": seed}, "seed", actor=actor, at=at)


@transaction.atomic
def update_texts(study: ReaderStudy, texts: Mapping[str, Any], *, actor: User | None, at: datetime) -> None:
    """Name, instructions, consent, contact, deadline and its time zone: those that are given."""
    values = {name: value.strip() if isinstance(value, str) else value for name, value in texts.items()}
    if unknown := set(values) - set(TEXTS):
        raise ValueError(f"no texts of a study: {sorted(unknown)}")
    if values.get("name", study.name) != study.name:
        values["name"] = check_name(values["name"])
    check_contact(values.get("contact", ""))
    if values.get("consent", study.consent) != study.consent:
        values["consent_version"] = study.consent_version + (1 if study.consent else 0)
    _change(study, values, "texts", actor=actor, at=at)


@transaction.atomic
def update_arm(
    study: ReaderStudy, *, information: Information, aid: Aid = Aid.NONE, actor: User | None, at: datetime
) -> None:
    """What the one arm of a study shows."""
    lock_study(study)
    check_draft(study)
    Arm.objects.update_or_create(study=study, number=1, defaults={"information": information, "aid": aid})
    facts = {"information": information, "aid": aid}
    record("study.arm_changed", actor=actor, at=at, subject=study, facts=facts)


def _change(study: ReaderStudy, values: Mapping[str, Any], what: str, *, actor: User | None, at: datetime) -> None:
    lock_study(study)
    check_draft(study)
    changed = [name for name, value in values.items() if getattr(study, name) != value]
    if not changed:
        return
    for name in changed:
        setattr(study, name, values[name])
    study.save(update_fields=changed)
    record("study.changed", actor=actor, at=at, subject=study, facts={"what": what, "fields": sorted(changed)})


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


def check_name(name: str) -> str:
    """The name as it is stored. Raises StudyRefused."""
    name = name.strip()
    if not name:
        raise StudyRefused("no_name", _("Give the study a name."))
    if len(name) > 200:
        raise StudyRefused("too_long", _("The name is longer than 200 characters."))
    lock(OneAtATime.NAME)  # who clicks twice finds the name taken
    if ReaderStudy.objects.filter(name=name).exists():
        sentence = _("A study named “%(name)s” exists already: give this one another name.") % {"name": name}
        raise StudyRefused("name_taken", sentence)
    return name


def check_contact(contact: str) -> str:
    """Raises StudyRefused for one that does not fit."""
    if len(contact) > 200:
        raise StudyRefused("too_long", _("The contact is longer than 200 characters."))
    return contact


# --- The forecast of a study: from the cases and readers that it has, as pages show it ------------
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
