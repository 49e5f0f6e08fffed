"""The report of an analysis: a button makes it, the page says what it holds, a second button takes it."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.enums import JobState
from annotation.exports.report_files import WrittenFile, by_folder
from annotation.models import Job, User
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required
from readerstudy.models import Analysis, AnalysisReport
from readerstudy.report.report_job import (
    ask_for_report,
    newest_job,
    newest_report,
    path_of,
    take_report,
)
from readerstudy.study.locking import StudyRefused
from readerstudy.views.results.access import seen_analysis, seen_result


@dataclass(frozen=True)
class ReportState:
    """What templates/readerstudy/results/_report.html shows."""

    report: AnalysisReport | None  # the newest one
    is_there: bool  # its file
    folders: list[tuple[str, list[WrittenFile]]]  # by name
    under_way: Job | None
    failed: Job | None  # the last try, where it ended without a report


def report_state(analysis: Analysis) -> ReportState:
    report, job = newest_report(analysis), newest_job(analysis)
    is_after = job is not None and (report is None or job.created_at > report.made_at)
    return ReportState(
        report=report,
        is_there=report is not None and path_of(report).is_file(),
        folders=by_folder(WrittenFile(*one) for one in report.contents) if report else [],
        under_way=job if job and job.is_unfinished else None,
        failed=job if job and is_after and job.state == JobState.FAILED else None,
    )


@person_required
@never_cache
@require_safe
@vary_on_headers("HX-Request")
def study_report(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    seen = seen_result(request.user, slug, public_id)
    context = {**seen.context(), "state": report_state(seen.analysis)}
    is_part = asks_for_part(request)
    return render(request, f"readerstudy/results/{'_report' if is_part else 'report'}.html", context)


@person_required
@require_POST
def study_report_make(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    analysis = seen_analysis(request.user, slug, public_id)
    ask_for_report(analysis, actor=request.user, at=timezone.now())
    return redirect("study-report", slug, public_id)


@person_required
@never_cache
@require_POST
def study_report_file(
    request: AuthenticatedRequest, slug: str, public_id: str, report_id: str
) -> FileResponse | HttpResponse:
    """The ZIP file. A POST, since taking it is noted as a look at the results."""
    try:
        return report_file(request.user, slug, public_id, report_id)
    except StudyRefused as refusal:
        if refusal.code != "report_gone":
            raise
        messages.error(request, str(refusal))
        return redirect("study-report", slug, public_id)


def report_file(person: User, slug: str, public_id: str, report_id: str) -> FileResponse:
    """Refused as by ``take_report``."""
    analysis = seen_analysis(person, slug, public_id)
    reports = AnalysisReport.objects.select_related("analysis__study")
    report = get_object_or_404(reports, analysis=analysis, public_id=report_id)
    path = take_report(report, actor=person, at=timezone.now())
    name = f"{slug}-report-{report_id}.zip"
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/zip")
