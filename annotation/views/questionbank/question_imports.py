"""Files of questions on pages: sent, their columns matched, looked at, taken in."""

from __future__ import annotations

from contextlib import suppress

from django.contrib import messages
from django.http import FileResponse, Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from annotation.acts.files import texts_response
from annotation.enums import JobState, Role, Task
from annotation.forms.bank import ImportForm
from annotation.forms.columns import ColumnsForm
from annotation.ingest.completeness import images_of_bank
from annotation.ingest.uploading import note_report_taken
from annotation.models import ColumnMatching, Job, QuestionBank, Upload
from annotation.questionbank.matchings import (
    COLUMNS,
    LONGEST_NAME,
    TEMPLATE_FORMS,
    check_matched,
    columns_of,
    delete_matching,
    first_questions,
    offer_matching,
    previewed,
    rename_matching,
    template_file,
)
from annotation.questionbank.uploads import (
    CHECK,
    FILES,
    PURPOSE,
    STORE,
    may_store,
    receive_file,
    receive_path,
    store_checked,
)
from annotation.refusals import Refused
from annotation.site.home_files import here
from annotation.views.site.confirming import (
    Confirmation,
    confirm,
    flashed,
    is_confirmed,
    refusals_on,
    said,
)
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, role_required


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def question_import_new(request: AuthenticatedRequest) -> HttpResponse:
    """The form; a good one begins the check, which stores nothing."""
    form = ImportForm(request.POST or None, request.FILES or None, initial={"bank": request.GET.get("bank", "")})
    if request.method == "POST" and form.is_valid():
        with refusals_on(form):
            upload = _receive(request, form)
            return redirect("question-import" if upload.job else "question-import-columns", upload.public_id)
    banks = QuestionBank.objects.filter(archived_at__isnull=True).values_list("name", flat=True)
    status = 422 if request.method == "POST" else 200
    context = {"form": form, "banks": banks, "columns": COLUMNS, "template_forms": TEMPLATE_FORMS}
    return render(request, "annotation/bank/import_new.html", context, status=status)


def _receive(request: AuthenticatedRequest, form: ImportForm) -> Upload:
    given = form.cleaned_data
    if given.get("path"):
        return receive_path(given["path"], bank_name=given["bank"], **by(request))
    side_file = given["difficulty"]
    return receive_file(
        given["file"].chunks(),
        given["file"].name,
        side_file.chunks() if side_file else None,
        bank_name=given["bank"],
        **by(request),
    )


@role_required(Role.COORDINATOR)
@require_GET
def question_template(request: AuthenticatedRequest, form: str) -> HttpResponse:
    """A question file to fill in: the fields with two made-up questions."""
    response = HttpResponse(template_file(form), content_type=TEMPLATE_FORMS[form])
    response["Content-Disposition"] = f'attachment; filename="questions.{form}"'
    return response


@role_required(Role.COORDINATOR)
@require_GET
@vary_on_headers("HX-Request")
def question_import(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """The state of the import of one file: being checked, checked, being stored, stored."""
    upload = _upload(public_id)
    if upload.job is None and upload.asked:
        return redirect("question-import-columns", public_id)
    job = _job_of(upload)
    result = job.result or {}
    stored = bool(result.get("stored"))
    bank = QuestionBank.objects.filter(name=job.params["bank"]).first()
    context = {
        "upload": upload,
        "job": job,
        "asked": job.params,
        "result": result,
        "is_store": job.kind == STORE,
        "running": job.is_unfinished,
        "may_store": may_store(job, skip_refused=False),
        "may_store_rest": may_store(job, skip_refused=True),
        "may_match": "matching" in job.params and job.kind == CHECK and upload.created_by == request.user,
        "n_good": result.get("read", 0) - result.get("rejected", 0),
        "stored": stored,
        "bank": bank,
        "n_missing": images_of_bank(bank).n_pending if stored and bank else 0,
        "tasks": [(task.label, result["tasks"][task]) for task in Task if task in result.get("tasks", {})],
    }
    is_shown = job.kind == CHECK and job.state == JobState.SUCCEEDED and upload.created_by == request.user
    if is_shown:
        with suppress(OSError):  # a file on the server may be gone
            context["first"] = previewed(upload, job.params, person=request.user, at=timezone.now())
    template = "annotation/bank/_import.html" if asks_for_part(request) else "annotation/bank/import.html"
    return render(request, template, context)


@role_required(Role.COORDINATOR)
@require_GET
def question_import_picture(request: AuthenticatedRequest, public_id: str, name: str) -> HttpResponse:
    """Of an image that came with questions: for who sent it, as nobody has looked at it yet. No browser keeps it."""
    files = Upload.objects.filter(created_by=request.user, purpose=PURPOSE)
    path = here(FILES.folder_of(get_object_or_404(files, public_id=public_id)) / f"{name}.webp")
    if not path.exists():
        raise Http404
    return HttpResponse(path.read_bytes(), content_type="image/webp", headers={"Cache-Control": "no-store"})


@role_required(Role.COORDINATOR)
@require_POST
def question_import_store(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Store the file, or with ``skip_refused`` what was not refused of it."""
    skip_refused = "skip_refused" in request.POST
    upload = _upload(public_id)
    with flashed(request):
        store_checked(upload, skip_refused=skip_refused, **by(request))
    return redirect("question-import", public_id)


@role_required(Role.COORDINATOR)
@require_GET
def question_import_report(request: AuthenticatedRequest, public_id: str, form: str) -> JsonResponse | FileResponse:
    """The report to keep: everything as JSON, or the refused records as CSV."""
    upload = _upload(public_id)
    job = _job_of(upload)
    if job.result is None:
        raise Http404(_("There is no report yet."))
    note_report_taken(upload, **by(request))
    name = f"import-{public_id}"
    if form == "csv":
        return texts_response(name, ("key", "field", "code", "message"), job.result.get("errors", []))
    response = JsonResponse(job.result, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response


def _upload(public_id: str) -> Upload:
    return get_object_or_404(Upload.objects.select_related("job", "created_by"), public_id=public_id, purpose=PURPOSE)


def _job_of(upload: Upload) -> Job:
    """The job that stores the file, or while there is none the one that checks it."""
    job = FILES.store_job(upload) or upload.job
    if job is None:
        raise Http404
    return job


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def question_import_columns(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """For who sent the file: its rows hold keys. ``check`` keeps the matching and begins the check, all else shows
    the first questions as they would be read.
    """
    files = Upload.objects.select_related("job", "created_by").filter(created_by=request.user, purpose=PURPOSE)
    upload = get_object_or_404(files, public_id=public_id)
    try:
        columns = columns_of(upload)
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("question-import", public_id) if upload.job else redirect("question-import-new")
    start, kept = offer_matching(upload, columns)
    form = ColumnsForm(request.POST or None, columns=columns, start=start)
    is_good = form.is_valid() if form.is_bound else False
    if is_good and "check" in request.POST:
        with refusals_on(form):
            check_matched(upload, columns, form.matching(), **by(request))
            return redirect("question-import", public_id)
        is_good = False
    shown = form.matching() if form.is_bound else start
    context = {
        "upload": upload,
        "form": form,
        "kept": None if form.is_bound else kept,
        "first": first_questions(upload, columns, shown, person=request.user, at=by(request)["at"]),
    }
    return render(request, "annotation/bank/import_columns.html", context, status=422 if form.errors else 200)


@role_required(Role.COORDINATOR)
@require_GET
def column_matchings(request: AuthenticatedRequest) -> HttpResponse:
    """All that are kept, the newest first."""
    kept = ColumnMatching.objects.select_related("created_by")
    return render(request, "annotation/bank/matchings.html", {"matchings": kept, "longest": LONGEST_NAME})


@role_required(Role.COORDINATOR)
@require_POST
def matching_rename(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    kept = get_object_or_404(ColumnMatching, pk=pk)
    with flashed(request) as say:
        rename_matching(kept, request.POST.get("name", ""), **by(request))
        say(_("The matching is renamed."))
    return redirect("column-matchings")


@role_required(Role.COORDINATOR)
@require_POST
def matching_delete(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Asks first."""
    kept = get_object_or_404(ColumnMatching, pk=pk)
    if not is_confirmed(request):
        confirmation = Confirmation(
            title=_("Delete the matching “%(name)s”") % {"name": kept.name},
            sentences=[
                _("Later files with these columns are matched anew. Imports that used it keep their copy."),
                _("This cannot be undone."),
            ],
            label=_("Delete the matching"),
            back=reverse("column-matchings"),
            about=_("Kept matchings of columns"),
        )
        return confirm(request, confirmation)
    delete_matching(kept, **by(request))
    return said(request, _("The matching is deleted."), "column-matchings")
