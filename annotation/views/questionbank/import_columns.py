"""Match the columns of a foreign question file to fields, before it is checked; and the matchings that are kept."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.enums import Role
from annotation.forms.columns import ColumnsForm
from annotation.models import ColumnMatching, Upload
from annotation.questionbank.matchings import (
    LONGEST_NAME,
    check_matched,
    columns_of,
    delete_matching,
    first_questions,
    offer_matching,
    rename_matching,
)
from annotation.questionbank.uploads import PURPOSE
from annotation.refusals import Refused
from annotation.views.site.confirming import Confirmation, confirm, is_confirmed, run_and_flash, run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required


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
        if run_on_form(form, lambda: check_matched(upload, columns, form.matching(), **by(request))):
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

    def renamed() -> str:
        rename_matching(kept, request.POST.get("name", ""), **by(request))
        return _("The matching is renamed.")

    run_and_flash(request, renamed)
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
    messages.success(request, _("The matching is deleted."))
    return redirect("column-matchings")
