"""What touches results: interim results behind glass, voided cases, a re-review of missed cases."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.decorators import AuthenticatedRequest, person_required
from annotation.permissions import is_coordinator
from readerstudy.design.studies import StudyRefused
from readerstudy.design.voiding import void_case
from readerstudy.enums import Block
from readerstudy.forms.watching import GlassForm, RereviewForm, VoidForm
from readerstudy.views.access import coordinated_study
from readerstudy.views.telling import do_and_tell, is_whole
from readerstudy.watching.breaking_glass import break_glass
from readerstudy.watching.rereviewing import send_to_rereview
from readerstudy.watching.unblinding import looks_before_closing


@person_required
@never_cache
@require_POST
def study_interim(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Break the glass: each look needs its reason, and there is no address at which the results stay."""
    study = coordinated_study(request.user, slug)
    form = GlassForm(request.POST)
    if not is_whole(request, form):
        return redirect("study-watch", slug)
    now = timezone.now()
    try:
        found = break_glass(study, form.cleaned_data["reason"], actor=request.user, at=now)
    except StudyRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("study-watch", slug)
    context = {"study": study, "tallies": found, "looks": looks_before_closing(study), "now": now}
    return render(request, "readerstudy/watching/interim.html", context)


@person_required
@require_POST
def study_void(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Leave a case out; whoever has it open reads on, and the answer is stored."""
    study = coordinated_study(request.user, slug)
    form = VoidForm(request.POST)

    def leave_out() -> str:
        number = form.cleaned_data["case"]
        case = study.cases.filter(block=Block.MAIN, number=number).select_related("study").first()
        if case is None:
            raise StudyRefused(_("The study has no case %(number)s.") % {"number": number})
        voiding = void_case(case, form.cleaned_data["reason"], actor=request.user, at=timezone.now())
        said = (
            _("Case %(number)s is voided and left out of every result.")
            if voiding.before_unblinding
            else _("Case %(number)s is voided. Results were seen before: it is left out of a sensitivity line only.")
        )
        return said % {"number": number}

    if is_whole(request, form, _("Give the number of the case and the reason.")):
        do_and_tell(request, leave_out)
    return redirect("study-watch", slug)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_rereview(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Choose how often a case must have been missed, then make the draft of a round."""
    study = coordinated_study(request.user, slug)
    initial = {"threshold": 50, "name": _("Re-review of %(study)s") % {"study": study.name[:180]}}
    form = RereviewForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            made = send_to_rereview(study, said["threshold"], name=said["name"], actor=request.user, at=timezone.now())
        except StudyRefused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, _("The round is a draft. Choose its reviewers, then open it."))
            return redirect("round", made.slug) if is_coordinator(request.user) else redirect("study-watch", slug)
    context: dict[str, Any] = {"study": study, "form": form}
    return render(request, "readerstudy/watching/rereview.html", context, status=422 if form.errors else 200)
