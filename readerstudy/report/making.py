"""A report is asked for by a button, made as a job, and kept as a ZIP file beside the database."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import JobState
from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import Job, User
from readerstudy.analysis.seeing import see_analysis
from readerstudy.design.conflicts import note_study_keys
from readerstudy.models import Analysis, AnalysisReport
from readerstudy.report.kernels.zipping import zip_folder
from readerstudy.report.writing import Tell, WrittenFile, write_report
from readerstudy.study.locking import StudyRefused, lock_study


def make_report(analysis: Analysis, *, actor: User | None, at: datetime, tell: Tell | None = None) -> AnalysisReport:
    """Write, pack and store; nobody has seen a result by that. Made twice, the same bytes are stored once.

    Raises AnalysisStale.
    """
    with tempfile.TemporaryDirectory(dir=settings.TEMP_ROOT, prefix="report-") as place:
        folder, draft = Path(place) / "report", Path(place) / "report.zip"
        written = write_report(analysis, folder, tell)
        zip_folder(folder, draft, f"{analysis.study.slug}-report")
        return _store(analysis, draft, written, actor=actor, at=at)


@transaction.atomic
def _store(
    analysis: Analysis, draft: Path, written: Sequence[WrittenFile], *, actor: User | None, at: datetime
) -> AnalysisReport:
    lock_study(analysis.study)
    with draft.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    report, is_new = AnalysisReport.objects.get_or_create(
        analysis=analysis,
        sha256=sha256,
        defaults={
            "n_bytes": draft.stat().st_size,
            "contents": [[one.name, one.n_bytes, one.sha256, one.about] for one in written],
            "made_by": actor,
            "made_at": at,
        },
    )
    if is_new:
        facts = {"analysis": analysis.public_id, "report": report.public_id, "sha256": sha256, "n_files": len(written)}
        record("study.report_made", actor=actor, at=at, subject=analysis.study, facts=facts)
    path = path_of(report)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft.replace(path)
    return report


KIND = "make_report"
UNDER_WAY = (JobState.QUEUED, JobState.RUNNING)


def ask_for_report(analysis: Analysis, *, actor: User | None, at: datetime) -> Job:
    """One that waits or runs already is enough."""
    newest = newest_job(analysis)
    if newest is not None and newest.state in UNDER_WAY:
        return newest
    title = _("Report of %(study)s") % {"study": analysis.study.name[:150]}
    params = {"analysis": analysis.pk, "actor": actor.pk if actor else None}
    return enqueue(KIND, title, params, actor=actor, at=at)


def newest_job(analysis: Analysis) -> Job | None:
    return Job.objects.filter(kind=KIND, params__analysis=analysis.pk).order_by("-pk").first()


def run_report(progress: Progress, params: Params) -> Result:
    """The handler. Run twice it stores once; nobody sees a result by it."""
    from readerstudy.report.making import make_report  # draws with matplotlib, slow to load

    analysis = Analysis.objects.select_related("study__bank").get(pk=params["analysis"])
    actor = User.objects.filter(pk=params["actor"]).first()
    report = make_report(analysis, actor=actor, at=timezone.now(), tell=progress.report)
    return {
        "study": analysis.study.slug,
        "analysis": analysis.public_id,
        "report": report.public_id,
        "files": len(report.contents),
        "sha256": report.sha256,
    }


class ReportGone(StudyRefused):
    """The file is not there any more: it is made anew from its analysis and in no backup."""


def path_of(report: AnalysisReport) -> Path:
    return Path(settings.HOME) / "reports" / f"{report.public_id}.zip"


def newest_report(analysis: Analysis) -> AnalysisReport | None:
    return analysis.reports.select_related("made_by").first()


@transaction.atomic
def take_report(report: AnalysisReport, *, actor: User | None, at: datetime) -> Path:
    """Where the file lies. Whoever takes it can see results: that is noted, and unblinds the study.

    Raises ResultsHidden as see_analysis does, ReportGone.
    """
    path = path_of(report)
    if not path.is_file():
        raise ReportGone(_("The file of this report is not there any more: make it again."))
    see_analysis(report.analysis, actor=actor, at=at)
    note_study_keys(report.analysis.study, actor=actor, at=at)
    facts = {"analysis": report.analysis.public_id, "report": report.public_id, "sha256": report.sha256}
    record("study.report_taken", actor=actor, at=at, subject=report.analysis.study, facts=facts)
    return path
