"""One analysis of a study: gathered, computed and stored as one row that never changes; and looked at. What a job
computes of runs of models, once for the same inputs.

Who looks at an analysis sees results: after closing, or behind glass; the first look unblinds the study.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from django.core.cache import cache
from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation import VERSION
from annotation.audit.recording import record, record_once
from annotation.jobs.queueing import JobKind, enqueue
from annotation.models import Job, User
from readerstudy.design.kernels.documents import sha256_of
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.predictions.looks import GLASS_BROKEN, SHORTEST_REASON, may_see_results, unblind
from readerstudy.study.kernels.states import may_become
from readerstudy.study.permissions import StudyRefused, lock_study

if TYPE_CHECKING:
    from readerstudy.analysis.kernels.arrays import StudyArrays
    from readerstudy.analysis.kernels.scoring import Settings


def analyse_study(
    study: ReaderStudy, *, actor: User | None, at: datetime, settings: Settings | None = None
) -> Analysis:
    """Compute and store; nobody has seen a result by that. A closed study is analysed from then on.

    The same inputs, settings and software give the same bytes, and then the row that is there already. By the plan's
    settings it is the study's own analysis, whatever was asked for before, unless an input has changed meanwhile; by
    others a sensitivity analysis beside it.
    Raises StudyRefused for a draft and for a study without any reading.
    """
    from readerstudy.analysis.gathering import gathered
    from readerstudy.analysis.kernels.computing import compute

    if study.state == StudyState.DRAFT:
        raise StudyRefused("draft", _("The study is a draft: there is nothing to analyse."))
    plan = default_settings(study)
    chosen = (settings or plan).beside(plan)
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
    analysis = there or Analysis.objects.create(
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
    if not settings.differs and (study.own_analysis_id is None or inputs == inputs_now(study)):
        study.own_analysis = analysis
    if there is None:
        facts = {"analysis": analysis.public_id, "inputs_sha256": inputs, "result_sha256": hashed}
        record("study.analysed", actor=actor, at=at, subject=study, facts=facts)
        if may_become(study.state, StudyState.ANALYSED):
            study.state = StudyState.ANALYSED
    study.save(update_fields=["state", "own_analysis"])
    return analysis


def default_settings(study: ReaderStudy) -> Settings:
    """Those of its plan."""
    from readerstudy.analysis.kernels.scoring import Settings

    return Settings(seed=study.seed)


def settings_of(analysis: Analysis) -> Mapping[str, Any]:
    """As stored; those of an earlier rule, which named nothing, with what differs from those of the plan."""
    stored: Mapping[str, Any] = analysis.settings
    if "differs" in stored or "rule" not in analysis.software or not has_earlier_rule(analysis):
        return stored
    from readerstudy.analysis.kernels.scoring import read_settings

    return read_settings(stored).beside(default_settings(analysis.study)).as_json()


def check_readings(arrays: StudyArrays) -> None:
    """Raises StudyRefused where nobody answered anything."""
    if not arrays.raters:
        sentence = _("The study holds no readings and no predictions: there is nothing to analyse.")
        raise StudyRefused("no_answers", sentence)
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


# --- Who looks at an analysis sees results: after closing, or behind glass; the first -------------
A_DAY = 86_400  # seconds


def check_may_see(study: ReaderStudy, before_closing: str = "") -> bool:
    """True where the glass has to be broken.

    Refused (``results_hidden``) without a reason of SHORTEST_REASON characters, and for a draft.
    """
    if study.state == StudyState.DRAFT:
        raise StudyRefused("draft", _("The study is a draft: there is nothing to analyse."))
    if may_see_results(study):
        return False
    if len(" ".join(before_closing.split())) < SHORTEST_REASON:
        sentence = _(
            "Results are hidden until the study is closed. A look before that needs a reason of %(n)s characters."
        )
        raise StudyRefused("results_hidden", sentence % {"n": SHORTEST_REASON}, status=403)
    return True


@transaction.atomic
def see_analysis(analysis: Analysis, *, actor: User | None, at: datetime, before_closing: str = "") -> str:
    """The stored JSON. Refused as by ``check_may_see``; every look is in the audit log."""
    study = analysis.study
    breaks_glass = check_may_see(study, before_closing)
    facts = {"analysis": analysis.public_id, "result_sha256": analysis.result_sha256}
    unblind(study, actor=actor, at=at, because="analysis")
    if breaks_glass:
        reason = " ".join(before_closing.split())
        record(GLASS_BROKEN, actor=actor, at=at, subject=study, facts={"reason": reason, **facts})
    record("study.analysis_seen", actor=actor, at=at, subject=study, facts=facts)
    return analysis.result


def note_opened(analysis: Analysis, *, actor: User, at: datetime) -> None:
    """Somebody reads results that were looked at before: each person is noted once for each analysis."""
    known = f"analysis.opened:{analysis.pk}:{actor.pk}"
    if cache.get(known) is None:  # else a query for every page
        record_once("analysis.opened", actor=actor, at=at, subject=analysis)
        cache.set(known, True, A_DAY)


def inputs_now(study: ReaderStudy) -> str:
    """The hash of what an analysis would read now. All of it is read only where something was stored since it was."""
    from readerstudy.analysis.gathering import gathered, kept_inputs

    return kept_inputs(study) or gathered(study)[1]


def has_earlier_rule(analysis: Analysis) -> bool:
    """Whether this program would compute other numbers from the same inputs."""
    from readerstudy.analysis.kernels.computing import RULE  # loads numpy: not at every start

    return bool(analysis.software.get("rule") != RULE)


def is_stale(analysis: Analysis) -> bool:
    """True when an answer, a voiding, a prediction or a rater has changed since, or the rule of the program."""
    return has_earlier_rule(analysis) or inputs_now(analysis.study) != analysis.inputs_sha256


def stale_among(study: ReaderStudy, analyses: Sequence[Analysis]) -> set[int]:
    """The ids of the stale ones of a study; nothing is read where there is none."""
    if not analyses:
        return set()
    now = inputs_now(study)
    return {one.pk for one in analyses if has_earlier_rule(one) or one.inputs_sha256 != now}


# --- what a job computes of runs of models, once for the same inputs ------------------------------
class RepeatabilityParams(TypedDict):
    inputs: str
    bank: int
    study: int | None
    runs: list[str]


class VariantParams(TypedDict):
    inputs: str
    run: str


REPEATABILITY: JobKind[RepeatabilityParams] = JobKind("repeatability")  # its handler loads scipy, as that of variants
VARIANTS: JobKind[VariantParams] = JobKind("variant_tables")
Inputs = TypeVar("Inputs", RepeatabilityParams, VariantParams)


class Computed(Struct, frozen=True):
    """The state of a comparison of runs: ``result`` once it is computed, ``error`` where that failed."""

    result: dict[str, Any] | None = None
    error: str = ""


def computed_once(kind: JobKind[Inputs], title: str, params: Inputs, *, at: datetime) -> Computed:
    """What a job of this kind found for ``params["inputs"]``; the first who asks starts it."""
    job = Job.objects.filter(kind=kind, params__inputs=params["inputs"]).order_by("-pk").first()
    if job is None:
        enqueue(kind, title, params, actor=None, at=at)
    if job is None or job.is_unfinished:
        return Computed()
    return Computed(job.result, "" if job.result is not None else job.error or job.get_state_display())
