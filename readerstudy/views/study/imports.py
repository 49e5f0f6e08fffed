"""Readings that were made elsewhere, sent on a page: checked first, stored when somebody has looked at that."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required
from readerstudy.enums import StudyState
from readerstudy.forms.importing import ReadingsForm
from readerstudy.models import ReaderStudy
from readerstudy.reading.response_import import DeclaredFile, ResponsesImported, hash_of, import_responses
from readerstudy.views.study.access import coordinated_study

STORE = "store"
SHOWN = 200  # refused rows


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
def study_import(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The form, and what the file would do; the result alone for HTMX. Nothing of the file is kept but its rows."""
    study = coordinated_study(request.user, slug)
    form = ReadingsForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    result = _taken(request, study, form) if form.is_valid() else None
    if result is not None and result.stored:
        said = ngettext("%(n)s reading is stored.", "%(n)s readings are stored.", result.created)
        messages.success(request, said % {"n": result.created})
        return redirect("study-watch", slug)
    is_fragment = asks_for_part(request)
    context = {
        "study": study,
        "form": form,
        "result": result,
        "problems": result.problems[:SHOWN] if result is not None else [],
        "voiding_problems": result.voiding_problems[:SHOWN] if result is not None else [],
        "n_shown": SHOWN,
        "is_draft": study.state == StudyState.DRAFT,
        "is_fragment": is_fragment,
    }
    if is_fragment:  # HTMX shows nothing of a 422
        return render(request, "readerstudy/studies/_import_result.html", context)
    status = 422 if form.errors or (result is not None and result.is_refused) else 200
    return render(request, "readerstudy/studies/import.html", context, status=status)


def _taken(request: AuthenticatedRequest, study: ReaderStudy, form: ReadingsForm) -> ResponsesImported:
    """Check the file; store it where it is the one whose check was looked at."""
    file, voidings = form.cleaned_data["file"], form.cleaned_data["voidings"]
    content: bytes = file.read()
    declared = DeclaredFile(voidings.name, voidings.read()) if voidings else None
    stores = request.POST.get("do") == STORE
    was_seen = form.cleaned_data["seen"] == hash_of(content, declared)
    if stores and not was_seen:
        form.add_error(None, _("This file is not the one that was checked: check the preview again, then save it."))
    return import_responses(
        study,
        name=file.name,
        content=content,
        actor=request.user,
        at=timezone.now(),
        dry_run=not (stores and was_seen),
        declared=declared,
    )
