"""The report of a round: a button makes it, the page says what it holds, a second button takes it.

Reviews made elsewhere, as a file into an open round: checked, then imported; all rows or none.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from msgspec import Struct

from annotation.acts.rounds import coordinated_round
from annotation.enums import FINAL_STATES, JobState
from annotation.exports.report_files import WrittenFile, by_folder
from annotation.exports.review_import import ReviewsImported, import_reviews
from annotation.exports.review_report_job import (
    KeptReport,
    ask_for_review_report,
    kept_report,
    newest_report_job,
    take_review_report,
)
from annotation.exports.tables import ExportRefused
from annotation.forms.reviews import ReviewFileForm
from annotation.models import Job, ReviewRound
from annotation.review.outcomes import newest_reviews
from annotation.views.review.rounds import check_not_blinded, seen_round
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required


class RoundReportState(Struct, frozen=True):
    """What templates/annotation/rounds/_report.html shows."""

    kept: KeptReport | None
    folders: list[tuple[str, list[WrittenFile]]]  # by name
    has_changed: bool  # the round, since then
    under_way: Job | None
    failed: Job | None  # the last try, where it ended without a report
    has_reviews: bool


def report_state(review_round: ReviewRound) -> RoundReportState:
    from annotation.exports.review_report import state_of_report  # loads numpy: not at every start

    kept, job = kept_report(review_round), newest_report_job(review_round)
    under_way = job if job and job.is_unfinished else None
    return RoundReportState(
        kept=kept,
        folders=by_folder(kept.report.files) if kept else [],
        has_changed=bool(kept and not under_way and kept.state != state_of_report(review_round)),
        under_way=under_way,
        failed=job if job and job.state == JobState.FAILED else None,
        has_reviews=kept is not None or newest_reviews(review_round).exists(),
    )


@person_required
@never_cache
@require_safe
@vary_on_headers("HX-Request")
def round_report(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    review_round = seen_round(request, slug)
    is_final = review_round.state in FINAL_STATES
    context = {"round": review_round, "state": report_state(review_round), "is_final": is_final}
    template = "_report.html" if asks_for_part(request) else "report.html"
    return render(request, f"annotation/rounds/{template}", context)


@person_required
@require_POST
def round_report_make(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    ask_for_review_report(seen_round(request, slug), actor=request.user, at=timezone.now())
    return redirect("round-report", slug)


@person_required
@never_cache
@require_POST
def round_report_file(request: AuthenticatedRequest, slug: str) -> FileResponse | HttpResponse:
    """The ZIP file. A POST, since taking it is noted."""
    review_round = seen_round(request, slug)
    try:
        path = take_review_report(review_round, actor=request.user, at=timezone.now())
    except ExportRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("round-report", slug)
    name = f"{slug}-report.zip"
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/zip")


# --- Reviews made elsewhere, as a file into an open round: checked, then imported; all ------------
SHOWN = 200  # refused cells


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def round_import(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The form; with a file what it would do, or has done: then back to the round."""
    review_round = coordinated_round(request.user, slug)
    check_not_blinded(request.user, review_round)
    sent = request.method == "POST"
    form = ReviewFileForm(request.POST if sent else None, request.FILES if sent else None)
    found = _run(request, form, review_round) if sent and form.is_valid() else None
    if found is not None and found.stored:
        sentence = ngettext("%(n)s review imported.", "%(n)s reviews imported.", found.n_reviews)
        messages.success(request, sentence % {"n": found.n_reviews})
        return redirect("round", slug)
    faults = found.faults if found else []
    context: dict[str, Any] = {"round": review_round, "form": form, "found": found, "faults": faults[:SHOWN]}
    context["n_faults"] = len(faults)
    status = 422 if sent and (form.errors or faults) else 200
    return render(request, "annotation/rounds/import.html", context, status=status)


def _run(request: AuthenticatedRequest, form: ReviewFileForm, review_round: ReviewRound) -> ReviewsImported | None:
    file = form.cleaned_data["file"]
    dry_run = "check" in request.POST
    return run_on_form(
        form,
        lambda: import_reviews(review_round, name=file.name, content=file.read(), dry_run=dry_run, **by(request)),
        field="file",
    )
