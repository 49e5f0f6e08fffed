"""What a coordinator does for readers while they read: one act for each address."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.refusals import Refused
from annotation.views.site.confirming import (
    is_valid_or_flash,
)
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.acts.studies import reader_of
from readerstudy.enrolment.participation import replace_reader
from readerstudy.forms.studies import ReplaceForm
from readerstudy.views.enrolment.inviting import show_reader_link
from readerstudy.views.study.access import coordinated_study


@person_required
@never_cache
@require_POST
def reader_replace(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """Somebody else takes the next order; their link is shown once."""
    enrolment = reader_of(coordinated_study(request.user, slug), public_id)
    form = ReplaceForm(request.POST, prefix="replace")
    if not is_valid_or_flash(request, form):
        return redirect("study-reader", slug, public_id)
    try:
        issued = replace_reader(enrolment, **form.cleaned_data, **by(request))
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("study-reader", slug, public_id)
    return show_reader_link(request, issued)
