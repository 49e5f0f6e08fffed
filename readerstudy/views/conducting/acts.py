"""What a coordinator does with a study: one act for each address, confirmed where it cannot be undone."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.site.permissions import is_coordinator
from annotation.views.site.bin import delete_or_ask
from annotation.views.site.confirming import is_confirmed, run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.design.creating import copy_study
from readerstudy.forms.studies import CopyForm
from readerstudy.views.study.access import coordinated_study


@person_required
@require_POST
def study_copy(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A new draft of the same design, under a name of its own."""
    study = coordinated_study(request.user, slug)
    form = CopyForm(request.POST) if is_confirmed(request) else CopyForm.of(study)
    if form.is_valid():
        name = form.cleaned_data["name"]
        copied = run_on_form(form, lambda: copy_study(study, name=name, **by(request)), field="name")
        if copied is not None:
            messages.success(request, _("This is the copy: a draft that can be changed."))
            return redirect("study", copied.slug)
    status = 422 if form.errors else 409
    return render(request, "readerstudy/design/copy.html", {"study": study, "form": form}, status=status)


@person_required
@require_POST
def study_delete(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Only a draft: whatever was frozen stays. Who coordinated only this study has no list of studies any more."""
    then = "studies" if is_coordinator(request.user) else "bin"
    return delete_or_ask(request, coordinated_study(request.user, slug), then)
