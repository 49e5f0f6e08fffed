"""A report is made, packed and stored."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.models import Analysis, AnalysisReport
from readerstudy.report.kernels.zipping import zip_folder
from readerstudy.report.report_job import path_of
from readerstudy.report.writing import Tell, WrittenFile, write_report
from readerstudy.study.locking import lock_study


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
