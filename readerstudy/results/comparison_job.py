"""Comparisons of models on banks: asked for as a job, since a page would wait too long; listed; taken as a file."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any, TypedDict, cast

import msgspec
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.enums import Word
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue_once, job_under_way
from annotation.models import Job, QuestionBank, User
from annotation.statistics.kernels.catalogue import Scale
from annotation.statistics.kernels.estimate import CLUSTERS_IGNORED
from annotation.tables.kernels.printing import printed, tex
from annotation.tables.kernels.table import TEXT, WHOLE, Column, Counted, Name, Table, TableCell
from annotation.tables.writing import CONTENT_TYPES, Format, write_table
from readerstudy.analysis.kernels.panel_result import StoredComparison
from readerstudy.enums import EntryState
from readerstudy.models import ModelComparison, PredictionRun
from readerstudy.predictions.entries import benchmarked_banks, check_is_no_benchmark
from readerstudy.results.accuracy_tables import breakdown_table, domain_table
from readerstudy.results.kernels.comparison_tables import (
    FILE_COLUMNS,
    band_rows,
    category_table,
    file_rows,
)
from readerstudy.results.kernels.stored import task_label, without_flags
from readerstudy.results.wording import estimates, shown, table_of


class ComparisonParams(TypedDict):
    bank: int
    actor: int


KIND: JobKind[ComparisonParams] = JobKind("compare_models")


def ask_for_comparison(bank: QuestionBank, *, actor: User, at: datetime) -> Job:
    """One that waits or runs already is enough. Refused while a leaderboard asks the bank."""
    check_is_no_benchmark(bank)
    title = _("Comparison of models on %(bank)s") % {"bank": bank.name[:150]}
    return enqueue_once(KIND, title, ComparisonParams(bank=bank.pk, actor=actor.pk), about="bank", actor=actor, at=at)


def run_comparison(progress: Progress, params: ComparisonParams) -> Result:
    """The handler. Run twice it stores once."""
    from readerstudy.analysis.comparing_models import compare_models  # loads scipy

    bank = QuestionBank.objects.get(pk=params["bank"])
    progress.report(0, 1)
    made = compare_models(bank, actor=User.objects.filter(pk=params["actor"]).first(), at=timezone.now())
    progress.report(1, 1)
    return {"bank": bank.slug, "comparison": made.public_id}


def comparison_under_way(bank: QuestionBank) -> Job | None:
    return job_under_way(KIND, bank=bank.pk)


def banks_compared() -> QuerySet[QuestionBank]:
    """Banks for which a model has a main run, without those of benchmarks under way."""
    runs = PredictionRun.objects.filter(study__isnull=True, is_named=True, entry__state=EntryState.LISTED)
    return QuestionBank.objects.filter(pk__in=runs.values("bank")).exclude(pk__in=benchmarked_banks())


def newest_comparison(bank: QuestionBank) -> ModelComparison | None:
    return ModelComparison.objects.filter(bank=bank).first()


def result_of(comparison: ModelComparison) -> StoredComparison:
    return cast("StoredComparison", msgspec.json.decode(comparison.result))


class TableForm(Word):
    """In which files the tables of a comparison are taken."""

    CSV = "csv", "CSV"
    XLSX = "xlsx", "XLSX"
    DOCX = "docx", "DOCX"
    TEX = "tex", "LaTeX"


TABLE_TYPES = {
    TableForm.CSV: CONTENT_TYPES[Format.CSV],
    TableForm.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    TableForm.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    TableForm.TEX: "application/x-tex; charset=utf-8",
}


@transaction.atomic
def take_comparison(comparison: ModelComparison, form: TableForm, *, actor: User, at: datetime) -> bytes:
    """The file for somebody who takes it away: every number, or the tables for print."""
    _note_taken(comparison, actor=actor, at=at)
    result = result_of(comparison)
    if form is TableForm.CSV:
        return comparison_file(result)
    from annotation.tables.office import document_of, workbook_of  # loads two libraries

    if form is TableForm.XLSX:
        return workbook_of([Table("models", "", FILE_COLUMNS, list(file_rows(result)))])
    ending = f"Bank: {result['bank']}.{' Simulated data.' if result['simulated'] else ''}"
    with translation.override("en"):  # the same words whoever takes it
        found = [printed(table.name, [table], ending) for table in tables_of_bank(result)]
    if form is TableForm.DOCX:
        return document_of(found, f"Models on the bank {result['bank']}")
    return "\n".join(map(tex, found)).encode()


def tables_of_bank(result: StoredComparison) -> list[Table]:
    """Table 2 of the paper, its Table 3 where the bank has categories of it, and its Table 6."""
    found, whole = category_table(result), [one["accuracy"] for one in result["models"]]
    domains = domain_table(found, whole=whole)
    categories = breakdown_table(found, "categories", _("Category"), whole=whole)
    return [_models_table(result), *([domains] if domains else []), categories]


def _models_table(result: StoredComparison) -> Table:
    best = [one.name for one in band_rows(result) if one.best == one.worst == 1]
    rows: list[list[TableCell]] = []
    for model in result["models"]:
        clustered = model.get("accuracy_cluster")
        by_cluster = shown(clustered, Scale.SHARE) if clustered else None
        over = replace(shown(model["accuracy"], Scale.SHARE, clustered=by_cluster), is_best=model["name"] in best)
        mean = shown(without_flags(model["accuracy_task_mean"], {CLUSTERS_IGNORED}), Scale.SHARE)
        counts = {
            _("%(n)s for another wording"): model["n_elsewhere"],
            _("%(n)s not asked"): model.get("n_not_asked", 0),
            _("%(n)s of an earlier revision"): model.get("n_earlier", 0),
        }
        said = [_("run %(n)s") % {"n": model["number"]}, *(words % {"n": n} for words, n in counts.items() if n)]
        failed = Counted(model["n_failed"], model["accuracy"]["n"] - model["n_missing"])
        shares = [over, *(shown(one, Scale.SHARE) for one in model["tasks"]), mean]
        name = Name(model["name"], "; ".join(said), reverse("model", args=[model["model"]]))
        rows.append([name, *shares, failed, model["n_missing"]])
    columns = [
        *(Column(_("Model"), TEXT), estimates(_("Over questions"), result["n"])),
        *(estimates(_(task_label(one["task"])), one["n"]) for one in result["tasks"]),
        *(estimates(_("Mean of tasks"), result["n"]), Column(_("Failed"), WHOLE), Column(_("Missing"), WHOLE)),
    ]
    facts: dict[str, Any] = {"clustered": result["clustered"], "best": best, "several": len(result["models"]) > 1}
    return table_of("models", columns, rows, is_stacked=True, **facts)


@transaction.atomic
def take_result(comparison: ModelComparison, *, actor: User, at: datetime) -> str:
    """The same as JSON, as it is stored."""
    _note_taken(comparison, actor=actor, at=at)
    return comparison.result


def _note_taken(comparison: ModelComparison, *, actor: User, at: datetime) -> None:
    facts = {"comparison": comparison.public_id, "result_sha256": comparison.result_sha256}
    record("bank.comparison_taken", actor=actor, at=at, subject=comparison.bank, facts=facts)


def comparison_file(result: StoredComparison) -> bytes:
    """As CSV."""
    file = io.BytesIO()
    write_table(file, FILE_COLUMNS, file_rows(result), Format.CSV)
    return file.getvalue()
