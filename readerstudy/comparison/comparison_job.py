"""Comparisons of models on banks: asked for as a job, since a page would wait too long; listed; taken as a file."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any, TypedDict, TypeVar, cast

import msgspec
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.exports.tables import Column, Format, Kind, write_table
from annotation.jobs.handlers import JobKind, Progress, Result
from annotation.jobs.queueing import enqueue, enqueue_once, job_under_way
from annotation.models import Job, QuestionBank, User
from readerstudy.comparison.kernels.comparison_tables import FILE_COLUMNS, StoredComparison, file_rows
from readerstudy.enums import EntryState
from readerstudy.models import ModelComparison, PredictionRun


class ComparisonParams(TypedDict):
    bank: int
    actor: int


class RepeatabilityParams(TypedDict):
    inputs: str
    bank: int
    study: int | None
    runs: list[str]


class VariantParams(TypedDict):
    inputs: str
    run: str


KIND: JobKind[ComparisonParams] = JobKind("compare_models")
REPEATABILITY: JobKind[RepeatabilityParams] = JobKind("repeatability")  # its handler loads scipy, as that of variants
VARIANTS: JobKind[VariantParams] = JobKind("variant_tables")
Inputs = TypeVar("Inputs", RepeatabilityParams, VariantParams)
NUMBERS = {  # columns of the file that hold no text
    **dict.fromkeys(("n", "run", "failed", "missing", "best_rank", "worst_rank"), Kind.WHOLE),
    **dict.fromkeys(("not_asked", "earlier_wording"), Kind.WHOLE),
    **dict.fromkeys(("accuracy", "low", "high"), Kind.REAL),
}


def ask_for_comparison(bank: QuestionBank, *, actor: User, at: datetime) -> Job:
    """One that waits or runs already is enough."""
    title = _("Comparison of models on %(bank)s") % {"bank": bank.name[:150]}
    return enqueue_once(KIND, title, ComparisonParams(bank=bank.pk, actor=actor.pk), about="bank", actor=actor, at=at)


def run_comparison(progress: Progress, params: ComparisonParams) -> Result:
    """The handler. Run twice it stores once."""
    from readerstudy.comparison.comparing_models import compare_models  # loads scipy

    bank = QuestionBank.objects.get(pk=params["bank"])
    progress.report(0, 1)
    actor = User.objects.filter(pk=params["actor"]).first()
    made = compare_models(bank, actor=actor, at=timezone.now())
    progress.report(1, 1)
    return {"bank": bank.slug, "comparison": made.public_id}


class Computed(msgspec.Struct, frozen=True):
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


def comparison_under_way(bank: QuestionBank) -> Job | None:
    return job_under_way(KIND, bank=bank.pk)


def banks_compared() -> QuerySet[QuestionBank]:
    """Banks for which a model has a main run."""
    runs = PredictionRun.objects.filter(study__isnull=True, is_named=True, entry__state=EntryState.LISTED)
    return QuestionBank.objects.filter(pk__in=runs.values("bank"))


def newest_comparison(bank: QuestionBank) -> ModelComparison | None:
    return ModelComparison.objects.filter(bank=bank).first()


def result_of(comparison: ModelComparison) -> StoredComparison:
    return cast("StoredComparison", msgspec.json.decode(comparison.result))


@transaction.atomic
def take_comparison(comparison: ModelComparison, *, actor: User, at: datetime) -> bytes:
    """The file for somebody who takes it away."""
    _note_taken(comparison, actor=actor, at=at)
    return comparison_file(result_of(comparison))


@transaction.atomic
def take_result(comparison: ModelComparison, *, actor: User, at: datetime) -> str:
    """The same as JSON, as it is stored."""
    _note_taken(comparison, actor=actor, at=at)
    return comparison.result


def _note_taken(comparison: ModelComparison, *, actor: User, at: datetime) -> None:
    facts = {"comparison": comparison.public_id, "result_sha256": comparison.result_sha256}
    record("bank.comparison_taken", actor=actor, at=at, subject=comparison.bank, facts=facts)


def comparison_file(result: StoredComparison) -> bytes:
    """As CSV; text that a spreadsheet could take for a formula is neutralised."""
    file = io.BytesIO()
    write_table(
        file, [Column(name, NUMBERS.get(name, Kind.TEXT), "") for name in FILE_COLUMNS], file_rows(result), Format.CSV
    )
    return file.getvalue()
