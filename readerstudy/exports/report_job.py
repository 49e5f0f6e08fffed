"""A report as a job, asked for by a button; and its ZIP file, which coordinators take."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TypedDict

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue_once
from annotation.models import Job, User
from annotation.site import home_files
from readerstudy.analysis.storing import see_analysis
from readerstudy.design.conflicts import note_study_keys
from readerstudy.models import Analysis, AnalysisReport
from readerstudy.study.permissions import StudyRefused


class ReportParams(TypedDict):
    analysis: int
    actor: int | None


KIND: JobKind[ReportParams] = JobKind("make_report")


def ask_for_report(analysis: Analysis, *, actor: User | None, at: datetime) -> Job:
    """One that waits or runs already is enough."""
    title = _("Report of %(study)s") % {"study": analysis.study.name[:150]}
    params = ReportParams(analysis=analysis.pk, actor=actor.pk if actor else None)
    return enqueue_once(KIND, title, params, about="analysis", actor=actor, at=at)


def newest_job(analysis: Analysis) -> Job | None:
    return Job.objects.filter(kind=KIND, params__analysis=analysis.pk).order_by("-pk").first()


def run_report(progress: Progress, params: ReportParams) -> Result:
    """The handler. Run twice it stores once; nobody sees a result by it."""
    from readerstudy.exports.report_writing import make_report  # draws with matplotlib, slow to load

    analysis = Analysis.objects.select_related("study__bank").get(pk=params["analysis"])
    actor = User.objects.filter(pk=params["actor"]).first() if params["actor"] else None
    report = make_report(analysis, actor=actor, at=timezone.now(), tell=progress.report)
    return {
        "study": analysis.study.slug,
        "analysis": analysis.public_id,
        "report": report.public_id,
        "files": len(report.contents),
        "sha256": report.sha256,
    }


def path_of(report: AnalysisReport) -> Path:
    return Path(settings.HOME) / "reports" / f"{report.public_id}.zip"


def newest_report(analysis: Analysis) -> AnalysisReport | None:
    return analysis.reports.select_related("made_by").first()


def take_report(report: AnalysisReport, *, actor: User | None, at: datetime) -> Path:
    """Where the file lies here. Whoever takes it can see results: that is noted, and unblinds the study.

    Refused as by see_analysis, and where the file is gone: it is made anew from its analysis and in no backup.
    """
    path = home_files.here(path_of(report))
    if not path.is_file():
        raise StudyRefused("report_gone", _("The file of this report is not there any more: make it again."))
    _note_taken(report, actor=actor, at=at)
    return path


@transaction.atomic
def _note_taken(report: AnalysisReport, *, actor: User | None, at: datetime) -> None:
    see_analysis(report.analysis, actor=actor, at=at)
    note_study_keys(report.analysis.study, actor=actor, at=at)
    facts = {"analysis": report.analysis.public_id, "report": report.public_id, "sha256": report.sha256}
    record("study.report_taken", actor=actor, at=at, subject=report.analysis.study, facts=facts)
