"""The report of a stored analysis as a folder, and packed. The same analysis of the same study gives the same bytes."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.exports.report_files import Tell, WrittenFile, write_contents, zip_folder
from annotation.models import User
from readerstudy.analysis.gathering import gather
from readerstudy.analysis.kernels.arrays import StudyArrays
from readerstudy.analysis.kernels.scoring import read_settings
from readerstudy.analysis.storing import has_earlier_rule
from readerstudy.exports.fact_finding import facts_of
from readerstudy.exports.report_contents import ReportSource, contents_of
from readerstudy.exports.report_job import path_of
from readerstudy.models import Analysis, AnalysisReport
from readerstudy.results.looking import stored_result
from readerstudy.study.locking import StudyRefused, lock_study


def fresh_inputs(analysis: Analysis) -> StudyArrays:
    """What the analysis was computed from. Refused where it is stale: data beside an analysis must be those that
    made it, and the script beside it must know its rule."""
    if has_earlier_rule(analysis):
        raise StudyRefused(
            "stale", _("The analysis is stale: it is by an earlier rule. Analyse again, then make the report.")
        )
    arrays = gather(analysis.study)
    if arrays.sha256() != analysis.inputs_sha256:
        raise StudyRefused(
            "stale", _("The analysis is stale: an input has changed. Analyse again, then make the report.")
        )
    return arrays


def write_report(analysis: Analysis, folder: Path, tell: Tell | None = None) -> list[WrittenFile]:
    """Write every file into ``folder``; files of the same name are replaced. Refused for a stale analysis."""
    arrays = fresh_inputs(analysis)
    folder.mkdir(exist_ok=True)
    with translation.override("en"):  # tables and captions say the same wherever they are made
        result = stored_result(analysis)
        settings = read_settings(analysis.settings)
        contents = contents_of(ReportSource(analysis, result, arrays, settings, facts_of(analysis, result)))
        return write_contents(folder, contents, tell)


def make_report(analysis: Analysis, *, actor: User | None, at: datetime, tell: Tell | None = None) -> AnalysisReport:
    """Write, pack and store; nobody has seen a result by that. Made twice, the same bytes are stored once.

    Refused for a stale analysis.
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
