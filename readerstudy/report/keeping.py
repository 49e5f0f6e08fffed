"""A report as a ZIP file of its own: kept beside the database, taken by coordinators."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.analysis.seeing import see_analysis
from readerstudy.design.vetoing import note_study_keys
from readerstudy.models import Analysis, AnalysisReport
from readerstudy.study.locking import StudyRefused


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
