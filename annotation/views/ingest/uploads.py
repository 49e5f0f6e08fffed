"""Images sent through the browser: the page that takes them, the list of uploads, and the report of each."""

from __future__ import annotations

import csv
from collections.abc import Mapping

from django.conf import settings
from django.db.models.functions import Lower
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.enums import JobState, Role
from annotation.exports.source_names import near_names
from annotation.forms.images import UploadForm
from annotation.ingest import uploading
from annotation.ingest.matching import missing_images
from annotation.models import QuestionBank, Upload
from annotation.site.permissions import is_administrator, is_coordinator, may_see_quarantine
from annotation.site.sorted_tables import Columns, sorted_page
from annotation.views.site.bin import delete_or_ask
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, role_required

UPLOADS_PER_PAGE = 50
SORTED_BY: Columns = {
    "when": "created_at",
    "who": Lower("created_by__name"),
    "bank": Lower("bank__name"),
    "files": "n_files",
    "size": "n_bytes",
}
REPORT_COLUMNS = ("file", "code", "message")


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_safe
def uploads(request: AuthenticatedRequest) -> HttpResponse:
    found = uploading.uploads_of_images()
    if not request.GET.get("archived"):
        found = found.filter(archived_at=None)
    context = sorted_page(request.GET, found, SORTED_BY, UPLOADS_PER_PAGE)
    return render(request, "annotation/images/uploads.html", context)


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("Accept")
def upload_new(request: AuthenticatedRequest) -> HttpResponse:
    """Take files in; a script that sends them gets the address of the upload as JSON, a plain form is redirected."""
    if request.method != "POST":
        return _form_page(request, UploadForm(initial={"bank": request.GET.get("bank") or _only_bank()}))
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _refusal(request, form)
    data, now = form.cleaned_data, timezone.now()
    table = data["credits"].read() if data["credits"] else None
    upload = run_on_form(
        form,
        lambda: uploading.keep_upload(
            form.sent_files(), credits_table=table, bank=data["bank"], actor=request.user, at=now
        ),
    )
    if upload is None:
        return _refusal(request, form)
    address = reverse("upload", args=[upload.public_id])
    return JsonResponse({"url": address}, status=201) if _wants_json(request) else redirect(address)


def _only_bank() -> str | None:
    """The bank in use, where there is one alone."""
    slugs = list(QuestionBank.objects.filter(archived_at=None).values_list("slug", flat=True)[:2])
    return slugs[0] if len(slugs) == 1 else None


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_safe
@vary_on_headers("HX-Request")
def upload(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """How far an upload is, and what became of its files."""
    shown = _upload(public_id)
    job = shown.job
    result = (job.result if job else None) or {}
    context = {
        "upload": shown,
        "job": job,
        "result": result,
        "refused": _refused(result),
        "may_delete": is_administrator(request.user),
        "may_manage": is_coordinator(request.user),
        "may_decide": may_see_quarantine(request.user),
    }
    if job and job.state == JobState.SUCCEEDED and shown.bank and is_coordinator(request.user):
        context["n_missing"] = missing_images(shown.bank).count()
        context["near"] = near_names(shown.bank, result.get("unmet_ids", []))
    template = "_upload.html" if asks_for_part(request) else "upload.html"
    return render(request, f"annotation/images/{template}", context)


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_safe
def upload_report(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """The refused files as CSV."""
    shown = _upload(public_id)
    if shown.job is None or shown.job.result is None:
        raise Http404
    uploading.note_report_taken(shown, **by(request))
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="upload-{shown.created_at:%Y-%m-%d-%H%M}-refused.csv"'
    writer = csv.writer(response)
    writer.writerow(REPORT_COLUMNS)
    for row in _refused(shown.job.result):
        writer.writerow([_cell(str(row.get(name, ""))) for name in REPORT_COLUMNS])
    return response


@role_required(Role.ADMINISTRATOR)
@require_POST
def upload_delete(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    return delete_or_ask(request, _upload(public_id), "uploads")


def _upload(public_id: str) -> Upload:
    return get_object_or_404(uploading.uploads_of_images(), public_id=public_id)


def _refused(result: Mapping[str, list[dict[str, str]]]) -> list[dict[str, str]]:
    return [*result.get("refused", []), *result.get("credits_refused", [])]


def _cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _wants_json(request: AuthenticatedRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def _refusal(request: AuthenticatedRequest, form: UploadForm) -> HttpResponse:
    if _wants_json(request):
        return JsonResponse({"errors": [message for rows in form.errors.values() for message in rows]}, status=422)
    return _form_page(request, form)


def _form_page(request: AuthenticatedRequest, form: UploadForm) -> HttpResponse:
    context = {
        "form": form,
        "most_files": settings.UPLOAD_MAX_FILES,
        "most_bytes": settings.UPLOAD_MAX_BYTES,
        "most_image_bytes": settings.IMAGE_MAX_BYTES,
    }
    return render(request, "annotation/images/upload_new.html", context, status=422 if form.errors else 200)
