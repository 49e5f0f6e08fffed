"""What touches results: interim results behind glass, voided cases, a re-review of missed cases."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models import User
from annotation.refusals import Refused
from annotation.site.permissions import is_coordinator
from annotation.views.site.confirming import (
    Confirmation,
    is_confirmed,
    is_possible_or_flash,
    is_valid_or_flash,
    run_and_flash,
    run_on_form,
)
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.design.voiding import check_may_void, main_case, void_case
from readerstudy.forms.studies import GlassForm, RereviewForm, VoidForm
from readerstudy.models import ReaderStudy, StudyCase
from readerstudy.unblinding.looks import looks_before_closing, view_interim_results
from readerstudy.views.study.access import confirm_in_study, coordinated_study


@person_required
@never_cache
@require_POST
def study_interim(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Break the glass: each look needs its reason, and there is no address at which the results stay."""
    study = coordinated_study(request.user, slug)
    form = GlassForm(request.POST)
    if not is_valid_or_flash(request, form):
        return redirect("study-watch", slug)
    now = timezone.now()
    try:
        found = view_interim_results(study, form.cleaned_data["reason"], actor=request.user, at=now)
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("study-watch", slug)
    context = {"study": study, "tallies": found, "looks": looks_before_closing(study), "now": now}
    return render(request, "readerstudy/monitoring/interim.html", context)


@person_required
@require_POST
def study_void(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Leave a case out, after showing which one it is; whoever has it open reads on, and the answer is stored."""
    study = coordinated_study(request.user, slug)
    form = VoidForm(request.POST)
    if is_valid_or_flash(request, form, _("Give the number of the case and the reason.")):
        number, reason = form.cleaned_data["case"], form.cleaned_data["reason"]
        if is_confirmed(request):
            run_and_flash(request, lambda: _leave_out(main_case(study, number), reason, request.user))
        elif is_possible_or_flash(request, lambda: check_may_void(main_case(study, number), reason)):
            return confirm_in_study(request, study, _about_voiding(study, main_case(study, number), reason))
    return redirect("study-watch", slug)


def _about_voiding(study: ReaderStudy, case: StudyCase, reason: str) -> Confirmation:
    names = {"number": case.number, "question": case.revision.question.number, "stem": case.revision.stem}
    sentences = [
        _("Case %(number)s is question %(question)s: “%(stem)s”") % names,
        _("Reason: %(reason)s") % {"reason": reason},
        _("Nobody has seen a result: the case is left out of everything.")
        if study.unblinded_at is None
        else _("Results were seen: the case stays in all results but a labelled sensitivity analysis."),
        _("Readers do not notice it. Voiding cannot be undone."),
    ]
    label = _("Void case %(number)s") % names
    sent: dict[str, int | str] = {"case": case.number, "reason": reason}
    back = reverse("study-watch", args=[study.slug])
    return Confirmation(title=label, sentences=sentences, label=label, sent=sent, back=back)


def _leave_out(case: StudyCase, reason: str, actor: User) -> str:
    voiding = void_case(case, reason, actor=actor, at=timezone.now())
    sentence = (
        _("Case %(number)s is voided and left out of every result.")
        if voiding.before_unblinding
        else _("Case %(number)s is voided. Results were seen before: only a sensitivity analysis leaves it out.")
    )
    return sentence % {"number": case.number}


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_rereview(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Choose how often a case must have been missed, then make the draft of a round."""
    from readerstudy.monitoring.rereviewing import send_to_rereview  # loads numpy: not at every start

    study = coordinated_study(request.user, slug)
    initial = {"threshold": 50, "name": _("Re-review of %(study)s") % {"study": study.name[:180]}}
    form = RereviewForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        threshold, name = form.cleaned_data["threshold"], form.cleaned_data["name"]
        made = run_on_form(form, lambda: send_to_rereview(study, threshold, name=name, **by(request)))
        if made is not None:
            messages.success(request, _("The round is a draft. Choose its reviewers, then open it."))
            return redirect("round", made.slug) if is_coordinator(request.user) else redirect("study-watch", slug)
    context: dict[str, Any] = {"study": study, "form": form}
    return render(request, "readerstudy/monitoring/rereview.html", context, status=422 if form.errors else 200)
